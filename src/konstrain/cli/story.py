"""What is told about a fit: the report of the library, and what the clusters are like in the table's own units."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from konstrain import Report
from konstrain.cli.given import Given, distances_to_centers
from konstrain.cli.running import interrupts, notes, one_line
from konstrain.cli.words import without_options
from konstrain.exceptions import FileError
from konstrain.files import write_whole
from konstrain.files.outputs import refuse_unwritable
from konstrain.metrics import mean_silhouette
from konstrain.tables.profile import ClusterProfile, profile_clusters, profile_lines


def refuse_no_page(path: Path) -> None:
    """Raise now if a page could not be written later."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise FileError(f"{path} would hold a page; its name should end in .html")
    refuse_unwritable(path)


@dataclass(frozen=True, eq=False)
class Story:
    """All there is to tell about one clustering of a table."""

    given: Given
    labels: Any
    report: Report
    profiles: tuple[ClusterProfile, ...]
    silhouette: float | None

    @classmethod
    def of(cls, given: Given, labels: Any, centers: Any, report: Report) -> "Story":
        """Find out what the clusters are like."""
        distances = distances_to_centers(given.X, labels, centers)
        plan = given.prepared.preparation.plan
        profiles = profile_clusters(given.prepared.columns, plan, labels, report.n_clusters, distances)
        return cls(given, labels, report, profiles, mean_silhouette(given.X, labels))

    def name_of(self, row: int) -> str:
        """What a row is called, on one line."""
        return one_line(self.given.rows.name_of(row))

    def lines(self) -> Iterator[str]:
        """What a person reads."""
        yield self.report.to_text(self.name_of)
        if self.silhouette is not None:
            yield ""
            yield f"silhouette {self.silhouette:.3f} (1: far from other clusters, 0: between two)"
        told = list(profile_lines(self.profiles, self.name_of))
        if told:
            yield ""
            yield from map(one_line, told)

    def to_dict(self) -> dict[str, Any]:
        """What a program reads."""
        clusters = [
            {
                **profile.to_dict(),
                "typical": None if profile.typical is None else self.given.rows.name_of(profile.typical),
            }
            for profile in self.profiles
        ]
        return {**self.report.to_dict(), "silhouette": self.silhouette, "clusters": clusters}

    def write_page(self, path: Path, *facts: str) -> None:
        """Write the page about it."""
        from konstrain.tables.page import PageContents, page_of

        contents = PageContents(
            str(self.given.source),
            self.report,
            self.profiles,
            self.given.X,
            self.labels,
            self.silhouette,
            (*facts, *map(without_options, notes)),
            self.name_of,
            self.given.features,
        )
        write_whole(path, page_of(contents).encode())
        interrupts.wrote(path)
