"""One page about a clustering: pictures, what the clusters are like, the constraints and what they cost.

All in one file of HTML: no script, nothing is fetched, every text from the table is escaped. Colours follow what the
reader's system prefers, light or dark.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from konstrain._messages import counted
from konstrain.plotting._style import COLORS, COLORS_ON_DARK
from konstrain.plotting.maps import MapAreas
from konstrain.plotting.projection import project
from konstrain.report import SHARE, Report, bound_message, pieces_message
from konstrain.tables.profile import ClusterProfile, Trait, center_text, number_text

# Dots of the picture; of more rows some are drawn.
MOST_DOTS: Final = 3_000
# The picture in its own units, and the margin around the dots.
WIDTH: Final = 640.0
HEIGHT: Final = 420.0
MARGIN: Final = 14.0
# Numbers of more clusters would hide the rows.
MOST_NAMED: Final = 30
# The longest bar of a difference means this many standard deviations or more.
LONGEST_BAR: Final = 3.0


def _colors(palette: Sequence[str]) -> str:
    return " ".join(f"--c{j}: {color};" for j, color in enumerate(palette))


_STYLE = f"""
:root {{ color-scheme: light dark; --ground: #f4f6f8; --card: #fff; --ink: #1d2430; --faint: #5b6472; --line: #dfe3e8;
  --bad: #b34700; {_colors(COLORS)} }}
@media (prefers-color-scheme: dark) {{ :root {{ --ground: #0d1117; --card: #161b22; --ink: #e8ecf1; --faint: #a3adba;
  --line: #2e3641; --bad: #ff9a4d; {_colors(COLORS_ON_DARK)} }} }}
"""
_STYLE += """
body { margin: 0 auto; padding: 24px 16px 60px; max-width: 960px; color: var(--ink); background: var(--ground);
  font: 15px/1.5 system-ui, "Segoe UI", Roboto, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; } h2 { font-size: 17px; margin: 0 0 10px; }
h3 { font-size: 15px; margin: 12px 0 4px; } p { margin: 4px 0; }
.faint { color: var(--faint); } .bad { color: var(--bad); font-weight: 600; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 16px;
  margin-top: 16px; overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child, .left { text-align: left; } th { color: var(--faint); font-weight: 600; }
svg { display: block; max-width: 100%; height: auto; } .axis { fill: var(--faint); font-size: 13px; }
.name { fill: var(--ink); stroke: var(--card); stroke-width: 4px; paint-order: stroke; font-size: 15px;
  font-weight: 700; text-anchor: middle; dominant-baseline: central; pointer-events: none; }
.dot { display: inline-block; width: 11px; height: 11px; border-radius: 50%; margin-right: 6px; }
.clusters { display: grid; grid-template-columns: repeat(auto-fill, minmax(260px, 1fr)); gap: 12px; }
.cluster { border: 1px solid var(--line); border-radius: 8px; padding: 10px 12px; }
.cluster h3 { margin: 0; font-size: 15px; }
.area { stroke: var(--card); stroke-width: 0.2; } .border { fill: none; stroke: var(--ink); stroke-width: 1.6; }
.bar { fill: currentColor; opacity: 0.85; } .zero { stroke: var(--faint); }
.limit { stroke: var(--bad); stroke-width: 2; }
/* Pictures shrink on a phone; their text must not. */
@media (max-width: 600px) { .axis { font-size: 20px; } .name { font-size: 24px; } }
.trait { display: flex; justify-content: space-between; gap: 8px; } .trait span { overflow-wrap: anywhere; }
.trait .number { white-space: nowrap; flex: none; }
"""


@dataclass(frozen=True, eq=False)
class PageContents:
    """What a page shows."""

    title: str  # What the table is called.
    report: Report  # Sizes, cost, constraints.
    profiles: Sequence[ClusterProfile]  # What the clusters are like.
    # The rows as they were clustered, and their clusters.
    X: NDArray[Any]
    labels: NDArray[Any]
    silhouette: float | None  # How well rows sit in their clusters.
    # Further lines: the method, what was done to the columns, what a search for a proof did not see.
    facts: Sequence[str] = ()
    name_of: Callable[[int], str] = str  # What a row is called.
    features: Sequence[str] | None = None  # What the columns of `X` are called.
    areas: MapAreas | None = None  # Of a map, in place of dots.


def page_of(contents: PageContents) -> str:
    """Return the page as HTML."""
    title = escape(f"{contents.title}: {counted(contents.report.n_clusters, 'cluster')}")
    return "\n".join(
        [
            '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>",
            f"<h1>{title}</h1>",
            *_summary(contents),
            *_section("Map" if contents.areas else "Rows", _map(contents) if contents.areas else _scatter(contents)),
            *_section("Clusters", _clusters(contents)),
            *_section("Sizes", _sizes(contents.report)),
            *_section("Shares and resources", _held(contents.report)),
            *_section("Centers", _centers(contents.profiles)),
            *_section("Constraints and what they cost", _constraints(contents)),
            *_section("How it was made", (f"<p>{escape(fact)}</p>" for fact in contents.facts)),
            "</body>\n</html>\n",
        ]
    )


def _section(title: str, lines: Iterator[str]) -> Iterator[str]:
    """A part of the page, unless there is nothing in it."""
    inside = list(lines)
    if inside:
        yield f"<section><h2>{title}</h2>"
        yield from inside
        yield "</section>"


def _summary(contents: PageContents) -> Iterator[str]:
    report = contents.report
    words = f"{counted(report.n_samples, 'row')}, sum of squared distances {report.sse:.6g}"
    if contents.silhouette is not None:
        words += f", silhouette {contents.silhouette:.2f}"
    yield f'<p class="faint">{words}</p>'
    if report.lower_bound is not None and report.gap is not None:
        yield f"<p>{escape(bound_message(report.lower_bound, report.gap))}</p>"


def _map(contents: PageContents) -> Iterator[str]:
    """Areas filled by cluster, with the borders of clusters and their numbers."""
    areas, labels = contents.areas, contents.labels
    assert areas is not None
    on_paper = _scale(np.concatenate([ring for area in areas.polygons for rings in area for ring in rings]), True)

    def path(lines: Iterable[NDArray[np.float64]]) -> str:
        return "".join("M" + " ".join(f"{x:.1f},{y:.1f}" for x, y in on_paper(line).tolist()) for line in lines)

    yield f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" width="{WIDTH:g}" role="img" aria-label="map of the clusters">'
    for row, area in enumerate(areas.polygons):
        ends = path(ring for rings in area for ring in rings if len(ring))
        name = f"<title>{escape(contents.name_of(row))}: cluster {labels[row]}</title>"
        yield f'<path class="area" fill-rule="evenodd" fill="{_color(int(labels[row]))}" d="{ends}">{name}</path>'
    yield f'<path class="border" d="{path(areas.borders_of(labels))}"/>'
    found, codes = np.unique(labels, return_inverse=True)
    yield from _names_of_clusters(found, on_paper(areas.numbers(codes, found.size)))
    yield "</svg>"


def _scale(points: NDArray[Any], has_one_scale: bool) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return how points come to lie on the paper, whose second coordinate is from the top."""
    low, extent = points.min(axis=0), np.ptp(points, axis=0)
    paper = np.array([WIDTH, HEIGHT]) - 2 * MARGIN
    scale = np.divide(paper, extent, out=np.full(2, np.inf), where=extent > 0)
    scale = np.full(2, scale.min()) if has_one_scale else scale
    # Where all rows are at one place, any scale will do.
    scale[np.isinf(scale)] = 1.0
    first = MARGIN + (paper - extent * scale) / 2
    return lambda points: np.array([0.0, HEIGHT]) + (first + (points - low) * scale) * [1.0, -1.0]


def _scatter(contents: PageContents) -> Iterator[str]:
    """Rows on a plane, a colour for each cluster."""
    if contents.X.shape[1] == 0 or (contents.X.shape[1] > 2 and len(contents.X) < 2):
        return
    plane = project(contents.X, names=contents.features)
    shown = np.arange(len(contents.X))
    if shown.size > MOST_DOTS:
        shown = np.sort(np.random.default_rng(0).choice(shown, MOST_DOTS, replace=False))
    places = _scale(plane.rows, plane.has_one_scale)(plane.rows)
    yield f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT + 48:g}" width="{WIDTH:g}" role="img" aria-label="rows by cluster">'
    for row, (x, y) in zip(shown.tolist(), places[shown].tolist(), strict=True):
        label = int(contents.labels[row])
        name = escape(contents.name_of(row))
        yield (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_color(label)}" fill-opacity="0.75">'
            f"<title>{name}: cluster {label}</title></circle>"
        )
    found = np.unique(contents.labels)
    means = [places[contents.labels == label].mean(axis=0) for label in found]
    yield from _names_of_clusters(found, np.array(means))
    # A line each: they are long at times.
    for line, (arrow, name) in enumerate(zip("→↑", plane.names, strict=True)):
        if name:
            yield f'<text class="axis" x="{MARGIN:g}" y="{HEIGHT + 20 + 22 * line:g}">{arrow} {escape(name)}</text>'
    yield "</svg>"
    if shown.size < len(contents.X):
        yield f'<p class="faint">{shown.size:,} of {len(contents.X):,} rows, drawn at random</p>'


def _names_of_clusters(names: NDArray[Any], places: NDArray[np.float64]) -> Iterator[str]:
    for name, (x, y) in zip(names.tolist(), places.tolist(), strict=True) if names.size <= MOST_NAMED else ():
        yield f'<text class="name" x="{x:.1f}" y="{y:.1f}">{name}</text>'


def _clusters(contents: PageContents) -> Iterator[str]:
    """A card for each cluster."""
    yield '<div class="clusters">'
    for profile in contents.profiles:
        yield f'<div class="cluster" style="color: {_color(profile.cluster)}">'
        yield f'<h3 style="color: var(--ink)">{_dot(profile.cluster)}cluster {profile.cluster}</h3>'
        typical = "" if profile.typical is None else f"; typical: {escape(contents.name_of(profile.typical))}"
        yield f'<p style="color: var(--ink)">{counted(profile.n_rows, "row")}{typical}</p>'
        for trait in profile.traits:
            yield from _trait(trait)
        yield "</div>"
    words = "Bars: how far the mean of a cluster is from that of all rows, in standard deviations."
    yield f'</div><p class="faint">{words}</p>'


def _trait(trait: Trait) -> Iterator[str]:
    size = min(abs(trait.difference) / LONGEST_BAR, 1.0) * 98
    begin = 100 - size if trait.difference < 0 else 100
    yield (
        f'<div class="trait" style="color: var(--ink)"><span>{escape(trait.name)} <b>{escape(trait.text)}</b></span>'
        f'<span class="number">{trait.difference:+.1f}</span></div>'
        f'<svg viewBox="0 0 200 8" width="200" height="8" aria-hidden="true"><rect class="bar" x="{begin:.1f}" y="1" '
        f'width="{size:.1f}" height="6"/><line class="zero" x1="100" y1="0" x2="100" y2="8"/></svg>'
    )


def _sizes(report: Report) -> Iterator[str]:
    yield from _bars("sizes of the clusters", report.sizes, report.size_min, report.size_max, number_text)


def _held(report: Report) -> Iterator[str]:
    """What clusters hold of each resource, and the shares of groups, against their bounds."""
    for held in report.held:
        yield f"<h3>{escape(held.about)}</h3>"
        yield from _bars(
            held.about, held.values, held.low, held.high, _share if held.about.startswith(SHARE) else number_text
        )


def _share(value: float) -> str:
    return f"{value:.1%}"


def _bars(
    title: str,
    values: Sequence[float],
    low: Sequence[float] | None,
    high: Sequence[float] | None,
    text: Callable[[float], str],
) -> Iterator[str]:
    """A bar for each cluster, with lines at its bounds."""
    bounds = [b for b in (low, high) if b is not None]
    most = max([*values, *(value for b in bounds for value in b if np.isfinite(value))]) or 1.0
    height = 26 * len(values)
    yield f'<svg viewBox="0 0 {WIDTH:g} {height}" width="{WIDTH:g}" role="img" aria-label="{escape(title)}">'
    for j, value in enumerate(values):
        y, width = 26 * j, (WIDTH - 180) * value / most
        yield f'<text class="axis" x="0" y="{y + 17}">{j}</text>'
        yield f'<rect x="30" y="{y + 4}" width="{width:.1f}" height="18" fill="{_color(j)}"/>'
        beyond = max(
            [width, *((WIDTH - 180) * b[j] / most for b in bounds if np.isfinite(b[j]) and b[j] * 1.2 > value)]
        )
        yield f'<text class="axis" x="{beyond + 38:.1f}" y="{y + 17}">{text(value)}</text>'
        for bound in bounds:
            if np.isfinite(bound[j]):
                x = 30 + (WIDTH - 180) * bound[j] / most
                yield f'<line class="limit" x1="{x:.1f}" y1="{y + 1}" x2="{x:.1f}" y2="{y + 25}"/>'
    yield "</svg>"
    words = [
        f"{word} {_bound_text(bound, text)}"
        for word, bound in (("at least", low), ("at most", high))
        if bound is not None
    ]
    if words:
        yield f'<p class="faint">Lines: the bounds, {", ".join(words)}.</p>'


def _bound_text(bound: Sequence[float], text: Callable[[float], str]) -> str:
    """One number where it is the same for all clusters."""
    words = list(dict.fromkeys(text(value) if np.isfinite(value) else "any" for value in bound))
    return words[0] if len(words) == 1 else "as drawn"


def _centers(profiles: Sequence[ClusterProfile]) -> Iterator[str]:
    """The centers in the units of the columns."""
    filled = [profile for profile in profiles if profile.center]
    if not filled:
        return
    titles = "".join(f"<th>{escape(trait.column)}</th>" for trait in filled[0].center)
    yield f"<table><tr><th>cluster</th>{titles}</tr>"
    for profile in filled:
        cells = "".join(f"<td>{escape(center_text(trait))}</td>" for trait in profile.center)
        yield f"<tr><td>{_dot(profile.cluster)}{profile.cluster}</td>{cells}</tr>"
    yield "</table>"


def _constraints(contents: PageContents) -> Iterator[str]:
    report = contents.report
    kinds = (
        ("must-link", report.n_must_link, report.violations.must_link),
        ("cannot-link", report.n_cannot_link, report.violations.cannot_link),
    )
    for kind, count, broken in kinds:
        if count:
            words = f'<span class="bad">{broken} broken</span>' if broken else "all kept"
            yield f"<p>{counted(count, kind)}: {words}</p>"
    if report.n_pieces is not None:
        yield f"<p>{pieces_message(report.n_pieces)}</p>"
    for cluster in report.wrong_sizes:
        yield f'<p class="bad">cluster {cluster} is out of its bounds</p>'
    rows = [
        (f"{link.kind.replace('_', '-')} {', '.join(map(contents.name_of, link.rows))}", link.price)
        for link in report.binding_links
    ]
    rows += [
        (f"size of cluster {b.cluster}: {b.side} {b.bound:g}, per {report.counts}", b.price)
        for b in report.binding_sizes
    ]
    rows += [
        (f"{rule.about} in cluster {rule.cluster}: {rule.side} {rule.bound:g}, per {_unit(rule.about)}", rule.price)
        for rule in report.binding_rules
    ]
    if rows:
        yield "<table><tr><th>constraint</th><th>costs (sum of squares)</th></tr>"
        for what, price in sorted(rows, key=lambda row: -row[1]):
            yield f"<tr><td>{escape(what)}</td><td>{price:.4g}</td></tr>"
        yield "</table>"
        yield '<p class="faint">With the centers where they are; once these move, more may be saved.</p>'
    if report.unpriced_links:
        words = f"{counted(report.unpriced_links, 'more link')} may cost something; only the likeliest were priced."
        yield f'<p class="faint">{words}</p>'


def _unit(about: str) -> str:
    return "0.01 of share" if about.startswith(SHARE) else "unit"


def _dot(cluster: int) -> str:
    return f'<span class="dot" style="background: {_color(cluster)}"></span>'


def _color(cluster: int) -> str:
    return f"var(--c{cluster % len(COLORS)})"
