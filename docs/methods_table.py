"""The table of methods, written from `konstrain.methods` so that it cannot go stale."""

from konstrain.methods import METHODS, Method

PLACE = "<!-- table of methods -->"
TAKES = (
    ("links", {"must_link", "cannot_link"}),
    ("sizes", {"size_min", "size_max"}),
    ("demand", {"demand"}),
    ("weights", {"sample_weight"}),
    ("time limit", {"time_limit"}),
)


def methods_table() -> str:
    """Return the table in Markdown, one row per method."""
    head = ["name", "class", "what it is for", *(title for title, _ in TAKES), "source"]
    rows = [head, ["---"] * len(head), *map(_row, METHODS.values())]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _row(method: Method) -> list[str]:
    marks = [_mark(wanted, method.takes) for _, wanted in TAKES]
    estimator = method.path.partition(":")[2]
    return [f"`{method.name}`", f"`{estimator}`", method.purpose, *marks, method.reference]


def _mark(wanted: set[str], taken: frozenset[str]) -> str:
    return "yes" if wanted <= taken else ", ".join(f"`{name}`" for name in sorted(wanted & taken))


def fill_in(app: object, page: str, source: list[str]) -> None:
    """Put the table where a page asks for it; called by Sphinx for every page it reads."""
    source[0] = source[0].replace(PLACE, methods_table())
