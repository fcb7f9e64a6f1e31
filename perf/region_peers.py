"""Set connected regions beside spopt and GerryChain: ``python perf/region_peers.py PYTHON --data FOLDER``.

PYTHON runs an environment with ``pip install spopt gerrychain geopandas``; FOLDER has tracts and counties of states
(``OK_tract_nodes.csv.gz`` ...). Population within 0.5% of equal (counties: 5%) for ours, for others what they know of
it. Printed per method: regions, weighted sum of squares, populations relative to an equal part, pieces, CPU seconds.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from konstrain import ConstrainedKMeans
from konstrain.constraints.connectivity import count_pieces, read_connectivity
from timing import HERE

CASES = (("OK", "county", 5, 0.05), ("OK", "tract", 5, 0.005))
METHODS = {"skater": "spopt, SKATER", "maxp": "spopt, max-p", "azp": "spopt, AZP", "recom": "GerryChain, ReCom"}
SECONDS = 150.0


def read(folder: Path, state: str, unit: str) -> dict[str, np.ndarray]:
    """Positions in kilometres, populations and pairs of neighbours."""
    nodes, edges = (pl.read_csv(folder / f"{state}_{unit}_{what}.csv.gz") for what in ("nodes", "edges"))
    return {
        "places": nodes.select("x_km", "y_km").to_numpy().astype(float),
        "people": nodes["population"].to_numpy().astype(float),
        "edges": edges.to_numpy().astype(np.int64),
    }


def line(name: str, given: dict[str, np.ndarray], labels: np.ndarray, seconds: float) -> str:
    """One row of the table."""
    places, people = given["places"], given["people"]
    names, codes = np.unique(labels, return_inverse=True)
    loads = np.bincount(codes, people)
    means = np.column_stack([np.bincount(codes, people * column) for column in places.T]) / loads[:, None]
    cost = float(people @ ((places - means[codes]) ** 2).sum(axis=1)) / 1e6
    pieces = int(
        count_pieces(read_connectivity(given["edges"], len(people)), codes.astype(np.int32), names.size).sum()
    )
    share = loads / loads.mean()
    return (
        f"| {name} | {names.size} | {cost:,.0f} | {share.min():.3f} to {share.max():.3f} | {pieces} | {seconds:.1f} |"
    )


def theirs(
    python: str, method: str, given: dict[str, np.ndarray], k: int, tolerance: float
) -> tuple[np.ndarray, float]:
    """Labels and seconds of a peer, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "units.npz"
        np.savez(path, k=k, tolerance=tolerance, **given)
        command = [python, str(HERE / "peers" / "region_methods.py"), method, str(path)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS)
    told = json.loads(done.stdout.splitlines()[-1])
    return np.array(told["labels"]), told["cpu_seconds"]


def ours(given: dict[str, np.ndarray], k: int, tolerance: float) -> tuple[np.ndarray, float]:
    """Labels and seconds of a default fit."""
    people = given["people"]
    begin = time.process_time()
    model = ConstrainedKMeans(k, size_tolerance=tolerance, random_state=0)
    model.fit(given["places"], demand=people, sample_weight=people, connectivity=given["edges"])
    return model.labels_, time.process_time() - begin


def main() -> None:
    """Print a table per case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("python", help="an interpreter with spopt and gerrychain")
    parser.add_argument("--data", type=Path, required=True, help="folder of nodes and edges")
    options = parser.parse_args()
    for state, unit, k, tolerance in CASES:
        given = read(options.data, state, unit)
        print(f"\n{state}, {len(given['people']):,} units ({unit}), k={k}\n")
        print("| method | regions | sum of squares | population / equal part | pieces | CPU s |")
        print("|---|---|---|---|---|---|")
        print(line(f"konstrain, within {tolerance:.1%}", given, *ours(given, k, tolerance)), flush=True)
        for method, name in METHODS.items():
            try:
                print(line(name, given, *theirs(options.python, method, given, k, tolerance)), flush=True)
            except subprocess.TimeoutExpired:
                print(f"| {name} | | not ended | | | {SECONDS:.0f} |", flush=True)
            except subprocess.CalledProcessError as error:
                print(f"| {name} | | {error.stderr.strip().splitlines()[-1][:80]} | | | |", flush=True)


if __name__ == "__main__":
    main()
