"""Pages in a real browser."""

import pytest

from studio_page import OpenPage


@pytest.fixture
def open_page(chromium):
    """Open addresses as pages of a fresh browser profile each; closed after the test."""
    contexts = []

    def visit(address, *, width=1280, height=800, scheme="light", **options):
        context = chromium.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True, **options
        )
        contexts.append(context)
        return OpenPage(context.new_page(), address)

    yield visit
    for context in contexts:
        context.close()
