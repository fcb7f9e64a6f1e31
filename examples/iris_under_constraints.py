"""The demo: Iris under links and sizes, what comes out, and what happens when constraints contradict each other."""

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.metrics import adjusted_rand_score

from konstrain import ConstrainedKMeans, InfeasibleError, check

console = Console()
X, species = load_iris(return_X_y=True)

# What a person knows: for 60 random pairs of flowers whether they are of one kind, and that no kind is rare.
rng = np.random.default_rng(0)
pairs = rng.integers(0, len(X), (60, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
same = species[pairs[:, 0]] == species[pairs[:, 1]]
links = {"must_link": pairs[same], "cannot_link": pairs[~same]}

console.rule("What the constraints imply")
console.print(str(check(X, 3, size_min=45, size_max=55, **links)))

console.rule("Three clusterings")
table = Table("", "sizes", "SSE", "broken links", "agreement with species (ARI)")


def add(name: str, model: KMeans | ConstrainedKMeans) -> None:
    """Add one row: sizes, SSE, violations and agreement."""
    broken = sum(model.labels_[i] != model.labels_[j] for i, j in links["must_link"])
    broken += sum(model.labels_[i] == model.labels_[j] for i, j in links["cannot_link"])
    sizes = " ".join(map(str, np.sort(np.bincount(model.labels_))))
    score = adjusted_rand_score(species, model.labels_)
    table.add_row(name, sizes, f"{model.inertia_:.3f}", str(broken), f"{score:.3f}")


add("plain k-means", KMeans(3, n_init=10, random_state=0).fit(X))
add("with links", ConstrainedKMeans(3, random_state=0).fit(X, **links))
add("with links, 45 to 55 each", ConstrainedKMeans(3, size_min=45, size_max=55, random_state=0).fit(X, **links))
console.print(table)

console.rule("How far from the best possible?")
model = ConstrainedKMeans(3, size_min=45, size_max=55, random_state=0).fit(X, **links)
certificate = model.certify(X, time_limit=60)
console.print(
    f"SSE {certificate.cost:.4f}; no clustering under these constraints is below {certificate.lower_bound:.4f}: "
    f"gap {certificate.gap:.1e}, " + ("proved optimal" if certificate.is_optimal else "not proved optimal")
)

console.rule("And when nothing can satisfy them")
for arguments, sizes in (
    ({"must_link": [(0, 7), (7, 60), (60, 99)], "cannot_link": [(0, 99)]}, {}),
    ({"cannot_link": [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]}, {}),
    ({}, {"size_max": 40}),
):
    try:
        ConstrainedKMeans(3, **sizes).fit(X, **arguments)
    except InfeasibleError as error:
        console.print(f"- {error}", soft_wrap=True)
