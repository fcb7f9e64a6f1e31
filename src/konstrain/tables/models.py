"""Models in files: the preparation of the columns and the fitted clustering as one scikit-learn pipeline.

A .skops file is opened without running anything it brings; a .joblib file is a pickle, and opening one from a
stranger would run whatever the stranger put there.
"""

import io
from collections.abc import Collection
from dataclasses import asdict, dataclass, is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from konstrain.constraints.inputs import read_time_limit
from konstrain.exceptions import FileError
from konstrain.files.outputs import refuse_unwritable, write_whole
from konstrain.files.sources import refuse_device, refuse_unknown_encoding
from konstrain.tables.columns import Columns, Missing
from konstrain.tables.plan import ColumnPlan, Kind, TablePlan
from konstrain.tables.prepare import categories_of, transformed

ENDINGS = (".skops", ".joblib")
_FORMAT = "konstrain model 1"


@dataclass(frozen=True)
class Reading:
    """How a table was read, as options said: new rows are read so unless options say otherwise."""

    id: str | None = None
    encoding: str | None = None
    decimal: str | None = None
    na: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class SavedModel:
    """What labels new rows as a fit did."""

    pipeline: Pipeline  # Step ``prepare`` makes rows of columns, step ``cluster`` is the fitted method.
    plan: TablePlan  # The columns it takes.
    features: tuple[str, ...]  # What the columns of the rows are called.
    method: str  # The method, as ``konstrain methods`` lists it.
    missing: Missing = Missing.ERROR  # What the fit did about values that were missing.
    reading: Reading = Reading()  # How the table of the fit was read.

    @property
    def estimator(self) -> Any:
        """The fitted method."""
        return self.pipeline["cluster"]

    @property
    def texts(self) -> list[str]:
        """The columns that it takes as text."""
        return [column.name for column in self.plan.columns if column.kind in (Kind.CATEGORY, Kind.DATE)]

    def refuse_other_kinds(self, source: object, texts: Collection[str]) -> None:
        """Raise if a new table holds text where the fit had numbers."""
        for name in texts:
            if name not in self.texts:
                raise FileError(f"{source}: column {name!r} holds no numbers, but did when the model was fitted")

    def rows_of(self, columns: Columns) -> NDArray[np.float64]:
        """Make rows of new columns, as for the fit."""
        return transformed(self.pipeline["prepare"], columns, self.plan)

    def unseen(self, columns: Columns) -> dict[str, set[str]]:
        """Values of categories that the fit never saw, by column."""
        found = {}
        for name, values in categories_of(self.pipeline["prepare"], self.plan).items():
            new = {value for value in columns.texts[name] if value is not None} - set(values)
            if new:
                found[name] = new
        return found


def refuse_unsavable(path: Path) -> None:
    """Raise now if a model could not be saved later."""
    _refuse_unknown_ending(path)
    refuse_unwritable(path)


def save_model(path: str | Path, model: SavedModel) -> None:
    """Write a model, whole or not at all: as .skops (safe to open, needs skops) or .joblib (a pickle)."""
    path = Path(path)
    _refuse_unknown_ending(path)
    contents = {
        "format": _FORMAT,
        "pipeline": model.pipeline,
        "columns": [{**asdict(column), "kind": column.kind.value} for column in model.plan.columns],
        "scaled": model.plan.scaled,
        "features": list(model.features),
        "method": model.method,
        "missing": model.missing.value,
        "reading": {**asdict(model.reading), "na": list(model.reading.na)},
    }
    if path.suffix.lower() == ".skops":
        from skops.io import dumps

        write_whole(path, dumps(contents))
        return
    import joblib

    pickled = io.BytesIO()
    joblib.dump(contents, pickled)
    write_whole(path, pickled.getvalue())


def load_model(path: str | Path, *, trust: bool = False) -> SavedModel:
    """Read a model back; refuse a file that is damaged or no model.

    Without `trust`, pickles and types that are neither scikit-learn's nor konstrain's are refused, as they may run
    any program.
    """
    path = Path(path)
    _refuse_unknown_ending(path)
    try:
        refuse_device(path)
        contents = _load_skops(path, trust) if path.suffix.lower() == ".skops" else _load_pickle(path, trust)
        if not isinstance(contents, dict) or contents.get("format") != _FORMAT:
            raise FileError(f"{path} is no model of konstrain; save one with fit --save")
        return _model_of(contents)
    except FileError:
        raise
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception:
        # Both libraries raise nearly anything for a damaged file, in words about their own insides.
        raise FileError(f"{path} is damaged, or is no model of konstrain; save it again with fit --save") from None


def _model_of(contents: dict[str, Any]) -> SavedModel:
    """Return the model that a file holds; raises nearly anything if it could not label a row."""
    columns = tuple(ColumnPlan(c["name"], Kind(c["kind"]), c["format"]) for c in contents["columns"])
    plan = TablePlan(columns, contents["scaled"])
    reading = contents.get("reading", {})
    reading = Reading(**{**reading, "na": tuple(reading.get("na", ()))})
    refuse_unknown_encoding(reading.encoding)
    model = SavedModel(
        contents["pipeline"],
        plan,
        tuple(contents["features"]),
        contents["method"],
        Missing(contents["missing"]),
        reading,
    )
    read_time_limit(getattr(model.estimator, "time_limit", None))
    _refuse_useless(model)
    return model


def _refuse_useless(model: SavedModel) -> None:
    """Raise if a row without any value, which becomes one of medians, gets no label."""
    texts = {name: np.array([None], dtype=object) for name in model.texts}
    numbers = (*model.plan.of_kind(Kind.NUMBER), *model.plan.of_kind(Kind.PLACE))
    row = model.rows_of(Columns(np.full((1, len(numbers)), np.nan), numbers, texts))
    centers = model.estimator.cluster_centers_
    if row.shape != (1, len(model.features)) or centers.shape[1:] != row.shape[1:]:
        raise ValueError("features, centers and columns do not belong together")
    if not (np.isfinite(row).all() and np.isfinite(centers).all()):
        raise ValueError("numbers of the model are not finite")
    model.estimator.predict(row)


def _load_skops(path: Path, trust: bool) -> Any:
    from skops.io import get_untrusted_types, loads

    data = path.read_bytes()
    unknown = get_untrusted_types(data=data)
    foreign = [name for name in unknown if not _is_ours(name)]
    if foreign and not trust:
        raise FileError(
            f"{path} holds {', '.join(foreign[:3])}, which no model needs; if you made it yourself: --trust"
        )
    return loads(data, trusted=unknown)


def _is_ours(name: str) -> bool:
    """Whether a type is an estimator of konstrain, or a plain record of one: making it runs nothing else."""
    # The second is a plain list of columns, which scikit-learn keeps up to 1.6.
    if name in ("numpy.dtype", "sklearn.compose._column_transformer._RemainderColsList"):
        return True
    module, _, short = name.rpartition(".")
    if not module.startswith("konstrain."):
        return False
    try:
        found = getattr(import_module(module), short, None)
    except ImportError:
        return False
    return isinstance(found, type) and (issubclass(found, BaseEstimator) or is_dataclass(found))


def _load_pickle(path: Path, trust: bool) -> Any:
    if not trust:
        raise FileError(
            f"{path} is a pickle: opening it may run any program; if you made it yourself: --trust; "
            "files that end in .skops are safe to open"
        )
    import joblib

    return joblib.load(path)


def _refuse_unknown_ending(path: Path) -> None:
    if path.suffix.lower() not in ENDINGS:
        raise FileError(f"cannot tell the format of {path} from its name; it should end in {', '.join(ENDINGS)}")
    if path.suffix.lower() == ".skops" and find_spec("skops") is None:
        raise FileError(f"{path} needs skops; install it with: pip install 'konstrain[save]', or save as .joblib")
