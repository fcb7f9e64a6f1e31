"""Time one method of spopt or GerryChain on units with populations: ``region_methods.py METHOD FILE``.

FILE is an ``.npz`` with positions, populations, pairs of neighbours, the number of regions and how far populations
may be from an equal part. Prints one JSON line: labels and CPU seconds.
"""

import json
import random
import sys
import time
import warnings
from functools import partial

import numpy as np

RECOM_STEPS = 1_000


def frame_and_weights(given):
    """Return the units as spopt wants them: a frame of points, and weights of neighbours."""
    import geopandas
    import libpysal

    people = given["people"]
    table = {"x": given["places"][:, 0], "y": given["places"][:, 1], "people": people}
    frame = geopandas.GeoDataFrame(table, geometry=geopandas.points_from_xy(table["x"], table["y"]))
    lists = {i: [] for i in range(len(people))}
    for a, b in given["edges"]:
        lists[int(a)].append(int(b))
        lists[int(b)].append(int(a))
    return frame, libpysal.weights.W(lists, silence_warnings=True)


def skater(given, k):
    """SKATER; its floor counts units."""
    from spopt.region import Skater

    frame, weights = frame_and_weights(given)
    model = Skater(frame, weights, ["x", "y"], n_clusters=k, floor=int(0.75 * len(frame) / k))
    model.solve()
    return model.labels_


def maxp(given, k):
    """max-p with the least population that we keep; it finds the number of regions."""
    from spopt.region import MaxPHeuristic

    frame, weights = frame_and_weights(given)
    least = (1 - float(given["tolerance"])) * given["people"].sum() / k
    model = MaxPHeuristic(frame, weights, ["x", "y"], "people", least, top_n=2)
    model.solve()
    return model.labels_


def azp(given, k):
    """AZP, which bounds nothing."""
    from spopt.region import AZP

    frame, weights = frame_and_weights(given)
    model = AZP(frame, weights, ["x", "y"], n_clusters=k, random_state=0)
    model.solve()
    return model.labels_


def recom(given, k):
    """GerryChain's ReCom by short bursts that lower the weighted sum of squares."""
    import networkx
    from gerrychain import Graph, Partition
    from gerrychain.constraints import within_percent_of_ideal_population
    from gerrychain.optimization import SingleMetricOptimizer
    from gerrychain.proposals import recom as propose
    from gerrychain.tree import recursive_tree_part
    from gerrychain.updaters import Tally

    random.seed(0)
    places, people = given["places"], given["people"].astype(float)
    made = networkx.Graph()
    for i in range(len(people)):
        made.add_node(i, people=people[i], x=people[i] * places[i, 0], y=people[i] * places[i, 1])
    made.add_edges_from((int(a), int(b)) for a, b in given["edges"])
    graph = Graph.from_networkx(made)
    equal, tolerance = people.sum() / k, float(given["tolerance"])
    squares = float((people * (places**2).sum(axis=1)).sum())
    tallies = {name: Tally(name, alias=name) for name in ("people", "x", "y")}

    def cost(partition):
        return squares - sum(
            (partition["x"][part] ** 2 + partition["y"][part] ** 2) / partition["people"][part]
            for part in partition.parts
        )

    first = recursive_tree_part(graph, range(k), equal, "people", tolerance)
    start = Partition(graph, first, {**tallies, "population": Tally("people", alias="population")})
    search = SingleMetricOptimizer(
        partial(propose, pop_col="people", pop_target=equal, epsilon=tolerance, node_repeats=2),
        [within_percent_of_ideal_population(start, tolerance)],
        start,
        cost,
        maximize=False,
    )
    for _ in search.short_bursts(10, RECOM_STEPS // 10):
        pass
    best = search.best_part
    return [best.assignment.mapping[i] if hasattr(best.assignment, "mapping") else best.assignment[i] for i in made]


def main() -> None:
    """Print labels and CPU seconds."""
    warnings.simplefilter("ignore")
    method, path = sys.argv[1:]
    given = np.load(path)
    begin = time.process_time()
    labels = {"skater": skater, "maxp": maxp, "azp": azp, "recom": recom}[method](given, int(given["k"]))
    seconds = time.process_time() - begin
    print(json.dumps({"labels": [int(label) for label in labels], "cpu_seconds": seconds}))


if __name__ == "__main__":
    main()
