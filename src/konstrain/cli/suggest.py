"""`konstrain suggest`: the pairs worth asking a person about."""

import sys
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer

from konstrain.cli.options import OUTPUT, DataOptions, Json, LinksAndSizes, Quiet, Seed, option, spread
from konstrain.cli.running import guarded, interrupts, print_result, progress, rows_named

# The list of questions is CSV text for an editor or a spreadsheet.
ENDINGS = (".csv", ".txt")


# How pairs are chosen.
Strategy = Literal["uncertainty", "margin", "explore-consolidate", "min-max"]


# How distances are measured.
Metric = Literal["cosine", "learned", "itml", "rca", "diagonal", "standard"]


@spread
@guarded
def suggest(
    rows: DataOptions,
    constraints: LinksAndSizes,
    ask: Annotated[int, typer.Option(min=1, help="Number of pairs.")] = 10,
    k: Annotated[
        int | None, typer.Option("-k", "--clusters", min=1, help="Number of clusters. (default: found by asking)")
    ] = None,
    strategy: Annotated[Strategy, typer.Option(help="How they are chosen.")] = "uncertainty",
    noise: Annotated[
        float, typer.Option(min=0.0, help="Share of answers that may be wrong: doubtful ones are asked once more.")
    ] = 0.0,
    metric: Annotated[
        Metric | None,
        typer.Option(help="Measure distances as the answers so far tell, or between directions (cosine)."),
    ] = None,
    seed: Seed = 0,
    output: Annotated[
        Path | None, option(OUTPUT, "Write a,b,answer to fill in and give back as --answers.", "-o", "--output")
    ] = None,
    append: Annotated[
        bool,
        option(OUTPUT, "Add to the file of -o: its answers count, the new questions come below them.", "--append"),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Choose the pairs of rows worth asking a person about: do they belong together.

    Write 'must' or 'cannot' into the third column, leave open what you do not know, and give the file to any other
    verb as --answers FILE; give it to 'suggest' for the next round.
    """
    from konstrain import suggest_pairs
    from konstrain.cli.given import read_given, refuse_too_few_rows, without_rules
    from konstrain.files.links import questions_text, still_open, write_questions_file

    constraints.refuse_neighbours("suggest", "")
    earlier = _earlier_questions(output, append=append)
    if earlier is not None:
        constraints = replace(constraints, links=[*constraints.links, earlier])
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=[output] if earlier is None else [])
    if k is not None:
        refuse_too_few_rows(rows, given, k)
    with rows_named(given.rows), progress("looking for pairs ...", quiet=quiet):
        pairs = suggest_pairs(
            given.X,
            k,
            ask=ask,
            strategy=strategy,
            noise=noise,
            metric=metric,
            random_state=seed,
            **without_rules(given, "suggest"),
        ).tolist()
    interrupts.end_here()
    names = [(given.rows.name_of(a), given.rows.name_of(b)) for a, b in pairs]
    known = [] if earlier is None else still_open(earlier, given.rows, map(tuple, pairs))
    questions = [(a, b, "") for a, b in pairs if (a, b) not in known]
    if output is None:
        text = questions_text(given.rows, questions).rstrip("\n")
        if not json and sys.stdout is not None:
            _refuse_unprintable(text)
    else:
        write_questions_file(output, given.rows, questions, below=earlier)
        text = _words_of_file(output, len(questions), len(known))
    print_result(text, {"strategy": strategy, "pairs": names}, as_json=json)


def _earlier_questions(output: Path | None, *, append: bool) -> Path | None:
    """The file to add to, if there is one already; raises if there is none to write, or it could not be written."""
    from konstrain.exceptions import FileError
    from konstrain.files.links import holds_answers
    from konstrain.files.outputs import refuse_unwritable

    if output is None:
        if append:
            raise FileError("--append adds to a file: say which with -o")
        return None
    if output.suffix.lower() not in ENDINGS:
        raise FileError(f"{output} would hold text to fill in; its name should end in {', '.join(ENDINGS)}")
    refuse_unwritable(output)
    if append:
        return output if output.exists() else None
    if output.exists() and holds_answers(output):
        raise FileError(f"{output} holds answers; add to it with --append, or write to another file")
    return None


def _words_of_file(output: Path, n_written: int, n_open: int) -> str:
    from konstrain._messages import counted

    words = f"wrote {counted(n_written, 'pair')} to {output}"
    if n_open:
        words += f" ({n_open} more stood open there)"
    return f"{words}; fill in 'must' or 'cannot' and give it back as --answers {quote(str(output))}"


def _refuse_unprintable(text: str) -> None:
    """Raise if names would come out as codes: given back, they would be names of no row."""
    from konstrain.exceptions import FileError

    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError as error:
        letter = text[error.start]
        raise FileError(f"{letter!r} cannot be printed here; write the pairs to a file with -o") from None
