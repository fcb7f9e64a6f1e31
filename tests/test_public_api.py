"""What is public exists, is documented, and the scripts that show it run."""

import ast
import inspect
import re
import shutil
import subprocess
import tomllib
import warnings
from collections import Counter
from pathlib import Path

import pytest
from dask.base import tokenize
from sklearn.base import BaseEstimator

import konstrain
from konstrain import baselines, constraints, dask, datasets, exact, plotting
from konstrain._documentation import Docstring

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
DOCS = Path(__file__).resolve().parents[1] / "docs"
# Examples that take more than a second; `make docs` runs them, too.
LONG = (
    "active_questions",
    "balanced_groups",
    "blp_iterations",
    "concepts",
    "connected_territories",
    "exact_proof",
    "from_kmeans_constrained",
    "mixed_groups",
    "more_rows_than_memory",
    "territories",
)
MODULES = [konstrain, baselines, constraints, dask, datasets, exact, plotting]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_are_sorted_exist_and_are_documented_with_an_example(module):
    assert module.__all__ == sorted(module.__all__)
    for name in module.__all__:
        assert ">>>" in (inspect.getdoc(getattr(module, name)) or ""), name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_public_names_are_in_the_reference(module):
    listed = (DOCS / "reference" / "index.rst").read_text().split()
    assert set(module.__all__) <= set(listed)


def test_the_reference_lists_nothing_twice():
    module, listed = "", Counter()
    for line in (DOCS / "reference" / "index.rst").read_text().splitlines():
        if line.startswith(".. currentmodule::"):
            module = line.split()[-1]
        elif re.fullmatch(r"   \w+", line):
            listed[f"{module}.{line.strip()}"] += 1
    assert len(listed) > 80
    assert [name for name, times in listed.items() if times > 1] == []


def test_the_version_to_cite_is_the_version_there_is():
    text = (DOCS.parent / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", text, flags=re.MULTILINE)[1] == konstrain.__version__
    assert re.search(r"^date-released: \d{4}-\d\d-\d\d$", text, flags=re.MULTILINE)


def test_a_release_links_to_the_repository_that_it_is_built_from(tmp_path):
    script = DOCS.parent / ".ci" / "urls"
    if not script.exists():
        pytest.skip("a source archive has no workflows")
    project = shutil.copy(DOCS.parent / "pyproject.toml", tmp_path)
    subprocess.run([script, "https://example.org/konstrain", project], check=True)
    urls = tomllib.loads(Path(project).read_text())["project"]["urls"]
    assert urls["Issues"] == "https://example.org/konstrain/issues"
    pages = [url.partition("/blob/main/")[2] for url in urls.values() if "/blob/" in url]
    assert pages
    assert all((DOCS.parent / page).is_file() for page in pages)


def _documented():
    """Yield estimators, their public methods, and functions with a list of parameters."""
    for thing in {getattr(module, name) for module in MODULES for name in module.__all__}:
        if inspect.isfunction(thing) and "\nParameters\n" in inspect.getdoc(thing):
            yield thing
        elif inspect.isclass(thing) and issubclass(thing, BaseEstimator):
            yield thing
            methods = (
                getattr(thing, name) for name in ("fit", "predict", "transform", "score") if hasattr(thing, name)
            )
            yield from (method for method in methods if method.__module__.startswith("konstrain."))


@pytest.mark.parametrize("thing", sorted(_documented(), key=repr), ids=lambda thing: thing.__qualname__)
def test_docstrings_describe_every_parameter_once(thing):
    taken = [name for name in inspect.signature(thing).parameters if name != "self"]
    described = [name for entry in Docstring(thing.__doc__).entries("Parameters") for name in entry.names]
    assert sorted(described) == sorted(taken)


def test_estimators_describe_what_they_have_after_a_fit():
    model = konstrain.ConstrainedKMeans(2, random_state=0).fit([[0.0], [1.0], [5.0]])
    described = [name for entry in Docstring(model.__doc__).entries("Attributes") for name in entry.names]
    assert {name for name in vars(model) if name.endswith("_") and not name.startswith("_")} <= set(described)
    assert len(described) == len(set(described))


def test_dask_tells_fitted_models_apart():
    models = [konstrain.ConstrainedKMeans(2, random_state=0).fit(X) for X in ([[0.0], [1.0]], [[0.0], [2.0]])]
    tokens = [tokenize(model) for model in models]
    assert tokens[0] != tokens[1]
    assert tokens[0] == tokenize(models[0])


def test_importing_the_package_loads_no_plotting_no_table_reader_and_no_data_sets():
    import subprocess
    import sys

    code = "import sys, konstrain; print(sorted({'matplotlib', 'polars', 'konstrain.datasets'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(path, id=path.stem, marks=pytest.mark.slow if path.stem in LONG else ())
        for path in sorted(EXAMPLES.glob("[!_]*.py"))
    ],
)
def test_examples_run_and_draw_what_they_say(script, capsys, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(EXAMPLES)
    from _draw import draw

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drawn = draw(script, tmp_path)
    assert capsys.readouterr().out or drawn
    assert ("plt.show()" in script.read_text()) == bool(drawn)


def test_pictures_of_pages_come_from_examples(monkeypatch):
    """Under the name of a script, under the label of one of its figures, or drawn by a page itself.

    All but photographs of the page, and the chart that `perf/summary.py` draws.
    """
    monkeypatch.syspath_prepend(EXAMPLES)
    from _draw import PAGES

    scripts = {path.stem: path.read_text() for path in EXAMPLES.glob("[!_]*.py")}
    scripts |= {f"{page.stem}_{n}": "" for page in PAGES for n in range(1, page.read_text().count(">>> ax = ") + 1)}
    scripts["performance"] = ""
    pictures = {path.stem for path in (DOCS / "pictures").glob("*.png") if not path.stem.startswith("studio_")}
    assert {
        name for name in pictures if name not in scripts and f'num="{name}"' not in "".join(scripts.values())
    } == set()


def test_examples_have_the_heading_and_the_text_of_a_page_in_the_gallery():
    for script in EXAMPLES.glob("[!_]*.py"):
        title, line, blank, *text = ast.get_docstring(ast.parse(script.read_text())).splitlines()
        assert (line, blank) == ("=" * len(title), ""), script.name
        assert text, script.name
