"""`konstrain studio`: a page to answer questions on."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from konstrain.cli.options import OUTPUT, ConstraintOptions, DataOptions, Quiet, Seed, names_in, spread
from konstrain.cli.running import guarded, note

if TYPE_CHECKING:
    from konstrain._studio.data import Rows
    from konstrain.cli.given import Given

# Beside the data: data.csv is worked on in data.studio.json.
SESSION_ENDING = ".studio.json"


@spread
@guarded
def studio(
    rows: DataOptions,
    constraints: ConstraintOptions,
    k: Annotated[int, typer.Option("-k", "--clusters", min=1, help="Number of clusters to begin with.")] = 3,
    session: Annotated[
        Path | None,
        typer.Option(
            help="File to keep the session in; goes on with it if it is there. (default: DATA.studio.json)",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    seed: Seed = 0,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to serve on; 0: a free one.")] = 0,
    browser: Annotated[bool, typer.Option(help="Open the page, or only print its address.")] = True,
    quiet: Quiet = False,
) -> None:
    """Open a page on which you link rows, answer questions, and see the clustering follow.

    Served to this machine only. Columns left out with --ignore are shown with the records; cells that name picture
    files show them. What you do is saved as you do it: the same command goes on where you were.
    """
    from konstrain._studio.hub import given_links, open_studio, read_size
    from konstrain._studio.server import refuse_missing
    from konstrain._studio.session import Settings
    from konstrain.cli.given import read_given, refuse_too_few_rows, without_rules
    from konstrain.files.outputs import refuse_unwritable

    refuse_missing()
    path = rows.data.with_suffix(SESSION_ENDING) if session is None else session
    # As they are in the file: the page standardises, and shows the numbers that the person knows.
    given = read_given(replace(rows, standardize=False), constraints, quiet=quiet, n_clusters=k, outputs=[path])
    refuse_too_few_rows(rows, given, k)
    without_rules(given, "studio")
    refuse_unwritable(path)
    data = _rows_of(rows, constraints, given)
    settings = Settings(
        k,
        data.features,
        size_min=read_size(given.constraints.get("size_min")),
        size_max=read_size(given.constraints.get("size_max")),
        standardize=given.prepared.preparation.plan.advised if rows.standardize is None else rows.standardize,
        random_state=seed,
    )
    is_new = not path.exists()
    desk = open_studio(
        data,
        settings,
        given_links(data, given.constraints.get("must_link"), given.constraints.get("cannot_link")),
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


def _rows_of(options: DataOptions, constraints: ConstraintOptions, given: "Given") -> "Rows":
    """The rows with the columns that are only shown."""
    from konstrain._studio.data import Rows
    from konstrain.files import read_table

    kept = given.prepared.kept
    other = [name for name in (options.label, constraints.group) if name is not None]
    shown = [*names_in("--ignore", options.ignore), *other]
    extra = read_table(given.source, columns=[], other=shown).extra if shown else {}
    return Rows(
        given.X,
        given.features,
        given.rows,
        {name: values if kept is None else values[kept] for name, values in extra.items()},
        given.constraints.get("demand"),
        given.constraints.get("sample_weight"),
        options.data.name,
        options.data.parent,
    )
