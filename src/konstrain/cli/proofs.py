"""How the command line looks for a proof: its options, what it shows meanwhile, and what it says of parts."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from konstrain.cli.words import for_the_command_line

if TYPE_CHECKING:
    from konstrain import Certificate

PROOF = "Proofs of many rows"


@dataclass(frozen=True)
class PartOptions:
    """How parts of the rows are bounded, where there are too many to bound them together."""

    part_size: Annotated[
        int | None,
        typer.Option(min=2, help="Rows in a part. (default: chosen by the first parts)", rich_help_panel=PROOF),
    ] = None
    jobs: Annotated[
        int, typer.Option(help="Parts bounded together; -1: as many as there are cores.", rich_help_panel=PROOF)
    ] = 1
    resume: Annotated[
        Path | None,
        typer.Option(help="File that keeps finished parts, and gives back those it has.", rich_help_panel=PROOF),
    ] = None

    def files(self) -> list[Path]:
        """Return the file of finished parts, if there is one: nothing else may be written there."""
        return [] if self.resume is None else [self.resume]

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `lower_bound`; a size or a file ask for a bound by parts."""
        given: dict[str, Any] = {"n_jobs": self.jobs}
        if self.part_size is not None or self.resume is not None:
            given |= {"bound": "parts", "resume": self.resume}
        if self.part_size is not None:
            given["part_size"] = self.part_size
        return given


def teller(show: Callable[[str], None]) -> Callable[[Any], None]:
    """Return a callback that shows how far a proof is."""

    def tell(point: Any) -> None:
        if hasattr(point, "n_parts"):
            show(
                f"gap {point.gap:.2g} proved by {point.n_done} of {point.n_parts} parts; estimate for all of them: "
                f"{point.projected_gap:.2g} ± {point.projected_gap_error:.1g}; {point.seconds:.0f} s"
            )
        else:
            show(words_of_tree(point))

    return tell


def words_of_tree(point: Any) -> str:
    """Say how far a search tree is."""
    return (
        f"bound {point.lower_bound:.6g}, best {point.upper_bound:.6g}, gap {point.gap:.2g}, "
        f"{point.n_nodes} nodes, {point.n_open} open, {point.seconds:.0f} s"
    )


def tell_parts(proof: "Certificate") -> Iterator[str]:
    """Say what a bound by parts is made of, what it left out, and where it would end."""
    if proof.n_parts:
        yield f"bound by parts: {proof.n_nodes} of {proof.n_parts} done, up to {proof.part_size} blocks each"
        if proof.n_nodes < proof.n_parts and proof.projected_gap is not None:
            gap = f"{proof.projected_gap:.2g} ± {proof.projected_gap_error:.1g}"
            yield f"estimate, not proved: gap {gap} with all parts"
    for what in proof.left_out:
        yield for_the_command_line(f"not seen by the bound: {what}")
