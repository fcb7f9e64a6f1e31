"""A fitted method with the preparation of its columns, as a file that `konstrain predict` labels new rows by."""

import copy
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from konstrain.cli.given import Given
from konstrain.cli.results import reading_of
from konstrain.exceptions import FileError
from konstrain.methods import Method
from konstrain.tables.models import Reading, SavedModel, save_model
from konstrain.tables.prepare import fitted_transformer


def refuse_method_without_predict(method: Method) -> None:
    """Raise now if a method could not label new rows later."""
    if not hasattr(method.estimator, "predict"):
        raise FileError(f"{method.name} labels only the rows it was fitted on; leave out --save")


def save_fitted(path: Path, method: Method, model: Any, given: Given) -> None:
    """Write the model and what makes rows of its columns."""
    preparation, columns = given.prepared.preparation, given.prepared.columns
    transformer = preparation.transformer or fitted_transformer(columns, preparation.plan)
    pipeline = Pipeline([("prepare", transformer), ("cluster", _without_callback(model))])
    missing, data = given.prepared.missing, given.options
    decimal, na = reading_of(data)
    reading = Reading(data.id, data.encoding, decimal, tuple(na))
    save_model(path, SavedModel(pipeline, preparation.plan, preparation.features, method.name, missing, reading))


def _without_callback(model: Any) -> Any:
    """A fitted model that no longer tells anyone of its progress: what it told is not part of it."""
    if getattr(model, "callback", None) is None:
        return model
    silent = copy.copy(model)
    silent.callback = None
    return silent
