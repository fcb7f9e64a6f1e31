"""Fits over a cluster of two workers, one table: ``python perf/dask_fit.py make|fit|peer|overhead|shares ...``.

``make N FOLDER`` writes N rows of 16 features in single precision as Parquet, ``fit FOLDER [GB]`` clusters them
under sizes with two workers of so much memory each, ``peer FOLDER [GB]`` does the same with dask_ml's KMeans, which
keeps no sizes (``pip install dask-ml``), ``overhead`` sets a fit over a cluster beside the same fit in memory, and
``shares FOLDER`` does so under shares of groups, on the sets of the fair clustering comparison (see `shares.py`).
Each prints one line of JSON.
"""

import json
import logging
import sys
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from distributed import Client, LocalCluster

import konstrain
from konstrain.dask import ConstrainedKMeans
from shares import fair_set
from timing import peak_megabytes

N_FEATURES, N_CLUSTERS, N_ITERATIONS = 16, 50, 10
ROWS_PER_FILE = 400_000
FEATURES = [f"f{i}" for i in range(N_FEATURES)]


def blobs(rng: np.random.Generator, n: int, n_features: int, n_blobs: int, seed: int = 0) -> np.ndarray:
    """Overlapping blobs of unequal sizes, so that bounds are in the way."""
    fixed = np.random.default_rng(seed)
    share, middle = fixed.dirichlet(np.full(n_blobs, 1.0)), 2 * fixed.standard_normal((n_blobs, n_features))
    label = rng.choice(n_blobs, n, p=share)
    return (rng.standard_normal((n, n_features)) + middle[label]).astype(np.float32)


def make(n: int, folder: Path) -> None:
    """Write rows with a key, file by file."""
    folder.mkdir(parents=True)
    for number, first in enumerate(range(0, n, ROWS_PER_FILE)):
        size = min(ROWS_PER_FILE, n - first)
        rows = blobs(np.random.default_rng([1, number]), size, N_FEATURES, N_CLUSTERS)
        columns = {"key": np.arange(first, first + size), **dict(zip(FEATURES, rows.T, strict=True))}
        pq.write_table(pa.table(columns), folder / f"part-{number:05}.parquet")


def first_centers() -> np.ndarray:
    """Return the same rows for everyone to start from."""
    return blobs(np.random.default_rng(2), N_CLUSTERS, N_FEATURES, N_CLUSTERS).astype(np.float64)


@dataclass
class Watch:
    """What a fit takes from here on: seconds by the clock, and of all processors."""

    client: Client
    ends: list[tuple[float, float, float]] = field(default_factory=list)

    def look(self, *_: Any) -> None:
        """Take the time, as a callback does after each iteration."""
        workers = sum(self.client.run(time.process_time).values())
        self.ends.append((time.perf_counter(), time.process_time(), workers))

    def told(self, n_iter: int, since: int = 0) -> dict[str, Any]:
        """Return seconds per iteration and the largest memory so far; those of all iterations after a look."""
        clock, here, there = (np.subtract(self.ends[-1], self.ends[since]) / n_iter).tolist()
        return {
            "seconds per iteration": round(clock, 2),
            "CPU seconds per iteration": round(here + there, 2),
            "of these on the client": round(here, 2),
            "client MB": round(peak_megabytes()),
            "worker MB": [round(peak) for peak in self.client.run(peak_megabytes).values()],
        }


def fit(client: Client, folder: Path) -> dict[str, Any]:
    """Cluster a folder under sizes within half and twice the mean."""
    x = dd.read_parquet(folder, columns=FEATURES)
    n = sum(pq.read_metadata(path).num_rows for path in folder.glob("*.parquet"))
    mean, watch = n / N_CLUSTERS, Watch(client)
    model = ConstrainedKMeans(
        N_CLUSTERS,
        size_min=mean / 2,
        size_max=2 * mean,
        init=first_centers(),
        max_iter=N_ITERATIONS,
        tol=0,
        local_search=False,
        random_state=0,
        callback=watch.look,
    )
    watch.look()
    model.fit(x)
    sizes = model.cluster_sizes_ / mean
    each = np.diff(np.array(watch.ends)[:, 0])
    return {
        "rows": n,
        "partitions": x.npartitions,
        **watch.told(model.n_iter_ - 1, since=1),
        "first one and reading": round(float(each[0]), 1),
        "each": [round(float(seconds), 1) for seconds in each],
        "sizes / mean": f"{sizes.min():.3f}..{sizes.max():.3f}",
        "inertia": model.inertia_,
    }


def peer(client: Client, folder: Path) -> dict[str, Any]:
    """Cluster the same rows from the same centers with dask_ml, without sizes."""
    from dask_ml.cluster import KMeans

    x = dd.read_parquet(folder, columns=FEATURES).to_dask_array(lengths=True).persist()
    x.sum().compute()
    watch = Watch(client)
    watch.look()
    model = KMeans(N_CLUSTERS, init=first_centers().astype(np.float32), max_iter=N_ITERATIONS, tol=0)
    model.fit(x)
    watch.look()
    return {"rows": x.shape[0], "partitions": x.npartitions, "iterations": model.n_iter_, **watch.told(model.n_iter_)}


def overhead() -> dict[str, Any]:
    """Fit 1,000,000 x 20 under sizes over two workers and in memory, from the same centers."""
    rows = blobs(np.random.default_rng(1), 1_000_000, 20, 20)
    asked = {"size_min": 25_000, "size_max": 100_000, "init": rows[:20].astype(float), "max_iter": 30, "tol": 0}
    begin = time.perf_counter()
    local = konstrain.ConstrainedKMeans(20, **asked).fit(rows)
    alone = time.perf_counter() - begin
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster, Client(cluster):
        x = da.from_array(rows, chunks=(125_000, 20)).persist()
        x.sum().compute()
        begin = time.perf_counter()
        model = ConstrainedKMeans(20, **asked).fit(x)
        together = time.perf_counter() - begin
        same = bool((model.labels_.compute() == local.labels_).all())
    return {
        "seconds in memory": round(alone, 2),
        "seconds over two workers": round(together, 2),
        "ratio": round(together / alone, 2),
        "iterations": [local.n_iter_, model.n_iter_],
        "same labels": same,
    }


def shares(folder: Path) -> list[dict[str, Any]]:
    """Fit sets of the fair clustering comparison over two workers and in memory, from the same centers."""
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster, Client(cluster):
        return [shares_of(folder, name, k) for name in ("bank_40k", "adult") for k in (5, 10)]


def shares_of(folder: Path, name: str, k: int) -> dict[str, Any]:
    """Keep the share of every group within a tenth of its share in all rows, there and here."""
    rows, groups = fair_set(folder, name)
    asked = {"share_tolerance": 0.1, "max_iter": 30, "local_search": False}
    asked["init"] = (
        konstrain.ConstrainedKMeans(k, n_init=1, local_search=False, random_state=0).fit(rows).cluster_centers_
    )
    begin = time.perf_counter()
    local = konstrain.ConstrainedKMeans(k, **asked).fit(rows, category=groups)
    alone = time.perf_counter() - begin
    begin = time.perf_counter()
    model = ConstrainedKMeans(k, **asked).fit(da.from_array(rows, chunks=(5_000, rows.shape[1])), category=groups)
    together = time.perf_counter() - begin
    overall = np.bincount(groups) / len(groups)
    held = np.stack([model.cluster_shares_[group] for group in range(overall.size)], axis=1)
    return {
        "set": name,
        "k": k,
        "SSE in memory": round(local.inertia_, 2),
        "over two workers": round(model.inertia_, 2),
        "worse by": f"{model.inertia_ / local.inertia_ - 1:.1e}",
        "shares kept": bool(((held >= 0.9 * overall - 1e-12) & (held <= overall / 0.9 + 1e-12)).all()),
        "seconds": [round(alone, 1), round(together, 1)],
    }


def main(verb: str, *arguments: str) -> None:
    """Run one verb."""
    warnings.simplefilter("ignore")
    if verb == "make":
        make(int(float(arguments[0])), Path(arguments[1]))
        return
    if verb == "overhead":
        print(json.dumps(overhead()))
        return
    if verb == "shares":
        for line in shares(Path(arguments[0])):
            print(json.dumps(line))
        return
    memory = f"{float(arguments[1]) if len(arguments) > 1 else 1.0}GB"
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        print(json.dumps({"fit": fit, "peer": peer}[verb](client, Path(arguments[0]))))


if __name__ == "__main__":
    main(*sys.argv[1:])
