"""All verbs together, as `konstrain --help` shows them."""

from typing import Annotated

import typer

from konstrain.cli import about, bench, certify, check, choose, demo, exact, fit, mix, plot, predict, studio, suggest

EPILOG = (
    "Exit codes: 0 done, 2 bad usage or input, 3 no clustering can satisfy the constraints, 4 not proved within the "
    "limit, 130 interrupted. Files appear whole or not at all."
)

app = typer.Typer(
    name="konstrain",
    help="Clustering that keeps its promises: k-means under links, sizes and demand, solved exactly and explained.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _konstrain(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=about.print_version, help="Print the version.")
    ] = False,
) -> None:
    pass


CLUSTER, KNOW, ABOUT = "Cluster", "Know more", "About"
app.command(rich_help_panel=CLUSTER)(fit.fit)
app.command(rich_help_panel=CLUSTER)(exact.exact)
app.command(rich_help_panel=CLUSTER)(predict.predict)
app.command(rich_help_panel=CLUSTER)(mix.mix)
app.command(rich_help_panel=CLUSTER)(demo.demo)
app.command(rich_help_panel=CLUSTER)(studio.studio)
app.command(rich_help_panel=KNOW)(check.check)
app.command(rich_help_panel=KNOW)(choose.choose)
app.command(rich_help_panel=KNOW)(certify.certify)
app.command(rich_help_panel=KNOW)(suggest.suggest)
app.command(rich_help_panel=KNOW)(plot.plot)
app.add_typer(bench.app, name="bench", rich_help_panel=ABOUT)
app.command(rich_help_panel=ABOUT)(about.methods)
app.command(rich_help_panel=ABOUT)(about.version)
