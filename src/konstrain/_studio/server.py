"""The page's server: this machine only, an address that cannot be guessed, and no other site's scripts."""

import asyncio
import secrets
import socket
import threading
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from konstrain.exceptions import FileError

if TYPE_CHECKING:
    from konstrain._studio.hub import Studio

HOST = "127.0.0.1"


def make_server(studio: "Studio", port: int = 0) -> tuple[Any, str]:
    """Make a server that is not yet started; returns it and the address of the page.

    Only paths with the token are served: pages, scripts and sockets of any other path are unknown. Sessions are
    signed with a secret of this server, and sockets opened by a page of another origin are refused.
    """
    refuse_missing()
    import panel as pn
    from panel.io.server import get_server

    from konstrain._studio.page import Page

    pn.extension()
    token = secrets.token_urlsafe(24)

    def open_page() -> Any:
        page = Page(studio)
        page.attach(pn.state.curdoc)
        return page.desk

    port = bindable(port)
    server = get_server(
        {f"/{token}": open_page},
        port=port,
        address=HOST,
        websocket_origin=[f"{HOST}:{port}"],
        title={f"/{token}": f"{studio.rows.title} - konstrain studio"},
        # Without this the list of all pages, tokens included, would be at the root.
        use_index=False,
        redirect_root=False,
        sign_sessions=True,
        secret_key=secrets.token_urlsafe(32).encode(),
        generate_session_ids=True,
        # A session file that is opened comes through the socket.
        websocket_max_message_size=200 * 2**20,
    )
    return server, f"http://{HOST}:{port}/{token}"


def refuse_missing() -> None:
    """Raise if what the page is built on is not installed."""
    if find_spec("panel") is None or find_spec("bokeh") is None:
        raise FileError("the page needs Panel and Bokeh; run: pip install 'konstrain[studio]'")


def bindable(port: int) -> int:
    """Return the port if it can be served on; 0: one that is free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise FileError(f"cannot serve on port {port}: {error.strerror or error}") from None
        found: int = probe.getsockname()[1]
        return found


class BackgroundServer:
    """A server in a thread of its own, for notebooks and scripts."""

    def __init__(self, studio: "Studio", port: int = 0) -> None:
        self.address = ""
        self._problem: Exception | None = None
        self._started = threading.Event()
        self._loop: Any = None
        self._thread = threading.Thread(target=self._run, args=(studio, port), name="konstrain-studio", daemon=True)
        self._thread.start()
        self._started.wait()
        if self._problem is not None:
            raise self._problem

    def _run(self, studio: "Studio", port: int) -> None:
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        try:
            server, self.address = make_server(studio, port)
        except Exception as error:  # raised where the server is waited for
            self._problem = error
            self._started.set()
            loop.close()
            return
        server.start()
        self._loop = server.io_loop
        self._loop.add_callback(self._started.set)
        self._loop.start()
        server.stop()
        # Messages to pages that are on their way: a loop that is closed under them leaves later pages waiting.
        for task in (pending := asyncio.all_tasks(loop)):
            task.cancel()
        loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close(all_fds=True)

    def stop(self) -> None:
        """End the server and wait for it."""
        self._loop.add_callback(self._loop.stop)
        self._thread.join()
