"""One open page: messages from the browser become actions, changes of the studio become what it shows."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Final

import panel as pn
import param
from bokeh.document import Document
from bokeh.events import DoubleTap, SelectionGeometry, Tap
from panel.custom import Child, JSComponent

from konstrain._studio import exporting
from konstrain._studio.data import SINGLE_MARKS, UNASKED_LINKS
from konstrain._studio.hub import Studio
from konstrain._studio.picture import DARK, LIGHT, Picture
from konstrain._studio.session import ANSWERS, Size
from konstrain._studio.view import view
from konstrain.plotting import Projection

HERE = Path(__file__).parent
# Added to Panel's own page, which phones would otherwise lay out 980 pixels wide and shrink.
TEMPLATE = """{% block preamble %}{{ super() }}
<meta name="viewport" content="width=device-width, initial-scale=1">{% endblock %}"""
WATCH_PERIOD: Final = 500  # Milliseconds between refreshes that nothing asks for.


class Desk(JSComponent):
    """The browser's side: draws `state`, and sends what the person does as messages."""

    state = param.Dict(default={})
    picture = Child()

    _esm = HERE / "desk.js"
    _stylesheets: ClassVar[list[Any]] = [HERE / "desk.css"]


class Page:
    """A page on a studio; several may be open on the same one."""

    def __init__(self, studio: Studio) -> None:
        self.studio = studio
        self.picture = Picture(studio.rows)
        self.picked: list[int] = []
        self.axes: tuple[str, str] | None = None
        self.draws_links: bool | None = None
        self.error = ""
        self._drawn: dict[str, Any] = {}
        self._document: Document | None = None
        self.desk = Desk(
            picture=pn.pane.Bokeh(self.picture.figure, sizing_mode="stretch_both"), sizing_mode="stretch_both"
        )
        self.desk.on_msg(self._receive)
        self.picture.figure.on_event(Tap, self._tap)
        self.picture.figure.on_event(DoubleTap, self._tap)
        self.picture.figure.on_event(SelectionGeometry, self._select)
        self.refresh()

    def attach(self, document: Document) -> None:
        """Follow the studio for as long as the page is open."""
        self._document = document
        document.template = TEMPLATE
        waiting = {"is": False}

        def refresh() -> None:
            waiting["is"] = False
            self.refresh()

        def notify() -> None:
            # Several changes that come while the page is busy are shown at once.
            if not waiting["is"]:
                waiting["is"] = True
                document.add_next_tick_callback(refresh)

        def watch() -> None:
            # A running proof asks for nothing; Bokeh loses callbacks that threads add while it ends a hold.
            proof = self.studio.proof
            if waiting["is"] or (proof is not None and proof.state.status == "running"):
                refresh()

        forget = self.studio.listen(notify)
        document.add_periodic_callback(watch, WATCH_PERIOD)
        document.on_session_destroyed(lambda _: forget())

    def act(self, message: dict[str, Any]) -> None:
        """Do what the person asked for; what is wrong with it is shown, and nothing has changed."""
        action = self.ACTIONS.get(str(message.get("act")))
        self.error = ""
        try:
            if action is None:
                raise ValueError(f"unknown action {message.get('act')!r}")
            action(self, message)
        except (ValueError, KeyError, TypeError) as error:
            self.error = (
                str(error) if isinstance(error, ValueError) else f"the page sent {type(error).__name__}: {error}"
            )
        self.refresh()

    def refresh(self) -> None:
        """Show the studio as it is now."""
        with self.studio.lock:
            # Drawing takes the browser longest: links wait for the clustering that comes with them.
            if not self.studio.is_fitting:
                self._draw()
            state = view(self.studio, self.picked, n_drawn=len(self.picture.drawn), axes=self.axes)
            drawn = self._are_links_drawn()
        self.desk.state = {**state, "linksDrawn": drawn, "error": self.error}

    def _are_links_drawn(self) -> bool:
        """Return whether lines of links are in the picture: as the person chose, else if they are few."""
        n_links = len(self.studio.session.state.of_kind(*ANSWERS[:2]))
        return n_links <= UNASKED_LINKS if self.draws_links is None else self.draws_links

    def _draw(self) -> None:
        """Change the layers of the picture that differ from what is drawn."""
        studio, picture = self.studio, self.picture
        fit, state, trouble = studio.fit, studio.session.state, studio.trouble
        if fit is not None:
            if self.axes is None:
                plane = studio.rows.map_plane or studio.fitter.plane(fit.settings)
            else:
                plane = self._columns(*self.axes)
            if self._once("place", plane.rows if self.axes is None else self.axes, lambda: picture.place(plane)):
                # Every layer has other places now.
                self._drawn = {"place": self._drawn["place"]}
            self._once("color", fit, lambda: picture.color(fit.labels, fit.settings.n_clusters))
        links = [(link.pair, link.kind) for link in state.links.values()] if self._are_links_drawn() else []
        self._once("links", links, lambda: picture.link(links))
        path = [pair for pair, _ in trouble.links] if trouble is not None else []
        self._once("path", path, lambda: picture.trace(path))
        self._once("picked", list(self.picked), lambda: picture.pick(self.picked))
        self._once("question", studio.question, lambda: picture.ask(studio.question))

    def _columns(self, *names: str) -> Projection:
        rows = self.studio.rows
        at = [rows.features.index(name) for name in names]
        return Projection(rows.X[:, at], None, (names[0], names[1]))

    def _once(self, layer: str, value: Any, draw: Callable[[], object]) -> bool:
        if layer in self._drawn and _same(self._drawn[layer], value):
            return False
        draw()
        self._drawn[layer] = value
        return True

    def _receive(self, event: Any) -> None:
        message = getattr(event, "data", event)
        if not isinstance(message, dict):
            return
        if self._document is None:
            self.act(message)
        else:
            # Messages arrive without the lock that changes to a document need; the next tick has it.
            self._document.add_next_tick_callback(lambda: self.act(message))

    def _tap(self, event: Any) -> None:
        row = self.picture.row_at(event.x, event.y)
        if row is None:
            return
        if row not in self.picked:
            self.picked = [*self.picked, row]
        elif isinstance(event, Tap):
            # Two quick clicks on two rows come as a double one: that only ever adds.
            self.picked = [other for other in self.picked if other != row]
        self.refresh()

    def _select(self, event: Any) -> None:
        if not event.final:
            return
        chosen = self.picture.drawn[self.picture.points.selected.indices].tolist()
        most = SINGLE_MARKS
        self.picked = chosen[:most]
        self.error = f"{len(chosen)} rows; the first {most} are picked" if len(chosen) > most else ""
        self.picture.points.selected.indices = []
        self.refresh()

    # What a person can do, by the names of messages.

    def _pick(self, message: dict[str, Any]) -> None:
        name = str(message["name"]).strip()
        row = self.studio.rows.names.number_of(name)
        if row is None:
            raise ValueError(f"there is no row {name!r}; {self.studio.rows.names}")
        if row not in self.picked:
            self.picked.append(row)

    def _link(self, message: dict[str, Any]) -> None:
        kind = _one_of(ANSWERS, message["kind"])
        if len(self.picked) < 2:
            raise ValueError("pick two rows first: click them, draw a lasso, or type their names")
        self.studio.answer(self._pairs(kind), kind)
        self.picked = []

    def _pairs(self, kind: str) -> list[tuple[int, int]]:
        if kind == ANSWERS[0]:
            # A chain ties all of them together.
            return list(zip(self.picked, self.picked[1:], strict=False))
        k = self.studio.session.state.settings.n_clusters
        if len(self.picked) > max(2, k):
            raise ValueError(f"{len(self.picked)} rows cannot all be apart in {k} clusters; pick fewer")
        return [(a, b) for i, a in enumerate(self.picked) for b in self.picked[i + 1 :]]

    def _move(self, message: dict[str, Any]) -> None:
        self.studio.move(int(message["row"]), int(message["beside"]))
        self.picked = []

    def _answer(self, message: dict[str, Any]) -> None:
        question = self.studio.question
        # A key pressed twice must not answer a question that was not yet seen.
        if question is not None and list(question) == list(message["pair"]):
            self.studio.answer_question(_one_of(ANSWERS, message["kind"]))

    def _remove(self, message: dict[str, Any]) -> None:
        first, second = message["pair"]
        self.studio.remove([(int(first), int(second))])

    def _set(self, message: dict[str, Any]) -> None:
        name, value = message["name"], message["value"]
        if name == "k":
            self.studio.set(n_clusters=int(value), **self._unfit_for(int(value)))
        elif name in ("size_min", "size_max"):
            self.studio.set(**{name: _size_in(str(value))})
        elif name == "standardize":
            self.studio.set(standardize=bool(value))
        elif name == "metric":
            self.studio.set(metric=value or None)
        elif name == "features":
            self.studio.set(features=tuple(f for f in self.studio.rows.features if f in value))
        else:
            raise ValueError(f"unknown setting {name!r}")

    def _unfit_for(self, n_clusters: int) -> dict[str, None]:
        """Return what to drop for another number of clusters: sizes given per cluster, labels of more clusters."""
        settings = self.studio.session.state.settings
        sizes = {name: getattr(settings, name) for name in ("size_min", "size_max")}
        unfit = [name for name, size in sizes.items() if isinstance(size, tuple) and len(size) != n_clusters]
        is_kept = max(settings.previous or (0,)) < n_clusters
        return dict.fromkeys(unfit if is_kept else [*unfit, "previous"])

    def _set_axes(self, message: dict[str, Any]) -> None:
        axes = message["axes"]
        features = self.studio.rows.features
        self.axes = None if axes is None else (_one_of(features, axes[0]), _one_of(features, axes[1]))

    def _draw_links(self, message: dict[str, Any]) -> None:
        self.draws_links = bool(message["on"])

    def _export(self, message: dict[str, Any]) -> None:
        studio = self.studio
        makers: dict[str, tuple[str, Callable[[], str | bytes]]] = {
            "links": ("links.csv", lambda: exporting.links_text(studio)),
            "labels": ("labels.csv", lambda: exporting.labels_text(studio)),
            "lines": ("clustering.py", lambda: exporting.python_lines(studio)),
            "picture": ("clusters.png", lambda: exporting.picture_bytes(studio)),
            "session": ("session.json", studio.session.to_json),
        }
        name, make = makers[_one_of(tuple(makers), message["what"])]
        content = make()
        as_bytes = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
        self.desk._send_msg({"download": name, "content": base64.b64encode(as_bytes).decode()})

    ACTIONS: ClassVar[dict[str, Callable[["Page", dict[str, Any]], None]]] = {
        "pick": _pick,
        "keep": lambda page, _: page.studio.keep(),
        "let-go": lambda page, _: page.studio.set(previous=None),
        "unpick": lambda page, _: page.picked.clear(),
        "link": _link,
        "move": _move,
        "answer": _answer,
        "remove": _remove,
        "set": _set,
        "axes": _set_axes,
        "draw-links": _draw_links,
        "theme": lambda page, message: page.picture.apply(DARK if message["dark"] else LIGHT),
        "export": _export,
        "undo": lambda page, _: page.studio.undo(),
        "redo": lambda page, _: page.studio.redo(),
        "prove": lambda page, message: page.studio.prove(float(message.get("seconds", 60.0))),
        "stop": lambda page, _: page.studio.stop_proof(),
        "open": lambda page, message: page.studio.open_text(str(message["text"]), str(message["name"])),
    }


def _same(first: Any, second: Any) -> bool:
    """Return whether nothing has to be drawn again; arrays and clusterings are replaced, never changed."""
    return first is second or (isinstance(first, list | tuple) and type(first) is type(second) and first == second)


def _one_of(allowed: tuple[str, ...], value: Any) -> str:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {', '.join(allowed)}")
    return str(value)


def _size_in(text: str) -> Size:
    """Read one size, one per cluster, or none."""
    if not text.strip():
        return None
    try:
        sizes = tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"{text!r} is neither a number nor numbers separated by commas") from None
    return sizes[0] if len(sizes) == 1 else sizes
