"""A quick start: what scikit-learn imports for functions that no verb calls waits until someone calls them.

Memory is not searched for garbage meanwhile: what imports make stays. `end_start` is called where work begins.

`sklearn.utils.fixes` imports scipy.stats for one function and pandas for another: together most of what starting
takes. While that module is imported both stand aside; it finds them when it asks for something in them.
"""

import gc
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType
from typing import Any

_began = time.perf_counter()


def start_clock() -> None:
    """Count from now on; for processes that imported all this long before they run a command."""
    global _began
    _began = time.perf_counter()


def seconds_since_start() -> float:
    """Return how long a person has waited for the command, imports included."""
    return time.perf_counter() - _began


_IMPORTER = "sklearn.utils.fixes"


def start_quickly() -> None:
    """Import as little as possible, and without looking for garbage, until work begins."""
    gc.disable()
    _defer_imports()


def end_start() -> None:
    """Work begins: from here on memory is looked after as always, but for what imports made."""
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def _defer_imports() -> None:
    """Let scikit-learn's imports of scipy.stats and pandas wait; has no effect where they are loaded already."""
    if _IMPORTER not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Later:
    """A module that is imported when it is first asked for something."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self._name), attribute)


class _StandIn(ModuleType):
    """A module that has nothing but a version, which scikit-learn 1.6 compares while it is imported."""

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {attribute!r}")
        from importlib.metadata import version

        return version(self.__name__)


class _Finder(MetaPathFinder):
    """Finds the one module whose imports wait, and leaves all others to Python."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        """Return where the module is, to be loaded by us."""
        if name != _IMPORTER:
            return None
        spec = PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Aside(spec.loader)
        return spec


class _Aside(Loader):
    """Loads a module while scipy.stats and pandas stand aside."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module as its own loader does."""
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; what it imported is imported when it is used."""
        aside = [name for name in ("scipy.stats", "pandas") if name not in sys.modules]
        has_pandas = "pandas" in aside and find_spec("pandas") is not None
        for name in aside:
            sys.modules[name] = _StandIn(name)
        try:
            self._loader.exec_module(module)
        finally:
            for name in aside:
                del sys.modules[name]
        # `scipy.stats` is found by scipy itself when someone asks for it.
        if "pandas" in aside:
            module.__dict__["pd"] = _Later("pandas") if has_pandas else None
