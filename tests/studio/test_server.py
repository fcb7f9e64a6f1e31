"""Who gets in: only who has the address, from this machine, from the page itself."""

import asyncio
import socket
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlparse

import pytest
from sklearn.datasets import load_iris

from command_line import konstrain as run
from konstrain import FileError, studio

pytest.importorskip("panel", reason="needs Panel and Bokeh: pip install 'konstrain[studio]'")

from tornado.httpclient import HTTPClientError, HTTPRequest
from tornado.websocket import websocket_connect


@pytest.fixture(scope="module")
def address():
    desk = studio(load_iris().data, 3)
    yield desk.show(open_browser=False)
    desk.close()


def status(url):
    try:
        with urllib.request.urlopen(url) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def session_token(address):
    """What the page itself opens its socket with."""
    text = status(address)[1]
    return text.split('"token":"')[1].split('"')[0]


def connect(address, token, **headers):
    """Open a socket as a page would; returns what was said first, or the refusal."""
    url = address.replace("http://", "ws://") + "/ws"

    async def talk():
        request = HTTPRequest(url, headers=headers)
        try:
            line = await websocket_connect(request, subprotocols=["bokeh", token])
        except HTTPClientError as error:
            return error.code
        said = await line.read_message()
        line.close()
        if said is not None:
            while await line.read_message() is not None:
                pass  # until it is closed on both sides
        return said

    # In a thread: the tests in a browser leave a loop running in this one.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, talk()).result()


def test_the_page_is_only_at_its_secret_address(address):
    own = urlparse(address)
    assert own.hostname == "127.0.0.1"
    assert len(own.path) > 30
    assert status(address)[0] == 200
    root = f"http://{own.netloc}"
    token = own.path[1:]
    for path in ("/", "/index.html", f"/{token[:-1]}", "/ws", "/autoload.js", "/metadata"):
        code, text = status(root + path)
        assert code in (403, 404), path
        assert token not in text


def test_it_listens_on_this_machine_only(address):
    port = urlparse(address).port
    # Every address of 127.0.0.0/8 is this machine; a server that listens everywhere would answer on each.
    with socket.socket() as other, pytest.raises(ConnectionRefusedError):
        other.connect(("127.0.0.2", port))


def test_the_page_gets_a_socket_and_other_sites_do_not(address):
    own = f"http://{urlparse(address).netloc}"
    token = session_token(address)
    assert (
        b"ACK" in connect(address, token, Origin=own).encode()
        if isinstance(connect(address, token, Origin=own), str)
        else False
    )
    for origin in ("http://evil.example", "http://127.0.0.1:1", "http://localhost.evil.example", "null"):
        assert connect(address, token, Origin=origin) == 403, origin


def test_a_socket_needs_a_session_that_this_server_signed(address):
    own = f"http://{urlparse(address).netloc}"
    token = session_token(address)
    forged = token[:-6] + ("AAAAAA" if token[-6:] != "AAAAAA" else "BBBBBB")
    assert connect(address, forged, Origin=own) is None


def test_every_page_has_an_address_of_its_own():
    with_same_port = []
    for _ in range(2):
        desk = studio(load_iris().data, 3)
        with_same_port.append(urlparse(desk.show(open_browser=False)).path)
        desk.close()
    assert with_same_port[0] != with_same_port[1]


def test_a_port_that_is_taken_is_refused_in_words():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        desk = studio(load_iris().data, 3)
        with pytest.raises(FileError, match="cannot serve on port"):
            desk.show(port=taken.getsockname()[1], open_browser=False)
        desk.close()


def test_a_port_that_is_taken_leaves_no_session_behind(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n3,4\n5,6\n9,9\n")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run("studio", "data.csv", "--no-browser", "--port", taken.getsockname()[1], folder=tmp_path)
    assert done.code == 2
    assert "cannot serve on port" in done.err
    assert not (tmp_path / "data.studio.json").exists()


def test_a_notebook_shows_the_page(address):
    desk = studio(load_iris().data, 3)
    html = desk._repr_html_()
    desk.close()
    assert html.startswith('<iframe src="http://127.0.0.1:')


def test_the_command_line_refuses_before_it_serves(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n3,4\n5,6\n9,9\n")
    (tmp_path / "s.json").write_text("{}")
    done = run("studio", "data.csv", "--no-browser", "--session", "s.json", folder=tmp_path)
    assert done.code == 2
    assert "s.json is no session" in done.err
    done = run("studio", "data.csv", "--no-browser", "--session", "data.csv", folder=tmp_path)
    assert done.code == 2
    assert "data.csv is read from" in done.err
    done = run("studio", "data.csv", "--no-browser", "-k", 9, folder=tmp_path)
    assert done.code == 2
    assert "too few for -k 9" in done.err
