"""Data that is HTML and scripts, another site that knows the address, and more rows than can be drawn."""

import http.server
import threading
import urllib.request

import numpy as np
import pandas as pd
import pytest

import konstrain

HOSTILE = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'>$$\\alpha$$ @{x}{safe}"


@pytest.fixture
def serve():
    """Serve studios that are closed after the test."""
    opened = []

    def show(*args, **kwargs):
        opened.append(konstrain.studio(*args, **kwargs))
        return opened[-1].show(open_browser=False)

    yield show
    for desk in opened:
        desk.close()


def test_cells_names_and_columns_that_are_scripts_show_as_text(serve, open_page):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            HOSTILE: rng.normal(size=30) + np.repeat([0.0, 9.0], 15),
            f"2{HOSTILE}": rng.normal(size=30),
            f"note{HOSTILE}": [HOSTILE] * 30,
            "id": [f"{HOSTILE}{i}" for i in range(30)],
        }
    )
    page = open_page(serve(frame, 2, id="id"))
    page.wait_for(page.question)
    page.page.mouse.move(*page.place_of(3))
    page.page.locator(".bk-tooltip-row-value, .bk-Tooltip, [class*=tooltip]").first.wait_for()
    page.pick(f"{HOSTILE}0", f"{HOSTILE}1")
    page.page.locator("#pick-apart").click()
    for tab in ("links", "clusters", "settings", "ask"):
        page.turn_to(tab)
        page.page.wait_for_timeout(200)
    assert HOSTILE in page.text(".records")
    assert page.page.evaluate("() => window.hacked") is None
    assert page.page.locator(".studio script, .studio img").count() == 0
    assert all("127.0.0.1" in url or url.startswith(("blob:", "data:")) for url in page.requests)


def test_a_page_of_another_site_cannot_open_a_socket_even_with_the_address(serve, chromium):
    address = serve(np.arange(20.0).reshape(10, 2), 2)
    with urllib.request.urlopen(address) as page:
        assert page.status == 200

    class OtherSite(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html><body>elsewhere</body></html>")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OtherSite) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        context = chromium.new_context()
        page = context.new_page()
        page.goto(f"http://127.0.0.1:{other.server_address[1]}/")
        outcome = page.evaluate(
            """(address) => new Promise((done) => {
              const line = new WebSocket(address.replace('http', 'ws') + '/ws', ['bokeh', 'anything'])
              line.onopen = () => done('open')
              line.onerror = () => done('refused')
            })""",
            address,
        )
        read = page.evaluate("(address) => fetch(address).then((r) => r.text()).catch(() => 'refused')", address)
        context.close()
        other.shutdown()
    assert outcome == "refused"
    assert read == "refused"


@pytest.mark.slow
def test_of_a_million_rows_a_sample_is_drawn_and_that_is_said(serve, open_page):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000_000, 4)) + rng.integers(0, 4, (1_000_000, 1)) * 6.0
    page = open_page(serve(X, 4))
    assert "1,000,000 rows, a sample of 100,000 drawn" in page.text(".facts")
    assert len(page.labels()) == 100_000
    page.link("together", 0, 999_999)
    page.wait_settled()
    page.turn_to("links")
    page.wait_for(lambda: page.text("#panel-links h2") == "1 link")
