"""The options that verbs share, each written once."""

import copy
import csv
import inspect
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints

import typer

from konstrain._messages import counted, share_of_text

DATA, TABLE, CONSTRAINTS, OUTPUT, PROOF = "Data", "Table", "Constraints", "Output", "Proofs of many rows"


def option(panel: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option in a panel of the help, with this text."""
    return typer.Option(*names, help=text, rich_help_panel=panel, **more)


_data, _table, _rule, _output, _proof = (
    partial(option, panel) for panel in (DATA, TABLE, CONSTRAINTS, OUTPUT, PROOF)
)
# What becomes of columns that are no plain numbers, and of rows with empty cells; the sign before decimals.
Prepare = Literal["auto", "none"]
MissingChoice = Literal["error", "drop", "median"]
Decimal = Literal[".", ","]

PrepareOption = Annotated[
    Prepare,
    _table(
        "auto: text with few values as 0/1 columns, dates as days, numbers on one scale where they need it, "
        "identifiers left out; none: numbers as they stand, all else refused."
    ),
]
Standardize = Annotated[
    bool | None,
    _table(
        "Give each number mean 0 and variance 1, or leave it. (default: as --prepare finds)",
        "--standardize/--no-standardize",
    ),
]
Categorical = Annotated[str | None, _table("Columns to take as categories, numbers too.")]
MissingOption = Annotated[MissingChoice, _table("Rows with empty cells: refuse, leave out, or fill in.")]
DecimalOption = Annotated[Decimal | None, _table("The sign before decimals in CSV. (default: found out)")]
NoValue = Annotated[str | None, _table("Words that mean that a value is missing: k.A.,unknown", "--na")]
Encoding = Annotated[str | None, _table("How text is written: latin1, cp1252, utf-16. (default: utf-8)")]
Geo = Annotated[
    str | None, _table("Columns of latitude and longitude in degrees, to cluster by alone: distances in kilometres.")
]


@dataclass(frozen=True)
class DataOptions:
    """Which file, and what its columns are."""

    data: Annotated[
        Path,
        typer.Argument(
            help="Rows to cluster: .csv, .tsv, .xlsx, .parquet, .arrow, .json, .npy, or polygons in .geojson, .shp, "
            ".gpkg; - is standard input."
        ),
    ]
    columns: Annotated[str | None, _data("Features, separated by commas. (default: all others)")] = None
    id: Annotated[str | None, _data("Column with the names of rows. (default: row numbers from 0)")] = None
    ignore: Annotated[str | None, _data("Columns to leave out.")] = None
    label: Annotated[str | None, _data("Column with true classes: left out, and compared with the result.")] = None
    prepare: PrepareOption = "auto"
    standardize: Standardize = None
    categorical: Categorical = None
    missing: MissingOption = "error"
    na: NoValue = None
    decimal: DecimalOption = None
    encoding: Encoding = None
    geo: Geo = None


# Words of --connected that are no files, besides knn:8.
NEIGHBOUR_RULES: Final = ("delaunay", "rook", "queen")


@dataclass(frozen=True)
class ConstraintOptions:
    """What the clustering must keep."""

    must_link: Annotated[list[Path], _rule("File of pairs that belong together: a,b[,confidence].")] = ()  # type: ignore[assignment]
    cannot_link: Annotated[list[Path], _rule("File of pairs that do not belong together.")] = ()  # type: ignore[assignment]
    links: Annotated[
        list[Path],
        _rule(
            "File of both kinds: lines 'ML i j' and 'CL i j', or a,b,answer as from 'suggest'.",
            "--links",
            "--answers",
        ),
    ] = ()  # type: ignore[assignment]
    group: Annotated[str | None, _rule("Column of groups: rows of one group stay together.")] = None
    size_min: Annotated[
        str | None,
        _rule(
            "Least size of a cluster: 30 or 5%; one per cluster: 30,40,50; of several demands one for each, or "
            "revenue=400,clients=60."
        ),
    ] = None
    size_max: Annotated[
        str | None,
        _rule("Largest size of a cluster, 70 or 12%, or one per cluster; of several demands one for each."),
    ] = None
    size_tolerance: Annotated[
        str | None, _rule("Every cluster within this of an equal part: 0.1 or 10%; of each demand.")
    ] = None
    demand: Annotated[
        str | None, _rule("Column with what a row counts towards a size, or several: revenue,clients. (default: 1)")
    ] = None
    category: Annotated[str | None, _rule("Column of groups whose shares are bounded, or several.")] = None
    share_min: Annotated[
        list[str],
        _rule("Least share of a group in each cluster: F=0.4; of several columns sex:F=0.4; 0.1: of every group."),
    ] = ()  # type: ignore[assignment]
    share_max: Annotated[list[str], _rule("Largest share of a group in each cluster: F=0.6.")] = ()  # type: ignore[assignment]
    share_tolerance: Annotated[
        str | None,
        _rule("With t, 0.2 or 20%, every share is between (1 - t) r and r / (1 - t), r its share in all rows."),
    ] = None
    weight: Annotated[str | None, _rule("Column with what a row counts in the cost. (default: 1)")] = None
    connected: Annotated[
        str | None,
        _rule(
            "Every cluster in one piece: file of pairs of neighbours; knn:8, or delaunay for two features; rook or "
            "queen for polygons."
        ),
    ] = None
    join_components: Annotated[
        bool, _rule("Connect the components of --connected by their nearest rows.", "--join-components")
    ] = False

    @property
    def edges_file(self) -> Path | None:
        """The file of neighbours, if there is one."""
        if self.connected is None or self.connected in NEIGHBOUR_RULES or self.connected.startswith("knn:"):
            return None
        return Path(self.connected)

    @property
    def needs_features(self) -> bool:
        """Whether distances between rows say which are neighbours."""
        return self.connected is not None and (self.edges_file is None or self.join_components)

    def files(self) -> list[Path]:
        """Return the files that hold constraints."""
        edges = [] if self.edges_file is None else [self.edges_file]
        return [*self.must_link, *self.cannot_link, *self.links, *edges]

    def refuse_neighbours(self, verb: str, instead: str) -> None:
        """Raise if clusters are to be in one piece, for a verb that does not keep them so."""
        if self.connected is not None or self.join_components:
            option = "--join-components" if self.connected is None else "--connected"
            raise ValueError(f"'{verb}' does not keep clusters in one piece; leave out {option}{instead}")


@dataclass(frozen=True)
class PartOptions:
    """How parts of the rows are bounded, where there are too many to bound them together."""

    part_size: Annotated[int | None, _proof("Rows in a part. (default: chosen by the first parts)", min=2)] = None
    jobs: Annotated[int, _proof("Parts bounded together; -1: as many as there are cores.")] = 1
    resume: Annotated[Path | None, _proof("File that keeps finished parts, and gives back those it has.")] = None

    def files(self) -> list[Path]:
        """Return the file of finished parts, if there is one: nothing else may be written there."""
        return [] if self.resume is None else [self.resume]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `lower_bound`; a size or a file ask for a bound by parts."""
        given: dict[str, Any] = {"n_jobs": self.jobs}
        if self.part_size is not None or self.resume is not None:
            given |= {"bound": "parts", "resume": self.resume}
        if self.part_size is not None:
            given["part_size"] = self.part_size
        return given


# How CSV is written.
DialectChoice = Literal["same", "standard"]
Clusters = Annotated[int, typer.Option("-k", "--clusters", min=1, help="Number of clusters.", show_default=False)]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all randomness: one seed, one answer.")]
Json = Annotated[bool, _output("Print a summary as JSON.", "--json")]
Quiet = Annotated[bool, _output("No progress, no notes.", "--quiet", "-q")]
Out = Annotated[
    Path | None,
    _output(
        "Write labels and distances: .csv, .tsv, .xlsx, .parquet, .arrow, .json; - prints them.", "-o", "--output"
    ),
]
Picture = Annotated[Path | None, _output("Draw the clusters: .png, .svg or .pdf.")]
Join = Annotated[bool, _output("Write the columns of the table too, label and distance behind them.", "--join")]
DialectOption = Annotated[
    DialectChoice | None,
    _output(
        "CSV as in DATA (delimiter, decimal sign, encoding), or with commas, decimal points and UTF-8. "
        "(default: same with --join, else standard)",
        "--dialect",
    ),
]
Page = Annotated[Path | None, _output("Write a page about the clusters that any browser shows: .html.")]
Save = Annotated[Path | None, _output("Keep the model for 'konstrain predict': .skops (safe to open) or .joblib.")]


def _is_a_gap(value: float) -> float:
    if not 0 < value < 1:
        raise typer.BadParameter(f"{value:g} does not lie between 0 and 1")
    return value


Gap = Annotated[float, typer.Option(help="Relative gap at which a clustering counts as proved.", callback=_is_a_gap)]


@dataclass(frozen=True)
class Unlisted:
    """Fields of a dataclass of options that the help of a verb does not list."""

    fields: tuple[str, ...]


# Constraints that some verbs do not take.
_SHARES = ("category", "share_min", "share_max", "share_tolerance")
_NEIGHBOURS = ("connected", "join_components")
WithoutNeighbours = Annotated[ConstraintOptions, Unlisted(_NEIGHBOURS)]
WithoutShares = Annotated[ConstraintOptions, Unlisted(_SHARES)]
LinksAndSizes = Annotated[ConstraintOptions, Unlisted((*_SHARES, *_NEIGHBOURS))]
WithoutWeight = Annotated[ConstraintOptions, Unlisted(("weight", *_NEIGHBOURS))]


def spread(verb: Callable[..., None]) -> Callable[..., None]:
    """Let each field of a verb's dataclass parameters be an option of its own.

    Those of `Annotated[Options, Unlisted("field", ...)]` that are named are taken, and refused by the verb in its own
    words, but its help does not list them.
    """
    hints = get_type_hints(verb, include_extras=True)
    signature = inspect.signature(verb)
    groups, unlisted = {}, dict[str, frozenset[str]]()
    for name, kind in hints.items():
        plain, *notes = get_args(kind) if get_origin(kind) is Annotated else (kind,)
        if is_dataclass(plain) and isinstance(plain, type):
            groups[name] = plain
            unlisted[name] = frozenset(field for note in notes for field in note.fields)

    def run(**options: Any) -> None:
        given = {
            name: kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        verb(**given, **options)

    parameters = []
    for name, parameter in signature.parameters.items():
        if name in groups:
            parameters += _fields_as_parameters(groups[name], unlisted[name])
        else:
            kind = inspect.Parameter.KEYWORD_ONLY
            parameters.append(parameter.replace(kind=kind, annotation=hints[name]))
    # The help keeps line breaks, and wraps as wide as the terminal: within a paragraph there must be none.
    run.__doc__ = re.sub(r"(?<!\n)\n(?!\n)", " ", inspect.getdoc(verb) or "")
    run.__name__, run.__module__ = verb.__name__, verb.__module__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run


def _fields_as_parameters(group: type, unlisted: frozenset[str]) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for name in unlisted:
        kind, option = get_args(hints[name])
        hidden = copy.copy(option)
        hidden.hidden = True
        hints[name] = Annotated[kind, hidden]
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(group)
    ]


def names_in(option: str, text: str | None) -> list[str]:
    """Split a list of columns; names with commas are quoted."""
    if text is None:
        return []
    names = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]
    if not names:
        raise ValueError(f"{option} names no column; leave it out, or name some, separated by commas")
    return names


def sizes_in(option: str, text: str | None, n_clusters: int | None = None, demands: Sequence[str] = ()) -> Any:
    """Read one size or one per cluster; of several demands one for each, in order or by name; some may be "12%"."""
    if text is None:
        return None
    named = [part.rpartition("=") for part in text.split(",")]
    sizes = [_size_in(option, text, size) for _, _, size in named]
    n_demands = len(demands)
    names = [name.strip() for name, equals, _ in named if equals]
    if names:
        if n_demands < 2 or len(names) < len(named) or len(set(names)) < len(names):
            raise ValueError(f"{option} {text}: names are for several columns of --demand, one size for each")
        return dict(zip(names, sizes, strict=True))
    if n_demands > 1:
        if len(sizes) != n_demands:
            raise ValueError(
                f"{option} has {counted(len(sizes), 'size')} for {n_demands} columns of --demand; give one for each"
            )
        # As many clusters as demands: only a row for each cluster says that these are not sizes of clusters.
        return [sizes] * n_clusters if n_clusters == n_demands else sizes
    if n_clusters is not None and len(sizes) not in (1, n_clusters):
        raise ValueError(f"{option} has {len(sizes)} sizes for -k {n_clusters}; give one number, or one per cluster")
    return sizes[0] if len(sizes) == 1 else sizes


def _size_in(option: str, text: str, size: str) -> float | str:
    try:
        found = share_of_text(option, size) if "%" in size else float(size)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is neither a number nor numbers separated by commas", param_hint=option
        ) from None
    if not 0 <= found < math.inf:
        raise ValueError(f"{option} {text}: a size is a number and not negative")
    return size.strip() if "%" in size else found


def moves_in(option: str, text: str | None) -> int | float | None:
    """Read a number of rows, or a share of them: 12 or 5%."""
    if text is None:
        return None
    if "%" in text:
        return share_of_text(option, text)
    if not (text.isascii() and text.isdigit()):
        raise typer.BadParameter(f"{text!r} is no number of rows; write 12 or 5%", param_hint=option)
    return int(text)


def number_in(option: str, text: str | None) -> float | str | None:
    """Read a number of at least 0, or auto."""
    if text in (None, "auto"):
        return text
    try:
        if (found := float(text)) >= 0:
            return found
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is neither auto nor a number of at least 0", param_hint=option)


def share_in(option: str, text: str | None) -> float | None:
    """Read a share: 0.1 or 10%."""
    if text is None:
        return None
    try:
        return share_of_text(option, text) if "%" in text else float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is no share; write 0.1 or 10%", param_hint=option) from None


def shares_in(
    option: str, texts: Sequence[str], columns: Sequence[str]
) -> float | dict[str, dict[str, float]] | None:
    """Read shares, each ``GROUP=SHARE``, ``COLUMN:GROUP=SHARE``, or one number for all groups."""
    found: dict[str, dict[str, float]] = {}
    for text in texts:
        group, _, share = text.rpartition("=")
        try:
            value = share_of_text(option, share) if "%" in share else float(share)
        except ValueError:
            raise typer.BadParameter(f"{text!r} is no share; write {option} F=0.4", param_hint=option) from None
        if not group:
            if len(texts) > 1:
                raise ValueError(
                    f"{option} {text} is for all groups, and there are others beside it; name the groups"
                )
            return value
        column, colon, name = group.partition(":")
        if not (colon and column in columns):
            if len(columns) != 1:
                known = ", ".join(columns) or "none: give --category"
                raise ValueError(f"{option} {text}: say of which column, as in COLUMN:{text}; columns are {known}")
            column, name = columns[0], group
        found.setdefault(column, {})[name] = value
    return found or None


@dataclass(frozen=True)
class NewRows:
    """A file of new rows."""

    data: Annotated[Path, typer.Argument(help="New rows, with the columns that the model was fitted on.")]
    id: Annotated[str | None, _data("Column with the names of rows. (default: as for the fit)")] = None
    missing: Annotated[
        MissingChoice | None,
        _table("Rows with empty cells: refuse, leave out, or fill in. (default: as for the fit)"),
    ] = None
    na: NoValue = None
    decimal: DecimalOption = None
    encoding: Encoding = None
