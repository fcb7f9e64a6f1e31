"""`konstrain methods` and `konstrain version`: what there is."""

import platform
import sys
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

import typer

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
    """Answer `konstrain --version` in one line."""
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
