"""Sizes as people say them: within 10% of equal, 12% of all, by the name of a resource."""

import dask.array as da
import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose

import konstrain.dask
from command_line import konstrain as run
from effort import examples
from konstrain import BCKMeans, ConstrainedKMeans, ExactKMeans, certify, check, describe
from konstrain.choosing import choose_n_clusters
from konstrain.constraints.arguments import ConstraintArguments, Constraints

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2))
DEMAND = pl.DataFrame({"revenue": RNG.uniform(1.0, 3.0, 60), "clients": RNG.integers(1, 9, 60).astype(float)})
TOTALS = DEMAND.to_numpy().sum(axis=0)


def read(n, k, **asked):
    return Constraints.read(n, k, ConstraintArguments(**asked))


@pytest.mark.parametrize(
    ("n", "k", "tolerance", "low", "high"),
    [
        (100, 4, 0.1, 23, 27),  # 22.5 to 27.5
        (100, 4, "10%", 23, 27),
        (100, 4, 0, 25, 25),
        (100, 3, 0.0, 33, 34),  # no equal parts: they differ by one
        (100, 3, 0.001, 33, 34),
        (7, 3, 1.0, 0, 4),
    ],
)
def test_a_tolerance_bounds_sizes_around_equal_parts(n, k, tolerance, low, high):
    bounds = read(n, k, size_tolerance=tolerance)
    assert max(0, bounds.size_min[0]) == low
    assert bounds.size_max[0] == high


@pytest.mark.parametrize("seed", range(examples(50)))
def test_sizes_within_any_tolerance_are_feasible(seed):
    draw = np.random.default_rng(seed)
    n, k = int(draw.integers(1, 50)), int(draw.integers(1, 8))
    tolerance = float(draw.choice([0.0, 1e-9, 0.01, 0.3]))
    assert check(max(n, k), k, size_tolerance=tolerance).feasible


def test_a_tolerance_holds_for_demand_and_for_each_resource():
    revenue = DEMAND["revenue"].to_numpy()
    one = ConstrainedKMeans(4, size_tolerance=0.05, random_state=0).fit(X, demand=revenue)
    assert_allclose(one.cluster_sizes_, revenue.sum() / 4, rtol=0.05)
    both = ConstrainedKMeans(2, size_tolerance="4%", random_state=0).fit(X, demand=DEMAND)
    assert_allclose(both.cluster_sizes_, np.tile(TOTALS / 2, (2, 1)), rtol=0.04)


def test_the_stricter_of_a_tolerance_and_a_size_counts():
    bounds = read(100, 4, size_tolerance=0.2, size_min=[10, 22, 10, 10], size_max=26)
    assert bounds.size_min.tolist() == [20, 22, 20, 20]
    assert bounds.size_max.tolist() == [26] * 4


def test_percentages_are_shares_of_rows_or_of_demand():
    assert read(50, 4, size_max="30%").size_max.tolist() == [15.0] * 4
    assert read(50, 3, size_min=["10%", 4, "0%"]).size_min.tolist() == [5.0, 4.0, 0.0]
    assert read(3, 2, size_max="70%", demand=[1.0, 4.0, 5.0]).size_max.tolist() == [7.0, 7.0]
    bounds = read(60, 3, size_max="40%", demand=DEMAND).amounts
    assert_allclose(bounds.high, np.tile(0.4 * TOTALS, (3, 1)))


def test_bounds_by_resource_are_clear_where_there_are_as_many_clusters():
    with pytest.raises(ValueError, match="could be one per cluster or one per resource"):
        read(60, 2, size_max=[80, 200], demand=DEMAND)
    bounds = read(60, 2, size_max={"clients": "60%"}, size_min={"revenue": 40}, demand=DEMAND).amounts
    assert_allclose(bounds.high, [[np.inf, 0.6 * TOTALS[1]]] * 2)
    assert bounds.low.tolist() == [[40.0, -np.inf]] * 2


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"size_max": "12"}, "size_max '12' is neither a number nor a percentage such as '12%'"),
        ({"size_max": "a%"}, "size_max 'a%' is neither"),
        ({"size_min": [3, "-4%", 2]}, "size_min '-4%' is neither"),
        ({"size_max": {"revenue": 3}}, "size_max is by resource, and demand is no table of several"),
        (
            {"size_max": {"rent": 3}, "demand": DEMAND},
            "names 'rent', but the resources of demand are revenue, clients",
        ),
        ({"size_tolerance": -0.1}, "size_tolerance must be a share such as 0.1 or '10%', from 0 to 1, got -0.1"),
        ({"size_tolerance": 10}, "from 0 to 1, got 10; for 10% give '10%'"),
        ({"size_tolerance": "300%"}, "from 0 to 1, got '300%'"),
        ({"size_max": {"revenue": [3, 4]}, "demand": DEMAND}, r"size_max\['revenue'\] must be one number or one per"),
        ({"size_max": ["10%", "20%", "30%"], "demand": DEMAND}, "size_max has 3 values for 2 resources"),
        ({"size_max": np.array(["10%", "much", "30%"])}, "size_max 'much' is neither"),
        ({"share_min": {"x": "lot"}, "category": ["x", "y"] * 30}, r"share_min\['x'\] 'lot' is neither"),
        ({"share_tolerance": "120%", "category": ["x", "y"] * 30}, "from 0 to below 1, got '120%'"),
        ({"size_tolerance": "ten"}, "size_tolerance 'ten' is neither"),
        ({"size_tolerance": True}, "size_tolerance must be a share"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_value(asked, match):
    with pytest.raises(ValueError, match=match):
        read(60, 3, **asked)


@pytest.mark.parametrize("size", [0.2, [5, 0.2, 5]])
def test_a_size_below_one_row_gets_a_warning_that_names_the_percentage(size):
    with pytest.warns(UserWarning, match="size_min is 0.2, and a size counts rows; for 20% of all rows give '20%'"):
        read(60, 3, size_min=size)


def test_percentages_come_in_arrays_and_by_cluster():
    assert read(50, 3, size_max=np.array(["30%", "40%", "50%"])).size_max.tolist() == [15.0, 20.0, 25.0]
    bounds = read(60, 3, size_max={"clients": ["30%", 90, "50%"], "revenue": 70.0}, demand=DEMAND).amounts
    assert_allclose(bounds.high, [[70.0, 0.3 * TOTALS[1]], [70.0, 90.0], [70.0, 0.5 * TOTALS[1]]])


def test_a_table_of_one_resource_takes_its_name():
    one = DEMAND.select("revenue")
    assert_allclose(read(60, 3, size_max={"revenue": "40%"}, demand=one).size_max, [0.4 * TOTALS[0]] * 3)
    assert read(60, 3, size_max={"revenue": [50, 60, 70]}, demand=one).size_max.tolist() == [50.0, 60.0, 70.0]
    assert choose_n_clusters(X, 2, 5, demand=one, size_max={"revenue": "30%"}).least == 4
    with pytest.raises(ValueError, match="names 'rent', but the resources of demand are revenue"):
        read(60, 3, size_max={"rent": 3}, demand=one)


def test_a_percentage_below_one_row_gets_no_warning_from_the_command_line(folder):
    done = run("fit", "rows.csv", "-k", 3, "--columns", "x,y", "--size-min", "1%", folder=folder)
    assert (done.code, "a size counts rows" in done.err) == (0, False)


def test_shares_and_moves_are_percentages_as_well():
    sex = ["w", "m"] * 30
    words = {"share_min": {"w": "40%"}, "share_max": "60%", "share_tolerance": "20%"}
    numbers = {"share_min": {"w": 0.4}, "share_max": 0.6, "share_tolerance": 0.2}
    fits = [ConstrainedKMeans(3, **asked, random_state=0).fit(X, category=sex) for asked in (words, numbers)]
    np.testing.assert_array_equal(fits[0].labels_, fits[1].labels_)


@pytest.mark.parametrize("most", ["29%", 0.29])
def test_a_share_of_rows_is_rounded_before_it_is_a_number_of_them(most):
    previous = np.repeat([0, 1], 50)
    model = ConstrainedKMeans(2, move_cost=0, max_moved=most, size_max=[21, 100], random_state=0)
    assert model.fit(np.arange(100.0)[:, None], previous=previous).n_moved_ == 29


@pytest.mark.parametrize("method", [ConstrainedKMeans, ExactKMeans, BCKMeans])
def test_every_method_with_sizes_takes_them(method):
    rows = X[:12]
    model = method(3, size_max="50%", size_tolerance=0.25, random_state=0).fit(rows)
    assert model.cluster_sizes_.tolist() == pytest.approx([4, 4, 4], abs=1)


def test_certify_describe_and_choose_take_them():
    labels = ConstrainedKMeans(3, size_tolerance=0, random_state=0).fit(X[:30]).labels_
    assert certify(X[:30], 3, labels=labels, size_tolerance=0, gap=0.5).lower_bound > 0
    assert describe(X[:30], labels, size_tolerance=0.1).size_max == (11.0,) * 3
    assert choose_n_clusters(X, 2, 5, size_max="21%").least == 5
    assert choose_n_clusters(X, 2, 3, size_tolerance="5%").scores
    assert choose_n_clusters(X, 2, 5, demand=DEMAND, size_max={"clients": "30%"}).least == 4


def test_over_partitions_they_are_the_same():
    own = {"random_state": 0, "size_max": "40%", "size_tolerance": 0.1}
    far = konstrain.dask.ConstrainedKMeans(3, **own).fit(da.from_array(X, chunks=(20, 2)))
    assert far.cluster_sizes_.tolist() == pytest.approx([20, 20, 20], abs=2)


@pytest.fixture
def folder(tmp_path):
    pl.DataFrame({"x": X[:, 0], "y": X[:, 1]}).hstack(DEMAND).write_csv(tmp_path / "rows.csv")
    pl.DataFrame({"row": np.arange(60), "label": np.arange(60) % 3}).write_csv(tmp_path / "before.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "held", "within"),
    [
        (("--size-tolerance", "10%"), None, 0.1),
        (("--size-tolerance", "0"), None, 0.0),
        (("--size-max", "35%"), None, 0.05),
        (("--size-max", "35%", "--keep", "before.csv", "--move-cost", "auto"), None, 0.05),
        (("--demand", "revenue", "--size-tolerance", "5%"), "revenue", 0.05),
        (("--demand", "revenue,clients", "--size-max", "clients=36%,revenue=50%"), "clients", 0.08),
    ],
)
def test_the_command_line_takes_them(folder, options, held, within):
    fit = ("fit", "rows.csv", "-k", 3, "--columns", "x,y", *options, "-o", "labels.csv", "--plot", "map.png")
    done = run(*fit, folder=folder)
    assert done.code == 0, done.err
    labels = pl.read_csv(folder / "labels.csv")["label"].to_numpy()
    amounts = np.ones(60) if held is None else DEMAND[held].to_numpy()
    sizes = np.bincount(labels, amounts, minlength=3)
    assert sizes.max() <= (1 + within) * sizes.mean() + 1e-9


def test_the_command_line_reads_shares_as_percentages(folder):
    table = pl.read_csv(folder / "rows.csv").with_columns(pl.Series("sex", ["w", "m"] * 30))
    table.write_csv(folder / "rows.csv")
    shares = ("--category", "sex", "--share-min", "w=40%", "--share-max", "w=60%", "--share-tolerance", "20%")
    done = run("fit", "rows.csv", "-k", 3, "--columns", "x,y", *shares, "-o", "labels.csv", folder=folder)
    assert done.code == 0, done.err
    labels = pl.read_csv(folder / "labels.csv")["label"].to_numpy()
    women = np.bincount(labels, table["sex"].to_numpy() == "w") / np.bincount(labels)
    assert ((women >= 0.4) & (women <= 0.6)).all()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--size-max", "12 percent"), "'12 percent' is neither a number nor"),
        (("--size-max", "revenue=3"), "names are for several columns of --demand"),
        (("--size-tolerance", "much"), "'much' is no share; write 0.1 or 10%"),
    ],
)
def test_the_command_line_refuses_other_words(folder, options, words):
    done = run("fit", "rows.csv", "-k", 3, *options, folder=folder)
    assert done.code == 2
    assert words in " ".join(done.err.split())
