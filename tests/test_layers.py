"""A module imports only from its own package and from the layers below it."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "konstrain"
PAGE = ROOT / "docs" / "architecture.md"


@cache
def layers():
    """Return the layer of each package as the page lists them, from the bottom up."""
    listed = re.search(r"## Layers\n.*?```text\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    return {name: height for height, line in enumerate(reversed(listed[1].splitlines())) for name in line.split()}


def package_of(module):
    """Return the folder or single module right under `konstrain`, which itself is `__init__`."""
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(source):
    """Yield every module of konstrain that a source imports: at the top, in a function, or for types only."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if is_ours(alias.name))
        elif isinstance(node, ast.ImportFrom) and node.module == "konstrain":
            # A module, or a public name, which only the top layers may use: it can lead anywhere.
            yield from (f"konstrain.{alias.name}" if is_module(alias.name) else "konstrain" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and is_ours(node.module or ""):
            yield node.module
        # Relative imports would pass this test unseen.
        assert not (isinstance(node, ast.ImportFrom) and node.level), "relative import"


def is_ours(module):
    return module.split(".")[0] == "konstrain"


def is_module(name):
    return name == "_core" or (PACKAGE / name).is_dir() or (PACKAGE / f"{name}.py").is_file()


def upward(module, source):
    """Return the imports of a module that lead to a layer above its own, or beside it."""
    height, own = layers(), package_of(module)
    return [
        name for name in imports_of(source) if package_of(name) != own and height[package_of(name)] >= height[own]
    ]


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        # A `__main__` is an entry point, not a part of its package.
        if parts[-1] != "__main__":
            yield pytest.param(".".join(part for part in parts if part != "__init__"), path, id="/".join(parts[1:]))


@pytest.mark.parametrize(("module", "path"), list(modules()))
def test_no_module_imports_from_a_layer_above_its_own(module, path):
    assert not upward(module, path.read_text())


def test_every_package_is_in_a_layer_and_no_other_is_named():
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()}
    found -= {"__main__"}  # an entry point
    assert set(layers()) == found | {"_core"}


@pytest.mark.parametrize(
    "source",
    [
        "from konstrain.estimators import ConstrainedKMeans",
        "import konstrain.estimators._base",
        "from konstrain import estimators",
        "from konstrain import ConstrainedKMeans",
        "def f():\n    from konstrain.estimators import ConstrainedKMeans",
        "if TYPE_CHECKING:\n    from konstrain.estimators import ConstrainedKMeans",
    ],
)
def test_an_upward_import_is_found_however_it_is_written(source):
    assert upward("konstrain.exact.solve", source)
    assert not upward("konstrain.cli.fit", source)


def test_the_k_means_engine_imports_no_scikit_learn():
    for path in (PACKAGE / "kmeans").glob("*.py"):
        assert "sklearn" not in {
            name.split(".")[0]
            for node in ast.walk(ast.parse(path.read_text()))
            for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else _imported(node))
        }


def _imported(node):
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
