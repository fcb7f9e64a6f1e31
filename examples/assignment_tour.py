"""
The assignment step, step by step
=================================

k-means by hand on Iris: three clusters of 50, links from the species, each answer with its proof.
"""

import numpy as np
from matplotlib import pyplot as plt
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_iris

from konstrain import InfeasibleError, Problem, assign, check
from konstrain.plotting import plot_clusters

console = Console()
X, species = load_iris(return_X_y=True)
rng = np.random.default_rng(0)
pairs = rng.integers(0, len(X), (60, 2))
pairs = pairs[pairs[:, 0] != pairs[:, 1]]
same = species[pairs[:, 0]] == species[pairs[:, 1]]

problem = Problem.build(X, n_clusters=3, must_link=pairs[same], cannot_link=pairs[~same], size_min=50, size_max=50)
console.print(str(check(X, 3, must_link=pairs[same], cannot_link=pairs[~same], size_min=50, size_max=50)))

# %%
# Costs, an exact step, means, and again.
table = Table(title="\nk-means on Iris, every step exact")
for column in ("step", "engine", "cost", "lower bound", "proved", "sizes"):
    table.add_column(column, justify="right")
centers = X[[0, 60, 120]]
answer = None
costs_of_steps = []
for step in range(1, 11):
    costs = problem.weight[:, None] * ((problem.mean[:, None, :] - centers) ** 2).sum(axis=2)
    previous, answer = answer, assign(problem.assignment_problem(costs), warm=answer)
    labels = problem.expand(answer.labels)
    scatter = problem.scatter.sum()
    costs_of_steps.append(answer.cost + scatter)
    table.add_row(
        str(step),
        answer.engine,
        f"{answer.cost + scatter:.4f}",
        f"{answer.lower_bound + scatter:.4f}",
        "yes" if answer.proven else "no",
        " ".join(map(str, np.bincount(labels, minlength=3))),
    )
    if previous is not None and np.array_equal(previous.labels, answer.labels):
        break
    centers = np.stack([X[labels == j].mean(axis=0) for j in range(3)])
console.print(table)

_, (left, right) = plt.subplots(1, 2, figsize=(9.2, 4), layout="constrained")
left.plot(range(1, len(costs_of_steps) + 1), costs_of_steps, marker="o")
left.set(
    xlabel="step", ylabel="cost, proved least at the centers of the step", xticks=range(1, len(costs_of_steps) + 1)
)
plot_clusters(X, labels, centers=centers, must_link=pairs[same], cannot_link=pairs[~same], ax=right)

# %%
# What cannot be is refused with its path.
console.print("\nAnd when the constraints contradict each other:")
try:
    Problem.build(X, n_clusters=3, must_link=[(0, 7), (7, 60), (60, 99)], cannot_link=[(0, 99)])
except InfeasibleError as error:
    console.print(f"  {error}", style="yellow")
plt.show()
