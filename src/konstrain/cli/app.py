"""All verbs together, as `konstrain --help` shows them."""

import platform
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from konstrain.cli import bench, certify, check, choose, demo, exact, fit, mix, plot, predict, studio, suggest
from konstrain.cli.options import Json
from konstrain.cli.running import guarded, print_result

# What a bug report needs to name: what konstrain stands on.
PACKAGES = ("numpy", "scipy", "scikit-learn", "highspy", "threadpoolctl", "polars", "typer", "rich", "matplotlib")


@guarded
def methods(json: Json = False) -> None:
    """List the methods of 'fit --method': what each is for, what it takes, where it is from."""
    from rich.console import Console
    from rich.table import Table

    from konstrain.methods import METHODS

    if json:
        values = {
            m.name: {"purpose": m.purpose, "takes": sorted(m.takes), "from": m.reference} for m in METHODS.values()
        }
        print_result("", values, as_json=True)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("method", "what it is for", "from"):
        table.add_column(column, no_wrap=column == "method")
    for method in METHODS.values():
        takes = [word for word, name in (("links", "must_link"), ("sizes", "size_min")) if name in method.takes]
        table.add_row(method.name, method.purpose + (f" [{', '.join(takes)}]" if takes else ""), method.reference)
    Console().print(table, markup=False)


def print_version(asked: bool) -> None:
    """Print the version in one line for `konstrain --version`."""
    if asked:
        print(f"konstrain {version_of('konstrain')}")
        raise typer.Exit


@guarded
def version(json: Json = False) -> None:
    """Print versions: all that a bug report needs."""
    values = {"konstrain": version_of("konstrain"), "python": sys.version.split()[0], "platform": platform.platform()}
    values["processor"] = platform.machine()
    for package in PACKAGES:
        try:
            values[package] = version_of(package)
        except PackageNotFoundError:
            values[package] = "not installed"
    width = max(map(len, values))
    text = "\n".join(f"{name:<{width}}  {value}" for name, value in values.items())
    print_result(text, values, as_json=json)


EPILOG = (
    "Exit codes: 0 done, 2 bad usage or input, 3 no clustering can satisfy the constraints, 4 not proved within the "
    "limit, 130 interrupted. Files appear whole or not at all."
)

app = typer.Typer(
    name="konstrain",
    help="Clustering that keeps its promises: k-means under links, sizes and demand, solved exactly and explained.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _konstrain(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=print_version, help="Print the version.")
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
app.command(rich_help_panel=ABOUT)(methods)
app.command(rich_help_panel=ABOUT)(version)
