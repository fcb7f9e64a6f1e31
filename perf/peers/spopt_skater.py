"""Time SKATER of spopt on the map of `perf/regions.py`; prints one JSON line."""

import json
import sys
import time
import warnings
from pathlib import Path

import geopandas
import libpysal
import numpy as np
from shapely.geometry import box
from sklearn.metrics.pairwise import euclidean_distances
from spopt.region import Skater

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from region_cases import N_REGIONS, SIDE, SIZE_MIN, attributes


def main() -> None:
    """Print the labels and CPU seconds."""
    warnings.simplefilter("ignore")
    names = ["a", "b", "c"]
    areas = [box(column, row, column + 1, row + 1) for row in range(SIDE) for column in range(SIDE)]
    frame = geopandas.GeoDataFrame(dict(zip(names, attributes().T, strict=True)), geometry=areas)
    weights = libpysal.weights.lat2W(SIDE, SIDE)
    ways = {"dissimilarity": euclidean_distances, "affinity": None, "reduction": np.sum, "center": np.mean}
    begin = time.process_time()
    model = Skater(frame, weights, names, n_clusters=N_REGIONS, floor=SIZE_MIN, spanning_forest_kwds=ways)
    model.solve()
    seconds = time.process_time() - begin
    print(json.dumps({"labels": [int(label) for label in model.labels_], "cpu_seconds": seconds}))


if __name__ == "__main__":
    main()
