"""What the page shows, as plain values: the browser sets them as text and decides nothing."""

import base64
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from konstrain._studio.data import StudioData
from konstrain._studio.hub import Studio
from konstrain._studio.proving import Proved
from konstrain._studio.session import APART, TOGETHER, UNSURE, Answer, Link, Pair, Session, Size
from konstrain.plotting._style import COLORS, COLORS_ON_DARK
from konstrain.report import price_note

# Links in the list, the latest first; answers in the line of guesses; letters of a cell.
LISTED_LINKS: Final = 200
LATEST_ANSWERS: Final = 10
CELL_LETTERS: Final = 2_000
# Bytes of a picture in a cell.
PICTURE_BYTES: Final = 2_000_000
# Pictures in cells: by what their files begin with, so that a name cannot make something else of them.
PICTURES = {b"\x89PNG": "png", b"\xff\xd8\xff": "jpeg", b"GIF8": "gif", b"RIFF": "webp"}


def view(studio: Studio, picked: Sequence[int], *, n_drawn: int, axes: tuple[str, str] | None) -> dict[str, Any]:
    """Return everything on the page but the picture."""
    rows, session = studio.rows, studio.session
    state = session.state
    return {
        "title": rows.title,
        "note": studio.note,
        "colors": {"light": COLORS, "dark": COLORS_ON_DARK},
        "rows": rows.n_samples,
        "drawn": n_drawn,
        "isMap": rows.areas is not None and rows.connectivity is not None,
        "axes": None if axes is None else list(axes),
        "settings": _settings(rows, session),
        "picked": [record(rows, row) for row in picked[:2]],
        "pickedNames": [rows.names.name_of(row) for row in picked[:LISTED_LINKS]],
        "pickedCount": len(picked),
        "moves": _moves(studio, picked),
        "links": [_link(rows, link) for link in list(state.links.values())[: -LISTED_LINKS - 1 : -1]],
        "counts": {kind: len(state.of_kind(kind)) for kind in (TOGETHER, APART, UNSURE)},
        "canUndo": bool(session.done),
        "canRedo": bool(session.undone),
        "question": _question(rows, studio.question),
        "askingDone": studio.is_asking_done,
        "sure": _sure(studio),
        "trouble": _trouble(studio),
        "fit": _fit(studio),
        "proof": None if studio.proof is None else _proof(studio.proof.state),
        "saving": _saving(studio),
    }


def _settings(rows: StudioData, session: Session) -> dict[str, Any]:
    settings = session.state.settings
    return {
        "k": settings.n_clusters,
        "largestK": min(rows.n_samples, max(20, 2 * settings.n_clusters)),
        "sizeMin": _size_text(settings.size_min),
        "sizeMax": _size_text(settings.size_max),
        "standardize": settings.standardize,
        "metric": settings.metric or "",
        "keeps": settings.previous is not None,
        "features": [{"name": name, "on": name in settings.features} for name in rows.features],
    }


def _size_text(size: Size) -> str:
    if size is None:
        return ""
    return ", ".join(f"{part:g}" for part in (size if isinstance(size, tuple) else (size,)))


def record(rows: StudioData, row: int) -> dict[str, Any]:
    """Return a row as a person reads it: its name and its fields."""
    cells = [{"name": name, **_cell(values[row], rows.folder)} for name, values in rows.shown.items()]
    numbers = [{"name": name, "text": f"{rows.X[row, rows.features.index(name)]:g}"} for name in rows.numbers]
    return {"row": row, "name": rows.names.name_of(row), "fields": [*cells, *numbers]}


def _cell(value: Any, folder: Path | None) -> dict[str, str]:
    text = "" if value is None else str(value)
    picture = _picture(text, folder)
    return {"text": text[:CELL_LETTERS], "picture": picture} if picture else {"text": text[:CELL_LETTERS]}


def _picture(text: str, folder: Path | None) -> str:
    """Return what a cell shows, if it holds a picture or names a file of one below the folder of the data."""
    if text.startswith("data:image/"):
        kind, _, content = text[len("data:image/") :].partition(";base64,")
        return text if kind in PICTURES.values() and len(content) <= 2 * PICTURE_BYTES else ""
    if folder is None or len(text) > 500 or not text.lower().endswith((".png", ".jpg", ".jpeg", ".gif", ".webp")):
        return ""
    try:
        path = (folder / text).resolve()
        # Files outside the folder of the data are not shown.
        if not path.is_relative_to(folder.resolve()) or not path.is_file() or path.stat().st_size > PICTURE_BYTES:
            return ""
        content_bytes = path.read_bytes()
    except (OSError, ValueError):
        return ""  # no name of a file, or one that may not be read: the cell is text
    kind = next((kind for magic, kind in PICTURES.items() if content_bytes.startswith(magic)), "")
    return f"data:image/{kind};base64,{base64.b64encode(content_bytes).decode()}" if kind else ""


def _moves(studio: Studio, picked: Sequence[int]) -> list[dict[str, int]]:
    """Return the clusters that a single picked row borders on, each with a row of it; none without neighbours."""
    graph, fit = studio.rows.neighbours, studio.fit
    if graph is None or fit is None or len(picked) != 1:
        return []
    row = picked[0]
    found = {int(fit.labels[other]): other for other in graph.neighbours(row).tolist()}
    own = int(fit.labels[row])
    return [{"cluster": j, "row": row, "beside": found[j]} for j in sorted(found) if j != own]


def _link(rows: StudioData, link: Link) -> dict[str, Any]:
    a, b = link.pair
    return {
        "pair": list(link.pair),
        "a": rows.names.name_of(a),
        "b": rows.names.name_of(b),
        "kind": link.kind,
        "note": "" if math.isinf(link.confidence) else f"confidence {link.confidence:g}",
    }


def _question(rows: StudioData, pair: Pair | None) -> dict[str, Any] | None:
    if pair is None:
        return None
    first, second = (record(rows, row) for row in pair)
    away = dict(zip(rows.features, np.abs(rows.X[pair[0]] - rows.X[pair[1]]) / rows.spread, strict=True))
    fields = []
    for a, b in zip(first["fields"], second["fields"], strict=True):
        differs = a["text"] != b["text"]
        distance = float(away[a["name"]]) if a["name"] in away else None
        fields.append(
            {
                "name": a["name"],
                "a": a,
                "b": b,
                "differs": differs,
                "clearly": differs if distance is None else distance > 1.0,
                "away": distance,
            }
        )
    return {"pair": list(pair), "a": first["name"], "b": second["name"], "fields": fields}


def _sure(studio: Studio) -> dict[str, Any]:
    """Return how often the clustering had guessed the answers, and how many rows have a clear home."""
    answered = [a for a in studio.session.done if isinstance(a, Answer) and a.guess is not None and a.kind != UNSURE]
    latest = [action.guess == action.kind for action in answered[-LATEST_ANSWERS:]]
    fit = studio.fit
    return {"answers": len(answered), "latest": latest, "atHome": None if fit is None else fit.share_at_home}


def _trouble(studio: Studio) -> dict[str, Any] | None:
    trouble = studio.trouble
    if trouble is None:
        return None
    links = [_link(studio.rows, Link(pair, kind)) for pair, kind in trouble.links]
    return {"message": trouble.message, "reason": trouble.reason, "links": links}


def _fit(studio: Studio) -> dict[str, Any] | None:
    fit, report = studio.fit, studio.report
    if fit is None:
        return None
    settings = fit.settings
    low, high = (_per_cluster(size, settings.n_clusters) for size in (settings.size_min, settings.size_max))
    notes = {} if report is None else {b.cluster: price_note(b, f"1 {report.counts}") for b in report.binding_sizes}
    sizes = [
        {"cluster": j, "size": float(size), "min": low[j], "max": high[j], "note": notes.get(j, "")}
        for j, size in enumerate(fit.sizes)
    ]
    return {
        "sse": fit.sse,
        "isPreview": fit.is_preview,
        "measured": fit.measured,
        "moved": fit.n_moved,
        "counts": "demand" if studio.rows.demand is not None else "rows",
        "sizes": sizes,
        "prices": [] if report is None else [_price(studio.rows, link) for link in report.binding_links],
        "unpriced": 0 if report is None else report.unpriced_links,
        "priced": report is not None,
    }


def _per_cluster(size: Size, n_clusters: int) -> list[float | None]:
    return list(size) if isinstance(size, tuple) else [size] * n_clusters


def _price(rows: StudioData, link: Any) -> dict[str, Any]:
    kind = TOGETHER if link.kind == "must_link" else APART
    a, b = link.rows
    return {
        "a": rows.names.name_of(a),
        "b": rows.names.name_of(b),
        "kind": kind,
        "price": link.price,
        "broken": link.broken,
    }


def _proof(proved: Proved) -> dict[str, Any]:
    return {
        "status": proved.status,
        "bound": proved.lower_bound,
        "gap": proved.gap,
        "optimal": proved.is_optimal,
        "seconds": proved.seconds,
        "nodes": proved.n_nodes,
        "message": proved.message,
        "better": None if proved.better is None else proved.better[0],
    }


def _saving(studio: Studio) -> dict[str, Any] | None:
    if studio.saver is None:
        return None
    return {"file": studio.saver.path.name, "saved": studio.saver.is_saved, "problem": studio.saver.problem}
