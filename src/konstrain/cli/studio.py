"""`konstrain studio`: a page to answer questions on."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from konstrain.cli.options import OUTPUT, DataOptions, Quiet, Seed, WithoutShares, option, spread
from konstrain.cli.running import guarded, note

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from konstrain._studio.data import StudioData
    from konstrain._studio.session import Settings
    from konstrain.cli.given import Given

# Next to the data: data.csv is worked on in data.studio.json.
SESSION_ENDING = ".studio.json"


@spread
@guarded
def studio(
    rows: DataOptions,
    constraints: WithoutShares,
    k: Annotated[int, typer.Option("-k", "--clusters", min=1, help="Number of clusters to begin with.")] = 3,
    session: Annotated[
        Path | None,
        option(OUTPUT, "File to keep the session in; goes on with it if it is there. (default: DATA.studio.json)"),
    ] = None,
    seed: Seed = 0,
    keep: Annotated[
        Path | None, typer.Option(help="Labels of an earlier fit, by id: few rows leave their clusters.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page, or only print its address.")] = True,
    quiet: Quiet = False,
) -> None:
    """Open a page on which you link rows, answer questions, and see the clustering follow.

    Served to this machine only. Records show all columns of the table, also those left out of the features; cells
    that name picture files show them. What you do is saved as you do it: the same command goes on where you were.
    """
    from konstrain._studio.hub import given_links, open_studio
    from konstrain._studio.server import bindable, refuse_missing
    from konstrain.cli.given import read_given, refuse_too_few_rows, with_earlier, without_rules
    from konstrain.files.outputs import refuse_unwritable

    refuse_missing()
    port = bindable(port)
    path = rows.data.with_suffix(SESSION_ENDING) if session is None else session
    inputs = [] if keep is None else [keep]
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=[path], inputs=inputs)
    refuse_too_few_rows(rows, given, k)
    if keep is not None:
        given = with_earlier(given, keep, k, quiet=quiet)
    without_rules(given, "studio")
    refuse_unwritable(path)
    data = rows_of(given)
    settings = settings_of(given, data, k, seed)
    is_new = not path.exists()
    desk = open_studio(
        data,
        settings,
        given_links(data, given.constraints.must_link, given.constraints.cannot_link),
        path,
    )
    if not is_new:
        note(f"{desk.note}; its settings and links hold, not those of the options", quiet=quiet)
    try:
        print(desk.show(port=port, open_browser=browser), flush=True)
        # Until Ctrl-C, which is how this ends: everything is saved by then.
        threading.Event().wait()
    except KeyboardInterrupt:
        note(f"ended; the session is in {path}", quiet=quiet)
    finally:
        desk.close()


def rows_of(given: "Given") -> "StudioData":
    """Return the rows as `fit` has them but for the scale, which the page sets, and the cells of the table."""
    from konstrain._studio.data import StudioData, drawn_areas
    from konstrain.files.labels import read_cells
    from konstrain.tables.prepare import categories_of, prepare

    kept, plan = given.prepared.kept, given.prepared.preparation.plan
    plain = prepare(given.prepared.columns, replace(plan, scaled=False))
    categories = categories_of(plain.transformer, plan)
    cells = read_cells(given.source)
    shown = {name: cells[name] for name in cells.columns if name != given.rows.column}
    return StudioData(
        plain.X,
        plain.features,
        given.rows,
        shown if kept is None else {name: column.filter(kept) for name, column in shown.items()},
        {f"{name}={value}": name for name, values in categories.items() for value in values},
        given.constraints.demand,
        given.constraints.sample_weight,
        _edges_of(given),
        None if given.constraints.connectivity is None else drawn_areas(given.areas),
        given.source.path.name,
        given.source.path.parent,
    )


def _edges_of(given: "Given") -> "NDArray[Any] | None":
    """Return pairs of neighbours, components joined where that is asked for."""
    from konstrain._studio.data import edges_of
    from konstrain.constraints.connectivity import join_components, read_connectivity

    if given.constraints.connectivity is None:
        return None
    graph = read_connectivity(given.constraints.connectivity, len(given.X))
    return edges_of(join_components(graph, given.X) if given.constraints.join_components else graph)


def settings_of(given: "Given", data: "StudioData", n_clusters: int, seed: int) -> "Settings":
    """Return the settings with which the page clusters as `fit` does."""
    from konstrain._studio.session import Settings, read_size

    return Settings(
        n_clusters,
        data.features,
        size_min=read_size(given.constraints.size_min),
        size_max=read_size(given.constraints.size_max),
        standardize=given.prepared.preparation.plan.scaled,
        random_state=seed,
        previous=None if given.previous is None else tuple(given.previous.tolist()),
    )
