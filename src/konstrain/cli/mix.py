"""`konstrain mix`: groups that are alike to each other."""

from dataclasses import replace
from typing import Annotated

import typer

from konstrain.cli.options import (
    Clusters,
    DataOptions,
    DialectOption,
    Join,
    Json,
    Out,
    Quiet,
    Seed,
    WithoutWeight,
    spread,
)
from konstrain.cli.running import guarded


@spread
@guarded
def mix(
    rows: DataOptions,
    k: Clusters,
    constraints: WithoutWeight,
    n_init: Annotated[int, typer.Option(min=1, help="Number of starts, of which the best counts.")] = 10,
    seed: Seed = 0,
    output: Out = None,
    join: Join = False,
    dialect: DialectOption = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Partition rows into mixed groups that are alike to each other: teams, classes, test groups.

    The opposite of 'fit', whose groups hold rows that are alike. Sizes are as equal as can be unless they are given.

    Example: konstrain mix people.csv --id name -k 4 --cannot-link apart.csv -o teams.csv
    """
    import numpy as np

    from konstrain import mixed_groups
    from konstrain._messages import enumerated
    from konstrain.cli.given import distances_to_centers, read_given, refuse_too_few_rows
    from konstrain.cli.results import LabelsFile, reading_of
    from konstrain.cli.running import interrupts, note, one_line, print_result, progress, rows_named
    from konstrain.tables.plan import Kind
    from konstrain.tables.profile import center_text, profile_clusters

    constraints.refuse_neighbours("mix", "")
    labels_file = LabelsFile(output, join, dialect, *reading_of(rows))
    labels_file.refuse_impossible()
    files = [] if labels_file.is_standard_output else [output]
    given = read_given(rows, constraints, quiet=quiet, n_clusters=k, outputs=files)
    refuse_too_few_rows(rows, given, k)
    asked = replace(given.constraints, sample_weight=None).given()
    if given.constraints.sample_weight is not None:
        note("--weight is about costs, which mixed groups have none of: it does not count", quiet=quiet)
    with rows_named(given.rows), progress("mixing ...", quiet=quiet):
        groups = mixed_groups(given.X, k, n_init=n_init, random_state=seed, **asked)
    interrupts.end_here()
    distances = distances_to_centers(given.X, groups.labels, groups.means)
    labels_file.write(given.source, given.rows, groups.labels, distances, given.prepared.kept)
    plan = given.prepared.preparation.plan
    profiles = profile_clusters(given.prepared.columns, plan, groups.labels, k, distances)
    lines = [str(groups), "", "means of the groups, or the commonest text and its share:"]
    for column, *traits in zip(plan.columns, *(profile.center for profile in profiles), strict=True):
        kind = "" if column.kind != Kind.CATEGORY else " (text)"
        lines.append(f"  {one_line(column.name)}{kind}: {', '.join(one_line(center_text(t)) for t in traits)}")
    if interrupts.written:
        lines += ["", f"wrote {enumerated(interrupts.written)}"]
    values = {
        **given.summary(),
        **groups.to_dict(),
        "clusters": [profile.to_dict() for profile in profiles],
        "largest_difference": float(np.ptp(groups.means, axis=0).max()),
        "files": list(interrupts.written),
    }
    print_result("\n".join(lines), values, as_json=json, beside_output=labels_file.is_standard_output)
