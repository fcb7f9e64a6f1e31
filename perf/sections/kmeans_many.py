"""Many clusters under sizes: ten iterations beside those of KMeans, which knows no sizes, from the same centers."""

import json
import subprocess
from collections.abc import Iterator

from many_clusters_fit import CASES, SKEWED, VECTORS, ManyClusters
from report import Row
from timing import run_alone


def many_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case; each runs alone, so that its memory is its own."""
    for case in _chosen(quick, full):
        yield json.loads(run_alone("many_clusters_fit.py", case.name))


def vector_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: capped lists of unit vectors."""
    for case in VECTORS[:1] if quick else VECTORS if full else VECTORS[:2]:
        yield json.loads(run_alone("many_clusters_fit.py", case.name))


def skewed_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: capped lists of rows that are spread very unevenly, from 8 to 1,536 features."""
    for case in SKEWED[:3] if quick else SKEWED if full else SKEWED[::3]:
        yield json.loads(run_alone("many_clusters_fit.py", case.name))


def _chosen(quick: bool, full: bool) -> list[ManyClusters]:
    most = 20_000 if quick else 100_000
    return [case for case in CASES.values() if case not in (*VECTORS, *SKEWED) and (full or case.n_rows <= most)]


def thread_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: the same fit on one thread and on two."""
    for case in _chosen(quick, full):
        one, two = (
            json.loads(run_alone("many_clusters_fit.py", case.name, "--threads", str(n_threads)))
            for n_threads in (1, 2)
        )
        yield {
            "case": case.name,
            "1 thread s (wall)": f"{one['wall']:.2f}",
            "2 threads s (wall)": f"{two['wall']:.2f}",
            "ratio": f"{one['wall'] / two['wall']:.2f}",
            "same labels": str(one["labels"] == two["labels"]),
        }


def limit_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per time limit: how long a fit of 100,000 x 1,000 takes that is given so long."""
    for limit in (0.5,) if quick else (0.5, 2.0, 8.0):
        fit = json.loads(run_alone("many_clusters_fit.py", "100000x1000", "--limit", str(limit)))
        yield {
            "limit s": f"{limit:g}",
            "taken s (wall)": f"{fit['wall']:.2f}",
            "iterations": str(fit["iterations"]),
        }


def unconstrained_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per case: ten iterations without sizes beside KMeans and faiss, each in a process of its own."""
    for case in _chosen(quick, full):
        ours, sklearn = (
            json.loads(run_alone("many_clusters_fit.py", case.name, "--free", who)) for who in ("ours", "KMeans")
        )
        row = {"case": case.name} | _beside("ours", ours) | _beside("KMeans", sklearn)
        try:
            row |= _beside("faiss", json.loads(run_alone("peers/faiss_kmeans.py", case.name)))
        except subprocess.CalledProcessError as error:
            row |= {"faiss s (wall)": error.stderr.strip().splitlines()[-1]}
        yield row | {"ours / KMeans (CPU)": f"{ours['cpu'] / sklearn['cpu']:.2f}"}


def _beside(who: str, fit: dict[str, float]) -> Row:
    return {
        f"{who} s (wall)": f"{fit['wall']:.2f}",
        "CPU " + who: f"{fit['cpu']:.2f}",
        f"SSE {who}": f"{fit['sse']:.6g}",
    }


SECTIONS = {
    "many clusters": many_rows,
    "vectors": vector_rows,
    "vectors, skewed": skewed_rows,
    "many clusters, threads": thread_rows,
    "many clusters, time limit": limit_rows,
    "many clusters, no constraints": unconstrained_rows,
}
