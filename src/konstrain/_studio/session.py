"""What a person did, as a list of actions: links and settings follow from it; it is undone, saved and read again."""

import json
import math
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._studio.data import PARAMS, StudioData
from konstrain.exceptions import FileError
from konstrain.files import write_whole

TOGETHER, APART, UNSURE = "together", "apart", "unsure"
ANSWERS = (TOGETHER, APART, UNSURE)
# How distances may be measured: plainly, as held-out links decide, or always as learned from the links.
METRICS = (None, "learned", "itml")
# What numpy's generators take as a seed.
LARGEST_SEED: Final = 2**32 - 1
FORMAT = "konstrain studio session"
VERSION: Final = 1

Pair = tuple[int, int]
Size = float | tuple[float, ...] | None


@dataclass(frozen=True)
class Settings:
    """How to cluster."""

    n_clusters: int  # Number of clusters.
    features: tuple[str, ...]  # The columns to cluster by.
    # Bounds on sizes, one for all or one per cluster.
    size_min: Size = None
    size_max: Size = None
    standardize: bool = False  # Whether each feature gets mean 0 and variance 1.
    random_state: int = 0  # Seed of all randomness.
    metric: str | None = None  # How distances are measured, as in `ConstrainedKMeans`.
    previous: tuple[int, ...] | None = None  # Labels of a clustering that few rows are to leave; -1: a new row.


@dataclass(frozen=True)
class Answer:
    """A person's answer about some pairs; `guess` is the clustering's own, if the pair was a question."""

    pairs: tuple[Pair, ...]
    kind: str
    guess: str | None = None


@dataclass(frozen=True)
class Removal:
    """Pairs whose links are removed."""

    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Setting:
    """Settings from here on."""

    settings: Settings


@dataclass(frozen=True)
class Move:
    """A row that joins the cluster of another one, all other rows staying where they are."""

    row: int
    beside: int


Action = Answer | Removal | Setting | Move


@dataclass(frozen=True)
class Link:
    """What holds for a pair; a confidence below infinity makes it soft."""

    pair: Pair
    kind: str
    confidence: float = math.inf


@dataclass(frozen=True)
class SessionState:
    """The result of all actions: the settings, the link of each pair, oldest first, and moves by hand since then."""

    settings: Settings
    links: Mapping[Pair, Link]
    moves: tuple[tuple[int, int], ...] = ()

    def of_kind(self, *kinds: str) -> list[Link]:
        """Return the links of some kinds."""
        return [link for link in self.links.values() if link.kind in kinds]

    @cached_property
    def constraints(self) -> dict[str, Any]:
        """Links as `fit` takes them: row numbers, and a third column where some have confidences."""
        found = {"must_link": _table(self.of_kind(TOGETHER)), "cannot_link": _table(self.of_kind(APART))}
        return {kind: table for kind, table in found.items() if len(table)}


def read_size(value: Any) -> Size:
    """Read a size as `ConstrainedKMeans` takes it."""
    if value is None:
        return None
    return float(value) if np.ndim(value) == 0 else tuple(float(size) for size in value)


def ordered(first: int, second: int) -> Pair:
    """Return a pair with the smaller row first: links have no direction."""
    return (first, second) if first < second else (second, first)


def _table(links: list[Link]) -> NDArray[Any]:
    pairs = np.array([link.pair for link in links], dtype=np.int64).reshape(-1, 2)
    if all(math.isinf(link.confidence) for link in links):
        return pairs
    return np.column_stack([pairs.astype(np.float64), [link.confidence for link in links]])


@dataclass
class Session:
    """Actions on some rows, with what was given at the start."""

    rows: StudioData  # The data.
    settings: Settings  # The settings at the start.
    given: tuple[Link, ...] = ()  # The links at the start.
    # What a person did, and what they took back, last taken back last.
    done: list[Action] = field(default_factory=list)
    undone: list[Action] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._state = self._replay()

    @property
    def state(self) -> SessionState:
        """Settings and links as they are now."""
        return self._state

    def do(self, action: Action) -> None:
        """Add an action; what was taken back before cannot come again."""
        self._refuse_unknown(action)
        self.done.append(action)
        self.undone.clear()
        self._state = _after(self._state, [action])

    def undo(self) -> Action | None:
        """Take the last action back; returns it, or None when there is none."""
        return self._move(self.done, self.undone)

    def redo(self) -> Action | None:
        """Do again what was taken back last."""
        return self._move(self.undone, self.done)

    def _move(self, source: list[Action], target: list[Action]) -> Action | None:
        if not source:
            return None
        target.append(source.pop())
        self._state = self._replay()
        return target[-1]

    def _replay(self) -> SessionState:
        return _after(SessionState(self.settings, {link.pair: link for link in self.given}), self.done)

    def _refuse_unknown(self, action: Action) -> None:
        if isinstance(action, Setting):
            _refuse_bad_settings(self.rows, action.settings)
            return
        if isinstance(action, Move):
            _refuse_bad_pairs(self.rows, [ordered(action.row, action.beside)])
            return
        _refuse_bad_pairs(self.rows, action.pairs)
        if isinstance(action, Answer) and action.kind not in ANSWERS:
            raise ValueError(f"an answer is one of {', '.join(ANSWERS)}, got {action.kind!r}")

    def to_json(self) -> str:
        """Return everything but the data, as text."""
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "data": _described(self.rows),
                "settings": asdict(self.settings),
                "given": [_link_values(link) for link in self.given],
                "done": [_action_values(action) for action in self.done],
                "undone": [_action_values(action) for action in self.undone],
            },
            indent=1,
        )


def _after(state: SessionState, actions: Iterable[Action]) -> SessionState:
    settings, links, moves = state.settings, dict(state.links), state.moves
    for action in actions:
        if isinstance(action, Move):
            moves = (*moves, (action.row, action.beside))
            continue
        # Links and settings lead to another clustering: moves were of the last one.
        moves = ()
        if isinstance(action, Setting):
            settings = action.settings
            continue
        for pair in action.pairs:
            # The latest link of a pair stands last, also where it is not the first.
            links.pop(pair, None)
            if isinstance(action, Answer):
                links[pair] = Link(pair, action.kind)
    return SessionState(settings, links, moves)


class Saver:
    """Keeps a file up to date: written whole after every action, by a thread, and again after a failure.

    `text` returns what it is to hold now; `on_change` is called after each try, from the thread that saves.
    """

    def __init__(self, path: Path, text: Callable[[], str], on_change: Callable[[], object]) -> None:
        self.path = path
        self.problem = ""
        self._text, self._on_change = text, on_change
        self._wanted = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="konstrain-studio-saver", daemon=True)
        self._thread.start()

    @property
    def is_saved(self) -> bool:
        """Whether the file holds everything."""
        return not self._wanted.is_set() and not self.problem

    def request(self) -> None:
        """Ask for the file to be written soon."""
        self._wanted.set()

    def close(self) -> None:
        """Write what is not written yet, and end."""
        self._closing.set()
        self._wanted.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._wanted.wait()
            # Cleared first: a request that comes while the file is written is served next.
            self._wanted.clear()
            self._try()
            if self._closing.is_set():
                return
            if self.problem:
                self._closing.wait(PARAMS.quick_limit)
                self._wanted.set()

    def _try(self) -> None:
        try:
            write_whole(self.path, self._text().encode())
            self.problem = ""
        except FileError as error:
            self.problem = str(error)
        self._on_change()


def read_session(text: str, rows: StudioData, source: str) -> tuple[Session, str]:
    """Return the session of these rows that a text (`source` in messages) holds, and what the data changed since.

    Refuses text that is no session or one of other data, and names the difference.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        raise FileError(f"{source} is no session: it is not JSON") from None
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise FileError(f"{source} is no session of konstrain studio")
    if values.get("version") != VERSION:
        raise FileError(f"{source} is of version {values.get('version')!r}; this konstrain reads version {VERSION}")
    try:
        changed = _compare(values["data"], rows, source)
        session = Session(rows, _settings_from(values["settings"]), tuple(map(_link_from, values["given"])))
        _refuse_bad_settings(rows, session.settings)
        _refuse_bad_pairs(rows, (link.pair for link in session.given))
        done, undone = (list(map(_action_from, values[name])) for name in ("done", "undone"))
        for action in done:
            session.do(action)
        for action in undone:
            session._refuse_unknown(action)
        session.undone = undone
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise FileError(f"{source} is damaged: {error!s}") from None
    return session, changed


def _described(rows: StudioData) -> dict[str, Any]:
    return {
        "title": rows.title,
        "n_samples": rows.n_samples,
        "features": list(rows.features),
        "names": rows.names_digest,
        "values": rows.values_digest,
    }


def _compare(then: Any, rows: StudioData, source: str) -> str:
    now = _described(rows)
    if then["n_samples"] != now["n_samples"]:
        raise FileError(f"{source} is of {then['n_samples']} rows, but {rows.title} has {now['n_samples']}")
    if then["features"] != now["features"]:
        words = ", ".join(map(str, then["features"]))
        raise FileError(f"{source} is of other columns ({words}) than {rows.title} ({', '.join(rows.features)})")
    if then["names"] != now["names"]:
        raise FileError(f"{source} is of rows with other names, or in another order, than {rows.title}")
    return "" if then["values"] == now["values"] else f"numbers in {rows.title} have changed since {source}"


def _refuse_bad_pairs(rows: StudioData, pairs: Iterable[Pair]) -> None:
    for a, b in pairs:
        if not 0 <= a < b < rows.n_samples:
            raise ValueError(f"pair ({a}, {b}): rows are 0 to {rows.n_samples - 1}, and the smaller one stands first")


def _refuse_bad_settings(rows: StudioData, settings: Settings) -> None:
    unknown = [name for name in settings.features if name not in rows.features]
    if unknown:
        raise ValueError(f"there is no feature {unknown[0]!r}; features are {', '.join(rows.features)}")
    if not settings.features:
        raise ValueError("no feature is left to cluster by; keep at least one")
    if not 1 <= settings.n_clusters <= rows.n_samples:
        raise ValueError(
            f"{settings.n_clusters} clusters for {rows.n_samples} rows; there must be 1 to as many as rows"
        )
    if settings.metric not in METRICS:
        raise ValueError(f"metric is one of {', '.join(map(repr, METRICS))}, got {settings.metric!r}")
    if not 0 <= settings.random_state <= LARGEST_SEED:
        raise ValueError(f"random_state is a whole number from 0 to {LARGEST_SEED}, got {settings.random_state}")
    for name in ("size_min", "size_max"):
        _refuse_bad_size(name, getattr(settings, name), settings.n_clusters)
    labels = settings.previous
    if labels is not None and (
        len(labels) != rows.n_samples or not -1 <= min(labels) <= max(labels) < settings.n_clusters
    ):
        raise ValueError(f"labels to keep are one per row, -1 to {settings.n_clusters - 1}")


def _refuse_bad_size(name: str, size: Size, n_clusters: int) -> None:
    if size is None:
        return
    sizes = size if isinstance(size, tuple) else (size,)
    if not all(0 <= value < math.inf for value in sizes):
        raise ValueError(f"{name} {size}: a size is a number and not negative")
    if isinstance(size, tuple) and len(size) != n_clusters:
        raise ValueError(f"{name} has {len(size)} sizes for {n_clusters} clusters; give one, or one per cluster")


def _link_values(link: Link) -> dict[str, Any]:
    values: dict[str, Any] = {"pair": link.pair, "kind": link.kind}
    # JSON has no infinity: a link without confidence is hard.
    return values if math.isinf(link.confidence) else {**values, "confidence": link.confidence}


def _link_from(values: Any) -> Link:
    confidence = float(values.get("confidence", math.inf))
    if values["kind"] not in ANSWERS or not confidence > 0:
        raise ValueError(f"{values} is no link")
    return Link(_pair_from(values["pair"]), values["kind"], confidence)


def _pair_from(values: Any) -> Pair:
    first, second = values
    if not (isinstance(first, int) and isinstance(second, int)):
        raise ValueError(f"{values} is no pair of rows")
    return first, second


def _action_values(action: Action) -> dict[str, Any]:
    return {"action": type(action).__name__.lower(), **asdict(action)}


def _action_from(values: Any) -> Action:
    kind = values["action"]
    if kind == "setting":
        return Setting(_settings_from(values["settings"]))
    if kind == "move":
        return Move(*_pair_from((values["row"], values["beside"])))
    pairs = tuple(map(_pair_from, values["pairs"]))
    if kind == "removal":
        return Removal(pairs)
    if kind != "answer" or values.get("guess") not in (None, TOGETHER, APART):
        raise ValueError(f"{values} is no action")
    return Answer(pairs, values["kind"], values.get("guess"))


def _settings_from(values: Any) -> Settings:
    settings = Settings(**values)
    whole = (settings.n_clusters, settings.random_state)
    if not all(isinstance(value, int) for value in whole) or not isinstance(settings.standardize, bool):
        raise ValueError(f"{values} are no settings")
    return replace(
        settings,
        features=tuple(map(str, settings.features)),
        size_min=read_size(settings.size_min),
        size_max=read_size(settings.size_max),
        previous=None if settings.previous is None else tuple(map(int, settings.previous)),
    )
