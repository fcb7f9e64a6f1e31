"""Cluster sizes: whole fits against k-means-constrained from the same starting centers, each on one thread."""

import json
import statistics
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kmeans_cases import BINDING, FAMILIES, SEEDS, SizedCase
from konstrain import ConstrainedKMeans
from report import Row
from timing import cpu_seconds, one_thread, run_alone


@dataclass(frozen=True)
class Fit:
    """CPU seconds, iterations and SSE of one fit."""

    seconds: float
    n_iter: int
    sse: float


def size_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield one row per family of cases: medians over its seeds, and the worst of what the peer is compared in."""
    return _family_rows(FAMILIES, quick=quick, full=full)


def binding_rows(*, quick: bool, full: bool) -> Iterator[Row]:
    """Yield the same where true clusters differ 20-fold, so that no clustering near them keeps the bounds."""
    return _family_rows(BINDING, quick=quick, full=full)


def _family_rows(families: tuple[SizedCase, ...], *, quick: bool, full: bool) -> Iterator[Row]:
    seeds = SEEDS if full else SEEDS[:1]
    for family in families:
        cases = [replace(family, seed=seed) for seed in seeds]
        row = {"case": family.family, "seeds": str(len(seeds))}
        if quick:
            yield row | _medians("ours", [_our_fit(case) for case in cases])
            continue
        try:
            # In turns: what else the machine does changes from minute to minute.
            pairs = [(_our_fit(case), _peer_fit(case)) for case in cases]
        except subprocess.CalledProcessError as error:
            yield row | {"peer s": error.stderr.strip().splitlines()[-1]}
            continue
        ours, peers = map(list, zip(*pairs, strict=True))
        yield row | _medians("ours", ours) | _comparison(ours, peers)


def _our_fit(case: SizedCase) -> Fit:
    rows = case.rows()
    model = ConstrainedKMeans(
        case.n_clusters, case.size_min, case.size_max, init=case.start(rows), n_init=1, random_state=0
    )
    with one_thread():
        # Some take 20 ms, which is little enough to fall into a moment in which the machine does something else.
        seconds, _ = cpu_seconds(lambda: model.fit(rows), repeats=9)
    return Fit(seconds, model.n_iter_, model.inertia_)


def _peer_fit(case: SizedCase) -> Fit:
    answer = json.loads(run_alone("peers/kmeans_constrained.py", case.name))
    return Fit(answer["cpu_seconds"], answer["n_iter"], answer["sse"])


def _comparison(ours: list[Fit], peers: list[Fit]) -> Row:
    ratios = [peer.seconds / own.seconds for own, peer in zip(ours, peers, strict=True)]
    excess = [own.sse / peer.sse - 1 for own, peer in zip(ours, peers, strict=True)]
    return _medians("peer", peers) | {
        "ratio, median": f"{statistics.median(ratios):.1f}",
        "least": f"{min(ratios):.1f}",
        "below 30": f"{sum(ratio < 30 for ratio in ratios)}",
        "our SSE / its - 1, median": f"{statistics.median(excess):+.1e}",
        "worst": f"{max(excess):+.1e}",
        "not higher": f"{sum(value <= 0 for value in excess)} of {len(excess)}",
    }


def _medians(who: str, fits: list[Fit]) -> Row:
    return {
        f"{who} s": f"{statistics.median(fit.seconds for fit in fits):.3f}",
        f"{who} iterations": f"{statistics.median(fit.n_iter for fit in fits):.0f}",
    }


SECTIONS = {"sizes": size_rows, "sizes that bind": binding_rows}
