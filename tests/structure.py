"""Measures of the source tree that `tests/test_structure.py` holds: ``python tests/structure.py [part of a path]``.

A tunable constant is a number at the top of a module, a field of a ``...Params`` class, or a ``constexpr`` number in
C++. Facts are not tunable and are declared ``Final``, in C++ by the comment ``// fact`` on their line: limits of a
file format, units, sizes of a picture, the width of a register, numbers that a paper prints. Tolerances
(`_tolerances.py`, `tolerances.h`) and the settings that a paper printed (`experiments/papers`) have places of
their own.
"""

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "konstrain"
KERNELS = ROOT / "src" / "cpp"
SMALL_MODULE = 80


def python_files() -> list[Path]:
    """Return the modules of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def cpp_files() -> list[Path]:
    """Return the files of the compiled core."""
    return sorted(path for path in KERNELS.rglob("*") if path.suffix in {".h", ".cpp"})


def name_of(path: Path) -> str:
    """Return a path as it is written in reports."""
    return str(path.relative_to(ROOT / "src"))


def is_number(node: ast.expr | None) -> bool:
    """Return whether an expression is a number, or arithmetic on numbers."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    return isinstance(node, ast.BinOp) and is_number(node.left) and is_number(node.right)


def _constants_of_module(source: str) -> Iterator[str]:
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=True))
                yield from (name.id for name, value in pairs if isinstance(name, ast.Name) and is_number(value))
        elif isinstance(node, ast.AnnAssign) and is_number(node.value) and isinstance(node.target, ast.Name):
            if "Final" not in ast.unparse(node.annotation):
                yield node.target.id
        elif isinstance(node, ast.ClassDef) and node.name.endswith("Params"):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and is_number(line.value):
                    yield f"{node.name}.{ast.unparse(line.target)}"


# A digit after the sign: `constexpr auto f = other;` holds no number of its own.
_CONSTEXPR = re.compile(r"constexpr\s+(?!.*\()[\w:<> ]*?(\w+)\s*(?:=|\{)\s*-?[\d.]")
# A fact in C++, as `Final` is one in Python.
_FACT = re.compile(r"^.*// fact\b.*$", re.MULTILINE)
_PARAMS = re.compile(r"struct \w*Params \{(.*?)\n\s*\};", re.DOTALL)
_FIELD = re.compile(r"^\s*[\w:]+ (\w+) = -?[\d.]", re.MULTILINE)


def tunable_constants() -> dict[str, list[str]]:
    """Return the tunable constants of each file that has any."""
    found = {}
    for path in python_files():
        if path.name != "_tolerances.py" and "papers" not in path.parts:
            found[name_of(path)] = list(_constants_of_module(path.read_text()))
    for path in cpp_files():
        if path.name == "tolerances.h":
            continue
        text = _FACT.sub("", path.read_text())
        fields = [name for struct in _PARAMS.findall(text) for name in _FIELD.findall(struct)]
        found[name_of(path)] = [*_CONSTEXPR.findall(text), *fields]
    return {name: constants for name, constants in found.items() if constants}


_CPP_CLASS = re.compile(r"^\s*(?:struct|class) (\w+)(?: final)?(?: : [^;{]*)? \{", re.MULTILINE)


def class_names_used_twice() -> dict[str, list[str]]:
    """Return the files of each class name that more than one class has, Python and C++ apart."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                places[f"{node.name} (Python)"].append(name_of(path))
    for path in cpp_files():
        for name in _CPP_CLASS.findall(path.read_text()):
            places[f"{name} (C++)"].append(name_of(path))
    return {name: files for name, files in places.items() if len(files) > 1 and name != "Params (C++)"}


def _imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names


def module_of(path: Path) -> str:
    """Return the dotted name of a module."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


def small_modules_with_one_importer() -> list[str]:
    """Return modules of fewer than 80 lines that one other module imports; packages' fronts are not modules."""
    importers: Counter[str] = Counter()
    for path in python_files():
        importers.update(_imports(path) - {module_of(path)})
    return [
        name_of(path)
        for path in python_files()
        if path.name not in {"__init__.py", "__main__.py"}
        and importers[module_of(path)] == 1
        and len(path.read_text().splitlines()) < SMALL_MODULE
    ]


# Words of our own for which the field has others (docs/glossary.md says which).
HOME_MADE = (
    *(r"dearer", r"dearest", r"rivals?", r"dealt", r"dealing", r"mend(?:s|ed|ing)?", r"rooms?", r"whoever"),
    *(r"so many", r"so much", r"that many", r"anyhow", r"closer looks?", r"looks?", r"settled", r"told"),
    *(r"walks?", r"brief", r"patient", r"thorough", r"decided", r"put right"),
)
_HOME_MADE = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(HOME_MADE)})(?![A-Za-z])", re.IGNORECASE)


# Words that the Python of the core has done without: modules do not talk.
HOME_MADE_IN_CORE = (
    *(r"questions?", r"says?", r"said", r"saying", r"tells?", r"telling", r"knows", r"words", r"beside", r"lost"),
    *(r"luck", r"anyway", r"agree(?:s|d)?"),
)
_HOME_MADE_IN_CORE = re.compile(rf"(?<![A-Za-z])(?:{'|'.join(HOME_MADE_IN_CORE)})(?![A-Za-z])", re.IGNORECASE)
CORE = {"assignment", "baselines", "constraints", "dask", "estimators", "exact", "kmeans", "link_metrics"}


def is_core(path: Path) -> bool:
    """Return whether a file is a module of the core: one of its packages, or at the top of the package."""
    return (
        path.suffix == ".py"
        and path.is_relative_to(PACKAGE)
        and (path.parent == PACKAGE or bool(CORE & {*path.parts}))
    )


# Where a word begins inside a name such as `hasRoomAfter`.
_INSIDE_NAME = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def home_made_words_of(line: str, *, is_core: bool = False) -> list[str]:
    """Return the home-made words of a line, those inside names in camel case included."""
    spaced = _INSIDE_NAME.sub(" ", line)
    return _HOME_MADE.findall(spaced) + (_HOME_MADE_IN_CORE.findall(spaced) if is_core else [])


def text_files() -> list[Path]:
    """Return source and pages."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    return [*python_files(), *cpp_files(), *sorted(page for page in pages if "results" not in page.parts)]


def home_made_words() -> dict[str, list[str]]:
    """Return the home-made words of each file that has any, with their lines; names of things included."""
    found: dict[str, list[str]] = {}
    for path in text_files():
        for number, line in enumerate(path.read_text().splitlines(), 1):
            words = home_made_words_of(line, is_core=is_core(path))
            if words:
                found.setdefault(str(path.relative_to(ROOT)), []).append(f"{number}: {', '.join(words)}")
    return found


def lines_of(paths: list[Path]) -> int:
    """Return the number of lines of files."""
    return sum(len(path.read_text().splitlines()) for path in paths)


def main(part: str) -> None:
    """Print the measures, and what they are made of for the files whose path has `part` in it."""
    constants, words = tunable_constants(), home_made_words()
    twice, small = class_names_used_twice(), small_modules_with_one_importer()
    print(f"lines: {lines_of(python_files())} Python, {lines_of(cpp_files())} C++; modules: {len(python_files())}")
    print(f"tunable constants: {sum(map(len, constants.values()))}")
    print(f"class names used twice: {len(twice)}; small modules with one importer: {len(small)}")
    print(f"lines with home-made words: {sum(map(len, words.values()))}")
    if not part:
        return
    for title, lists in (("constants", constants), ("words", words), ("class names", twice)):
        for name, entries in lists.items():
            if part in name or any(part in entry for entry in entries):
                print(f"{title}, {name}: {'; '.join(entries)}")
    print(f"small modules with one importer: {', '.join(name for name in small if part in name)}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
