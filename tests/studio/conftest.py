"""A real browser for the tests of the page; they are skipped, by name, where there is none."""

import shutil

import pytest

from studio_page import FLAGS, OpenPage


@pytest.fixture(scope="session")
def chromium():
    """Start Chromium, without a window and without anything it would do on its own."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'konstrain[browser]'")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs the browser Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open addresses as pages of a fresh browser profile each; closed after the test."""
    contexts = []

    def visit(address, *, width=1280, height=800, scheme="light"):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        contexts.append(context)
        return OpenPage(context.new_page(), address)

    yield visit
    for context in contexts:
        context.close()
