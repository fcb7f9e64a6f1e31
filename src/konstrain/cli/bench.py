"""`konstrain bench`: the papers' experiments beside ours."""

from pathlib import Path
from typing import Annotated

import typer

from konstrain.cli import say
from konstrain.cli.options import Quiet
from konstrain.cli.running import BAD_INPUT, guarded, interrupts
from konstrain.cli.startup import end_start

app = typer.Typer(help="The papers' tables and figures beside ours.", no_args_is_help=True)

Starts = Annotated[int | None, typer.Option(min=1, help="Runs per case of each method that has more than one.")]
Links = Annotated[
    Path | None,
    typer.Option(help="Folder of constraint files of your own, called by the fields of a case: iris-CS10.csv."),
]
Results = Annotated[Path, typer.Option(help="SQLite file of results; finished rows are kept there.")]


@app.command("list")
@guarded
def list_() -> None:
    """List the experiments."""
    from konstrain.experiments import list_experiments

    for experiment in list_experiments():
        print(f"{experiment.name:<16} {experiment.reference}")


@app.command()
@guarded
def run(
    name: Annotated[str, typer.Argument(help="An experiment, as 'bench list' names it.")],
    results: Results = Path("konstrain-bench.db"),
    data: Annotated[Path | None, typer.Option(help="Folder of data sets that do not come with the library.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Only the tenth that the experiment declares.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Run failed rows again.")] = False,
    jobs: Annotated[int | None, typer.Option("-j", "--jobs", help="Rows run at once.")] = None,
    starts: Starts = None,
    links: Links = None,
    quiet: Quiet = False,
) -> None:
    """Run what is missing of an experiment; a run that was ended goes on where it was.

    Exit code 2 when data sets are not there: their rows are skipped, and no table or claim counts them.
    """
    from konstrain.experiments import get_experiment, run_experiment
    from konstrain.experiments.runner import count_rows

    end_start()
    try:
        done = run_experiment(
            name,
            db=results,
            data=data,
            quick=quick,
            n_jobs=jobs,
            retry=retry,
            quiet=quiet,
            starts=starts,
            links=links,
        )
    except KeyboardInterrupt:
        if results.exists():
            chosen = get_experiment(name).varied(starts=starts, links=links)
            n_kept, n_rows = count_rows(chosen, db=results, quick=quick)
            interrupts.found_so_far(f"{n_kept} of {n_rows} rows are kept; the same command goes on with the others")
            interrupts.wrote(results)
        raise
    interrupts.wrote(results)
    interrupts.end_here(f"{done.n_before + done.n_now} of {done.n_rows} rows are kept")
    form = ""
    if quick:
        n_all = len(get_experiment(name).varied(starts=starts, links=links).rows())
        form = f" of the quick form, out of {n_all} in all"
    print(
        f"{done.n_rows} rows{form}: {done.n_before} were there, {done.n_now} done now in {done.seconds:.0f} s, "
        f"{done.n_left} left; {done.failures}. 'konstrain bench report {name} --results {results}' tells more."
    )
    if done.missing:
        say(f"{done.skips}. {done.advice}")
        raise typer.Exit(BAD_INPUT)


@app.command()
@guarded
def report(
    name: Annotated[str, typer.Argument(help="An experiment, as 'bench list' names it.")],
    results: Results = Path("konstrain-bench.db"),
    output: Annotated[Path, typer.Option("-o", "--output", help="Folder for the report.")] = Path("konstrain-report"),
    starts: Starts = None,
    links: Links = None,
) -> None:
    """Write the published numbers and ours, side by side."""
    from konstrain.experiments import write_report

    print(f"wrote {write_report(name, db=results, output=output, starts=starts, links=links)}")
