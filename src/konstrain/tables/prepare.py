"""From the columns of a table to rows of numbers, by a scikit-learn transformer that does the same to new rows."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from konstrain.tables.columns import Columns
from konstrain.tables.plan import Kind, TablePlan
from konstrain.tables.transformers import Days

if TYPE_CHECKING:
    from sklearn.compose import ColumnTransformer

_NUMBERS, _DATES, _PLACES, _CATEGORIES = "numbers", "dates", "places", "categories"


@dataclass(frozen=True, eq=False)
class Preparation:
    """A plan carried out: the rows as they are clustered."""

    plan: TablePlan  # What became of each column.
    # What did it, fitted; None where there are only numbers and none is missing.
    transformer: "ColumnTransformer | None"
    X: NDArray[Any]  # (n_samples, n_features): the rows.
    features: tuple[str, ...]  # What its columns are called: ``age``, ``plan=gold``.


def prepare(columns: Columns, plan: TablePlan) -> Preparation:
    """Carry out a plan."""
    if plan.names == plan.of_kind(Kind.NUMBER):
        chosen = columns.X
        if plan.names != list(columns.numbers):
            chosen = columns.select(plan.names)
        if not np.isnan(chosen).any():
            # Numbers alone need no transformer, which takes long to import; one that is saved does the same to them.
            return Preparation(plan, None, _scaled(chosen) if plan.scaled else chosen, tuple(plan.names))
    transformer = fitted_transformer(columns, plan)
    X = transformed(transformer, columns, plan)
    return Preparation(plan, transformer, X, _features(transformer, plan))


def _scaled(X: NDArray[Any]) -> NDArray[Any]:
    from konstrain.tables.transformers import OneScale

    return OneScale().fit(X).transform(X)


def fitted_transformer(columns: Columns, plan: TablePlan) -> "ColumnTransformer":
    """Return the transformer of a plan, fitted to the columns; missing values become medians, or commonest texts."""
    # Imported here: plain numbers need none of it, and it takes a while.
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    from konstrain.tables.transformers import Kilometres, OneScale

    scale = [OneScale()] if plan.scaled else []
    formats = [column.format for column in plan.columns if column.kind == Kind.DATE]
    parts = [
        (_NUMBERS, [SimpleImputer(strategy="median"), *scale], plan.of_kind(Kind.NUMBER)),
        (_DATES, [Days(formats), SimpleImputer(strategy="median"), *scale], plan.of_kind(Kind.DATE)),
        (_PLACES, [SimpleImputer(strategy="median"), Kilometres()], plan.of_kind(Kind.PLACE)),
        (
            _CATEGORIES,
            [
                SimpleImputer(missing_values=None, strategy="most_frequent"),
                OneHotEncoder(sparse_output=False, handle_unknown="ignore"),
            ],
            plan.of_kind(Kind.CATEGORY),
        ),
    ]
    transformer = ColumnTransformer(
        [(name, make_pipeline(*steps), names) for name, steps, names in parts if names], sparse_threshold=0.0
    )
    return transformer.fit(columns.frame(plan.names))


def transformed(transformer: "ColumnTransformer", columns: Columns, plan: TablePlan) -> NDArray[np.float64]:
    """Return the rows that a fitted transformer makes of columns."""
    return np.ascontiguousarray(transformer.transform(columns.frame(plan.names)), dtype=np.float64)


def _features(transformer: "ColumnTransformer", plan: TablePlan) -> tuple[str, ...]:
    from konstrain.tables.transformers import PLACE_FEATURES

    names = [*plan.of_kind(Kind.NUMBER), *plan.of_kind(Kind.DATE)]
    names += PLACE_FEATURES if plan.of_kind(Kind.PLACE) else ()
    for name, values in categories_of(transformer, plan).items():
        names += [f"{name}={value}" for value in values]
    return tuple(names)


def categories_of(transformer: "ColumnTransformer | None", plan: TablePlan) -> dict[str, list[str]]:
    """The values of each column of categories that the transformer has seen."""
    if transformer is None or not plan.of_kind(Kind.CATEGORY):
        return {}
    encoder = transformer.named_transformers_[_CATEGORIES][-1]
    return dict(zip(plan.of_kind(Kind.CATEGORY), (values.tolist() for values in encoder.categories_), strict=True))
