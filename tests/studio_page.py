"""Driving the page of `konstrain studio`: what a person sees and does, in words."""

import itertools
import multiprocessing
import time
from pathlib import Path

import command_line

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Milliseconds a busy machine may take for anything; nothing is tested by how long it takes.
PATIENCE = 60_000

# The models behind the picture, as BokehJS has them.
_MODELS = "[...Bokeh.documents[0]._all_models.values()]"
_POINTS = f"{_MODELS}.find(m => m.type === 'ColumnDataSource' && m.get_column('x') && m.get_column('f0'))"
_COLOURED = f"{_MODELS}.find(m => m.type === 'ColumnDataSource' && m.get_column('cluster'))"
_FIGURE = f"{_MODELS}.find(m => m.type === 'Figure')"


class OpenPage:
    """A page in the browser, loaded."""

    def __init__(self, page, address: str) -> None:
        self.page = page
        self.requests: list[str] = []
        self.complaints: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: self.requests.append(request.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.goto(address)
        self.wait_settled()

    def wait_settled(self) -> None:
        """Wait until the clustering of the seed and its prices are there."""
        self.page.locator(".facts .sse", has_text="SSE").wait_for()
        self.wait_for(lambda: "…" not in self.text(".facts .sse"))

    def wait_for(self, happened) -> None:
        """Wait until something is so."""
        end = time.monotonic() + PATIENCE / 1000
        while not happened():
            assert time.monotonic() < end, self.page.locator(".studio").inner_text()
            self.page.wait_for_timeout(50)

    def text(self, selector: str) -> str:
        """What a part of the page says; empty when it is not there."""
        found = self.page.locator(selector)
        return found.first.inner_text() if found.count() else ""

    def labels(self) -> list[int]:
        """The cluster by which each row is coloured."""
        return self.page.evaluate(f"() => Array.from({_COLOURED}.get_column('cluster'))")

    def colours(self) -> list[list[int]]:
        """Red, green and blue of each cluster."""
        palette = self.page.evaluate(f"() => {_MODELS}.find(m => m.type === 'LinearColorMapper').palette")
        return [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in palette]

    def colour_of(self, row: int) -> list[int]:
        """The colour of the cluster whose colour is nearest to what is drawn where a row is."""
        x, y = self.place_of(row)
        drawn = self.page.evaluate(
            f"""([x, y]) => {{
              const view = Bokeh.index.find_one({_FIGURE}), box = view.el.getBoundingClientRect()
              return Array.from(view.canvas_view.primary.ctx.getImageData(x - box.left, y - box.top, 1, 1).data)
            }}""",
            [x, y],
        )
        return min(self.colours(), key=lambda colour: sum((a - b) ** 2 for a, b in zip(colour, drawn, strict=False)))

    def time_to_new_colours(self, button: str) -> float:
        """Seconds from a click to the next frame drawn after new colours have arrived."""
        milliseconds = self.page.locator(button).evaluate(
            f"""(button) => new Promise((done) => {{
              const coloured = {_COLOURED}, before = coloured.get_column('cluster'), began = performance.now()
              const look = () => coloured.get_column('cluster') === before ? setTimeout(look, 1)
                : requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)))
              button.click()
              look()
            }})"""
        )
        return milliseconds / 1000

    def lines_of_the_clash(self) -> int:
        """How many lines are drawn for what makes links impossible."""
        return self.page.evaluate(
            f"() => {_MODELS}.find(m => m.type === 'ColumnDataSource' && m.get_column('xs') && !m.get_column('dash'))"
            ".get_column('xs').length"
        )

    def axis_names(self) -> list[str]:
        """What is written along the axes."""
        return self.page.evaluate(f"() => {_MODELS}.filter(m => m.type === 'LinearAxis').map(m => m.axis_label)")

    def stretch(self) -> float:
        """By how much a unit of the data is longer upwards than across on the screen."""
        return self.page.evaluate(
            f"""() => {{
              const {{x_range, y_range, inner_width, inner_height}} = {_FIGURE}
              return inner_height / (y_range.end - y_range.start) * (x_range.end - x_range.start) / inner_width
            }}"""
        )

    def ground(self) -> str:
        """The colour behind the rows."""
        return self.page.evaluate(f"() => {_FIGURE}.background_fill_color")

    def question(self) -> tuple[str, ...]:
        """The names of the two rows that are asked about; empty while there is no question."""
        return tuple(
            text.split("\n")[-1].split(" ")[-1]
            for text in self.page.locator(".records thead th").all_inner_texts()[1:]
        )

    def click_row(self, row: int) -> None:
        """Click on a row in the picture."""
        self.page.mouse.click(*self.place_of(row))

    def place_of(self, row: int) -> tuple[float, float]:
        """Where on the screen a row is drawn."""
        at = self.page.evaluate(
            f"""(row) => {{
              const figure = {_FIGURE}, view = Bokeh.index.find_one(figure), points = {_POINTS}
              const box = view.el.getBoundingClientRect(), frame = view.frame
              return [box.left + frame.x_scale.compute(points.get_column('x')[row]),
                      box.top + frame.y_scale.compute(points.get_column('y')[row])]
            }}""",
            row,
        )
        return at[0], at[1]

    def turn_to(self, tab: str) -> None:
        """Open one of the tabs."""
        self.page.locator(f"#tab-{tab}").click()

    def pick(self, *names: object) -> None:
        """Pick rows by typing their names."""
        for name in names:
            self.page.locator(".find").fill(str(name))
            self.page.locator(".find").press("Enter")
            self.page.locator(".picked .names", has_text=str(name)).wait_for()

    def link(self, kind: str, *names: object) -> None:
        """Pick rows and say how they belong."""
        self.pick(*names)
        self.page.locator(f"#pick-{kind}").click()
        self.page.locator(".picked .hint").wait_for()

    def draw(self, corners: list[tuple[float, float]]) -> None:
        """Drag the mouse from corner to corner."""
        mouse = self.page.mouse
        mouse.move(*corners[0])
        mouse.down()
        for corner in corners[1:]:
            mouse.move(*corner, steps=8)
        mouse.up()

    def taken(self, what: str) -> str:
        """Download something from the page and return it as text."""
        return self.taken_bytes(what).decode()

    def taken_bytes(self, what: str) -> bytes:
        """Download something from the page."""
        self.turn_to("keep")
        with self.page.expect_download() as download:
            self.page.locator(f"#export-{what}").click()
        return Path(download.value.path()).read_bytes()

    def frames_of(self, gesture: str, n: int = 30) -> list[float]:
        """Milliseconds from one picture drawn to the next while the mouse pans or its wheel zooms."""
        page = self.page
        box = page.locator(".plot").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(x, y)
        page.evaluate(
            f"""() => {{
              const drawn = window.drawn = []
              let isNoted = false
              Bokeh.index.find_one({_FIGURE}).repainted.connect(() => {{
                if (!isNoted) requestAnimationFrame((now) => {{ isNoted = false; drawn.push(now) }})
                isNoted = true
              }})
            }}"""
        )
        if gesture == "pan":
            page.mouse.down()
        for step in range(n):
            if gesture == "pan":
                page.mouse.move(x + 3 * step, y + 2 * step)
            else:
                page.mouse.wheel(0, -20 if step < n / 2 else 20)
            page.evaluate("() => new Promise(requestAnimationFrame)")
        if gesture == "pan":
            page.mouse.up()
        drawn = page.evaluate("() => drawn")
        return [after - before for before, after in itertools.pairwise(drawn)]


class Server:
    """`konstrain studio` in a process of its own."""

    def __init__(self, *arguments: object, folder: Path) -> None:
        (folder / ".out").unlink(missing_ok=True)
        self.process: multiprocessing.Process = command_line.start(
            "studio", *arguments, "--no-browser", folder=folder
        )
        end = time.monotonic() + PATIENCE / 1000
        while not (folder / ".out").exists() or "\n" not in (folder / ".out").read_text():
            assert self.process.is_alive(), (folder / ".err").read_text()
            assert time.monotonic() < end
            time.sleep(0.02)
        self.address = (folder / ".out").read_text().split()[0]

    def kill(self) -> None:
        """End it as kill -9 does."""
        self.process.kill()
        self.process.join()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
