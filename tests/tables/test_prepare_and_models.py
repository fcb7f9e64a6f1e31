"""Rows made of columns, the same again for new rows, and models in files."""

import os
import pickle
import re
import sys
from itertools import product

import joblib
import numpy as np
import pytest
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from effort import some
from hostile import tampered_archive
from konstrain import ConstrainedKMeans, FileError, InfeasibleError
from konstrain.metrics import mean_silhouette
from konstrain.tables import Columns, plan_columns, prepare
from konstrain.tables.columns import Missing, complete_rows
from konstrain.tables.models import SavedModel, load_model, save_model
from konstrain.tables.plan import ColumnPlan, Kind, TablePlan, plan_places
from konstrain.tables.prepare import fitted_transformer
from konstrain.tables.profile import center_text, profile_clusters, profile_lines
from konstrain.tables.transformers import RADIUS, Days, Kilometres, OneScale


def mixed(n=40):
    rng = np.random.default_rng(1)
    texts = {
        "plan": rng.choice(["free", "gold", "pro"], n).astype(object),
        "day": np.array([f"2024-{m:02d}-01" for m in rng.integers(1, 13, n)], dtype=object),
    }
    return Columns(rng.normal(size=(n, 2)) * [1.0, 500.0], ("age", "income"), texts)


def test_rows_are_numbers_and_days_on_one_scale_and_0_or_1_for_each_value():
    columns = mixed()
    done = prepare(columns, plan_columns(columns))
    assert done.features == ("age", "income", "day", "plan=free", "plan=gold", "plan=pro")
    np.testing.assert_allclose(done.X[:, :3].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(done.X[:, :3].std(axis=0), 1.0)
    assert (done.X[:, 3:].sum(axis=1) == 1.0).all()
    is_gold = np.array([value == "gold" for value in columns.texts["plan"]])
    np.testing.assert_array_equal(done.X[:, 4], is_gold)


def test_plain_numbers_are_not_copied():
    columns = Columns(np.random.default_rng(0).random((5, 2)), ("a", "b"), {})
    assert prepare(columns, plan_columns(columns)).X is columns.X


def test_missing_values_become_the_median_and_the_commonest_text():
    columns = mixed()
    columns.X[3, 0] = np.nan
    columns.texts["plan"][5] = None
    done = prepare(columns, plan_columns(columns))
    scaled = OneScale().fit(np.nan_to_num(columns.X[:, :1], nan=np.nanmedian(columns.X[:, 0])))
    np.testing.assert_allclose(done.X[3, 0], scaled.transform([[np.nanmedian(columns.X[:, 0])]])[0, 0])
    known = [value for value in columns.texts["plan"] if value is not None]
    commonest = max(sorted(set(known)), key=known.count)
    assert done.X[5, done.features.index(f"plan={commonest}")] == 1.0


def test_missing_values_are_counted_per_column_with_the_ways_out():
    columns = mixed()
    columns.X[[3, 4], 0] = np.nan
    columns.texts["plan"][4] = None
    words = (
        r"values are missing in 2 of 40 rows, first in row 3; 'age' 2, 'plan' 1; --missing drop .*--missing median"
    )
    with pytest.raises(FileError, match=words):
        complete_rows("t.csv", columns, ["age", "plan"], {}, Missing.ERROR)
    kept = complete_rows("t.csv", columns, ["age", "plan"], {"need": np.array([np.nan] + [1.0] * 39)}, Missing.DROP)
    assert np.flatnonzero(~kept).tolist() == [0, 3, 4]
    assert complete_rows("t.csv", columns, ["income"], {}, Missing.ERROR) is None
    with pytest.raises(FileError, match="row 0, column 'need' has no value"):
        complete_rows("t.csv", columns, ["income"], {"need": np.array([np.nan] * 40)}, Missing.MEDIAN)


def saved(columns, **params):
    plan = plan_columns(columns)
    done = prepare(columns, plan)
    estimator = ConstrainedKMeans(3, random_state=0, **params).fit(done.X)
    pipeline = Pipeline([("prepare", done.transformer), ("cluster", estimator)])
    return done, SavedModel(pipeline, plan, done.features, "constrained-kmeans")


@pytest.mark.parametrize("ending", [".skops", ".joblib"])
def test_a_saved_model_labels_rows_as_the_fit_did(tmp_path, ending):
    if ending == ".skops":
        pytest.importorskip("skops")
    columns = mixed()
    done, model = saved(columns)
    save_model(tmp_path / f"m{ending}", model)
    again = load_model(tmp_path / f"m{ending}", trust=ending == ".joblib")
    np.testing.assert_allclose(again.rows_of(columns), done.X)
    np.testing.assert_array_equal(again.estimator.predict(again.rows_of(columns)), model.estimator.labels_)
    assert again.plan.columns == model.plan.columns
    assert again.unseen(columns) == {}
    columns.texts["plan"][0] = "vip"
    assert again.unseen(columns) == {"plan": {"vip"}}


def test_plain_numbers_are_prepared_alike_for_new_rows(tmp_path):
    columns = Columns(np.random.default_rng(0).random((30, 2)), ("a", "b"), {})
    plan = plan_columns(columns)
    np.testing.assert_array_equal(fitted_transformer(columns, plan).transform(columns.frame(plan.names)), columns.X)


class Bomb:
    """A pickle of this would write a file when it is opened."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_is_not_opened_unless_it_is_trusted(tmp_path):
    joblib.dump({"format": Bomb(tmp_path / "boom")}, tmp_path / "m.joblib")
    with pytest.raises(FileError, match=r"is a pickle: opening it may run any program; .*--trust"):
        load_model(tmp_path / "m.joblib")
    assert not (tmp_path / "boom").exists()
    (tmp_path / "m.skops").write_bytes(pickle.dumps(Bomb(tmp_path / "boom")))
    pytest.importorskip("skops")
    with pytest.raises(FileError, match="is damaged, or is no model"):
        load_model(tmp_path / "m.skops")
    assert not (tmp_path / "boom").exists()


def test_functions_in_a_safe_file_are_refused_by_name(tmp_path):
    skops = pytest.importorskip("skops.io")
    skops.dump({"pipeline": FunctionTransformer(np.savetxt)}, tmp_path / "m.skops")
    with pytest.raises(FileError, match=r"m.skops holds numpy.savetxt, which no model needs; .*--trust"):
        load_model(tmp_path / "m.skops")
    skops.dump({"pipeline": FunctionTransformer(save_model)}, tmp_path / "m.skops")
    with pytest.raises(FileError, match=r"m.skops holds konstrain.tables.models.save_model"):
        load_model(tmp_path / "m.skops")


def test_files_that_are_no_models_are_refused(tmp_path):
    joblib.dump([1, 2], tmp_path / "m.joblib")
    with pytest.raises(FileError, match="is no model of konstrain"):
        load_model(tmp_path / "m.joblib", trust=True)
    with pytest.raises(FileError, match=r"should end in \.skops, \.joblib"):
        load_model(tmp_path / "m.pkl")
    with pytest.raises(FileError, match=r"cannot read .*none.joblib"):
        load_model(tmp_path / "none.joblib", trust=True)


def test_days_that_tell_none_are_missing():
    found = Days(["%d.%m.%Y"]).fit_transform(
        np.array([["01.01.1970"], ["02.01.1970"], ["soon"], [None]], dtype=object)
    )
    np.testing.assert_array_equal(found[:, 0], [0.0, 1.0, np.nan, np.nan])


def test_a_profile_has_means_in_units_of_the_table_and_the_row_nearest_to_the_center():
    columns = mixed()
    plan = plan_columns(columns)
    labels = (columns.number("income") > 0).astype(int)
    distances = np.arange(40.0)[::-1].copy()
    low, high = profile_clusters(columns, plan, labels, 2, distances)
    assert high.typical == int(np.flatnonzero(labels).max())
    assert high.traits[0].column == "income"
    income = columns.number("income")
    np.testing.assert_allclose(high.traits[0].mean, income[labels == 1].mean())
    np.testing.assert_allclose(high.traits[0].difference, (income[labels == 1].mean() - income.mean()) / income.std())
    assert [trait.column for trait in low.center] == ["age", "income", "plan", "day"]
    lines = list(profile_lines([low, high], lambda row: f"row {row}"))
    assert f"typical: row {high.typical}" in lines[2]


def test_the_silhouette_is_that_of_scikit_learn():
    from sklearn.metrics import silhouette_score

    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(60, 3)) + 5e3, rng.integers(0, 4, 60)
    labels[0] = 9  # alone in its cluster
    np.testing.assert_allclose(mean_silhouette(X, labels), silhouette_score(X, labels), rtol=1e-7)
    assert mean_silhouette(X, np.zeros(60, dtype=int)) is None
    assert mean_silhouette(X, np.arange(60)) is None


def test_numbers_on_one_scale_are_the_same_with_and_without_a_transformer():
    columns = Columns(np.random.default_rng(0).random((30, 2)) * [1.0, 900.0], ("a", "b"), {})
    plan = plan_columns(columns)
    assert plan.scaled
    np.testing.assert_array_equal(
        fitted_transformer(columns, plan).transform(columns.frame(plan.names)), prepare(columns, plan).X
    )


@pytest.mark.parametrize(
    ("key", "how"),
    some(
        product(
            ["columns", "features", "scaled", "method", "missing", "pipeline"],
            ["removed", "a number", "an empty list"],
        )
    ),
)
def test_an_edited_model_is_damaged(tmp_path, key, how):
    skops = pytest.importorskip("skops.io")
    save_model(tmp_path / "m.skops", saved(mixed())[1])
    contents = skops.load(tmp_path / "m.skops", trusted=skops.get_untrusted_types(file=tmp_path / "m.skops"))
    if how == "removed":
        del contents[key]
    else:
        contents[key] = 7 if how == "number" else []
    skops.dump(contents, tmp_path / "m.skops")
    if (key, how) in {
        ("method", "number"),
        ("method", "empty"),
        ("scaled", "number"),
        ("scaled", "empty"),
    }:
        load_model(tmp_path / "m.skops")  # what new rows do not depend on
        return
    with pytest.raises(FileError, match=r"m.skops is damaged, or is no model of konstrain; save it again"):
        load_model(tmp_path / "m.skops")


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["centers", "spread", "median"])
def test_a_model_whose_numbers_are_not_finite_is_damaged(tmp_path, part, value):
    _, model = saved(mixed())
    numbers = model.pipeline["prepare"].named_transformers_["numbers"]
    array = {
        "centers": model.estimator.cluster_centers_,
        "spread": numbers["onescale"].mean_,
        "median": numbers["simpleimputer"].statistics_,
    }[part]
    array[..., 0] = value
    save_model(tmp_path / "m.joblib", model)
    with pytest.raises(FileError, match="is damaged, or is no model of konstrain"):
        load_model(tmp_path / "m.joblib", trust=True)


def test_a_model_with_too_few_centers_or_features_is_damaged(tmp_path):
    for change in (
        lambda model: setattr(model.estimator, "cluster_centers_", np.zeros((3, 2))),
        lambda model: setattr(model.estimator, "cluster_centers_", None),
        lambda model: setattr(model.estimator, "time_limit", "soon"),
        lambda model: setattr(model.pipeline["prepare"], "transformers_", []),
        lambda model: model.pipeline.steps.pop(),
    ):
        _, model = saved(mixed())
        change(model)
        save_model(tmp_path / "m.joblib", model)
        with pytest.raises(FileError, match="is damaged, or is no model of konstrain"):
            load_model(tmp_path / "m.joblib", trust=True)


def test_a_model_from_a_pipe_or_a_device_is_refused(tmp_path):
    os.mkfifo(tmp_path / "m.joblib")
    (tmp_path / "zero.joblib").symlink_to("/dev/zero")
    for name in ("m.joblib", "zero.joblib"):
        with pytest.raises(FileError, match="is a pipe or a device"):
            load_model(tmp_path / name, trust=True)


@pytest.mark.parametrize("frame", ["polars", "pandas"])
def test_a_model_fitted_with_frames_keeps_plain_arrays(tmp_path, frame):
    skops = pytest.importorskip("skops.io")
    make = pytest.importorskip(frame).DataFrame
    columns = Columns(np.random.default_rng(0).random((30, 2)), ("a", "b"), {})
    plan = plan_columns(columns)
    given = {
        "demand": make({"volume": np.ones(30), "stops": np.arange(30.0)}),
        "must_link": make({"a": [0, 1], "b": [5, 7], "confidence": [0.5, 1.0]}),
        "category": make({"sex": ["F", "M"] * 15}),
        "sample_weight": make({"w": np.ones(30)})["w"],
    }
    bounds = {"size_max": [20, 400], "share_min": {"F": 0.2}}
    fitted = ConstrainedKMeans(3, **bounds, random_state=0).fit(columns.X, **given)
    assert fitted.certify(columns.X, time_limit=1).cost == pytest.approx(fitted.objective_)
    pipeline = Pipeline([("prepare", fitted_transformer(columns, plan)), ("cluster", fitted)])
    save_model(tmp_path / "m.skops", SavedModel(pipeline, plan, ("a", "b"), "constrained-kmeans"))
    assert not [name for name in skops.get_untrusted_types(file=tmp_path / "m.skops") if frame in name]
    np.testing.assert_array_equal(
        load_model(tmp_path / "m.skops").estimator.cluster_centers_, fitted.cluster_centers_
    )


def test_profiles_of_numbers_near_the_largest_are_finite():
    columns = Columns(np.array([[1.0e308], [1.2e308], [1.5e308], [1.7e308]]), ("x",), {})
    plan = plan_columns(columns)
    profiles = profile_clusters(columns, plan, np.array([0, 0, 1, 1]), 2, np.zeros(4))
    np.testing.assert_allclose([profile.center[0].mean for profile in profiles], [1.1e308, 1.6e308])
    assert all(np.isfinite(profile.traits[0].difference) for profile in profiles)


def haversine(first, second):
    """Distance on a sphere, by the textbook."""
    (a, b), (c, d) = np.radians(first), np.radians(second)
    h = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    return 2 * RADIUS * np.arcsin(np.sqrt(h))


@pytest.mark.parametrize(
    "middle", [(52.4, 9.7), (-17.7, 179.9), (70.0, 25.0)], ids=["Hannover", "Fiji", "North Cape"]
)
def test_kilometres_between_places_are_those_on_the_earth(middle):
    rng = np.random.default_rng(0)
    degrees = rng.uniform(-4, 4, (30, 2)) / [1, np.cos(np.radians(middle[0]))] + middle
    # Beyond the date line longitudes begin again.
    degrees[:, 1] = (degrees[:, 1] + 180) % 360 - 180
    flat = Kilometres().fit_transform(degrees)
    for a, b in rng.permutation(30).reshape(-1, 2):
        assert np.linalg.norm(flat[a] - flat[b]) == pytest.approx(haversine(degrees[a], degrees[b]), rel=2e-3)
    north, east = np.argmax(degrees[:, 0]), np.argmax(flat[:, 0])
    assert flat[north, 1] > 0 < flat[east, 0]


def test_places_too_far_apart_for_a_flat_map_are_told():
    columns = Columns(np.array([[70.0, 25.0], [36.0, -5.0], [38.0, 24.0]]), ("lat", "lon"), {})
    told = plan_places(columns, ("lat", "lon")).notes
    assert "distances in kilometres" in told[0]
    assert "up to 2,458 km" in told[1]
    assert "too long" in told[1]


def test_a_column_that_a_cluster_has_no_value_in_is_unknown_there():
    texts = {
        "day": np.array(["2024-01-01", "2024-01-03", None, None], dtype=object),
        "plan": np.array(["gold", "gold", None, None], dtype=object),
    }
    columns = Columns(np.array([[1.0, 5.0], [2.0, 5.0], [30.0, np.nan], [31.0, np.nan]]), ("a", "b"), texts)
    kinds = {"a": Kind.NUMBER, "b": Kind.NUMBER, "day": Kind.DATE, "plan": Kind.CATEGORY}
    plan = TablePlan(tuple(ColumnPlan(name, kind, "iso") for name, kind in kinds.items()), scaled=False)
    first, second = profile_clusters(columns, plan, np.array([0, 0, 1, 1]), 2, np.zeros(4))
    assert [center_text(trait) for trait in first.center] == ["1.5", "5", "2024-01-02", "gold 100%"]
    assert [center_text(trait) for trait in second.center] == ["30.5", "unknown", "unknown", "unknown"]
    assert [trait.column for trait in second.traits] == ["a"]


def test_work_per_column_is_a_few_calls():
    columns = Columns(np.random.default_rng(0).normal(size=(5, 2_000)), tuple(f"c{i}" for i in range(2_000)), {})
    calls = 0

    def count(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        plan = plan_columns(columns, standardize=True)
        complete_rows("table", columns, plan.names, {}, Missing.ERROR)
        prepare(columns, plan)
        profiles = profile_clusters(columns, plan, np.array([0, 0, 1, 1, 1]), 2, np.zeros(5))
        [profile.to_dict() for profile in profiles]
    finally:
        sys.setprofile(None)
    assert calls < 50 * 2_000


ROWS = 24
SEX = np.array(list("FM" * (ROWS // 2)))
# Parameters of a model, and what its rows bring.
MODELS = {
    "plain": ({}, {}),
    "sizes": ({"size_min": 4, "size_max": [9, 9, 20]}, {}),
    "links": ({"violation_cost": 1.0}, {"must_link": [(0, 1, 0.9), (2, 3, 0.5)], "cannot_link": [(4, 5)]}),
    "demand": ({"size_max": [100.0, 90.0, 80.0]}, {"demand": np.arange(1.0, ROWS + 1) / 2}),
    "shares": ({"share_min": {"F": 0.2}}, {"category": SEX}),
    "resources": ({"size_max": [[15.0, 20.0]] * 3}, {"demand": np.column_stack([np.ones(ROWS), 1.0 + (SEX == "F")])}),
    "table": ({}, {}),
}


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("kind", MODELS)
def test_a_model_with_anything_changed_is_damaged_or_labels_rows_soundly(tmp_path, kind, seed):
    pytest.importorskip("skops")
    path, rng = tmp_path / "m.skops", np.random.default_rng([seed, len(kind)])
    columns = mixed(ROWS)
    if kind != "table":
        columns = Columns(columns.X, columns.numbers, {})
    params, given = MODELS[kind]
    plan = plan_columns(columns)
    done = prepare(columns, plan)
    fitted = ConstrainedKMeans(3, random_state=0, **params).fit(done.X, **given)
    pipeline = Pipeline([("prepare", fitted_transformer(columns, plan)), ("cluster", fitted)])
    save_model(path, SavedModel(pipeline, plan, done.features, "constrained-kmeans"))
    data, n_read = path.read_bytes(), 0
    for _ in range(30):
        content, how = tampered_archive(rng, data)
        path.write_bytes(content)
        try:
            model = load_model(path)
            rows = model.rows_of(columns)
            assert not any(model.unseen(columns).values()) or kind == "table", how
            labels = model.estimator.predict(rows, **given)
        except InfeasibleError:
            continue  # fewer clusters, or narrower bounds
        except FileError as error:
            if re.search("is damaged|is no model|which no model needs", str(error)) is None:
                raise
            continue
        n_read += 1
        assert np.isfinite(rows).all(), how
        assert labels.shape == (ROWS,), how
        assert set(labels) <= set(range(len(model.estimator.cluster_centers_))), how
    assert n_read < 30
