"""Shared fixtures: the checker of fits, the seed, data beside the checkout, a browser; Hypothesis profiles."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from checks import every_fit_checked
from effort import EXAMPLES
from studio_page import FLAGS

# Deadlines off: the machine that runs the tests may be slow, and a timed assertion is not a test.
settings.register_profile(
    "default", deadline=None, derandomize=True, max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("default")

# A shell starts what it puts into the background with interrupts ignored, and children inherit that: tests of Ctrl-C
# would wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
DATA = Path(os.environ.get("KONSTRAIN_TEST_DATA", BESIDE))


@pytest.fixture(autouse=True)
def _checked_fits(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have every fit end in the checker, unless the test is marked `unchecked`."""
    if request.node.get_closest_marker("unchecked"):
        yield
        return
    with every_fit_checked():
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let whoever runs the tests choose the seeds."""
    parser.addoption("--seeds", default="0", help="seeds of tests with the fixture `seed`: one, or FIRST-LAST")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give the tests that ask for a `seed`, and do not list their own, one by default and all of `--seeds`."""
    lists = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    if "seed" in metafunc.fixturenames and not any(names == "seed" or "seed" in [*names] for names in lists):
        first, _, last = metafunc.config.getoption("--seeds").partition("-")
        metafunc.parametrize("seed", range(int(first), int(last or first) + 1))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the collection of labelled data sets, or skip by name when this checkout stands alone."""
    if not DATA.is_dir():
        pytest.skip(
            "needs ../shared/data, which is not beside this checkout; or say where it is by KONSTRAIN_TEST_DATA"
        )
    return DATA


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Start Chromium, without a window and anything it does on its own; skip by name where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'konstrain[browser]'")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("needs the browser Chromium: apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()
