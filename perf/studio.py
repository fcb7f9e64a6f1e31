"""From an answer to the new picture: what the server takes, and what a person in front of a browser waits.

    python perf/studio.py [ROWS ...]     # of 10 columns, k = 10; 10,000 and 100,000 unless given

The server's part is from the message to the page's new state, picture included, with nothing sent. The browser's part
is from the click to the frame that is drawn after the new colours arrived; it needs Chromium and playwright. Pan and
zoom: milliseconds from one picture drawn to the next while the mouse drags it, or its wheel zooms.
"""

import shutil
import statistics
import sys
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import make_blobs

from konstrain import Studio, studio
from konstrain._studio.page import Page

SIZES = (10_000, 100_000)
ANSWERS = 9


def main() -> None:
    """Print one line per number of rows."""
    titles = f"{'rows':>9} {'server, median':>15} {'most':>7} {'browser, median':>16} {'most':>7}"
    print(f"{titles}   seconds, {ANSWERS} answers {'pan':>9} {'zoom':>7}   ms per frame, median")
    for n in map(int, sys.argv[1:] or SIZES):
        X, _ = make_blobs(n, centers=10, n_features=10, cluster_std=5.0, random_state=0)
        desk = studio(X, 10)
        desk.wait()
        server = answers_on_the_server(desk)
        browser, frames = in_the_browser(desk)
        desk.close()
        cells = [f"{f(times):.3f}" if times else "-" for times in (server, browser) for f in (statistics.median, max)]
        moving = " ".join(f"{statistics.median(times) if times else np.nan:7.1f}" for times in frames)
        print(f"{n:>9,} {cells[0]:>15} {cells[1]:>7} {cells[2]:>16} {cells[3]:>7} {moving:>41}", flush=True)


def answers_on_the_server(desk: Studio) -> list[float]:
    """Seconds from each message to the page's new state."""
    page = Page(desk)
    rng = np.random.default_rng(0)
    times = []
    for _ in range(ANSWERS):
        page.picked = rng.choice(desk.rows.n_samples, 2, replace=False).tolist()
        before, told = desk.fit, threading.Event()
        forget = desk.listen(lambda before=before, told=told: desk.fit is not before and told.set())
        began = time.perf_counter()
        page.act({"act": "link", "kind": "together"})
        told.wait()
        page.refresh()
        times.append(time.perf_counter() - began)
        forget()
        desk.wait()
    return times


def in_the_browser(desk: Studio) -> tuple[list[float], list[list[float]]]:
    """Seconds from each click to the frame with the new colours, and frames of panning and zooming; else none."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ModuleNotFoundError:
        return [], []
    if program is None:
        return [], []
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    from studio_page import FLAGS, OpenPage

    address = desk.show(open_browser=False)
    rng = np.random.default_rng(1)
    times = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        page = OpenPage(browser.new_page(viewport={"width": 1280, "height": 800}), address)
        for _ in range(ANSWERS):
            page.pick(*rng.choice(desk.rows.n_samples, 2, replace=False).tolist())
            times.append(page.time_to_new_colours("#pick-together"))
            desk.wait()
        frames = [page.frames_of(gesture) for gesture in ("pan", "zoom")]
        browser.close()
    return times, frames


if __name__ == "__main__":
    main()
