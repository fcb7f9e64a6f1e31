"""
Blocks, prices and boxes
========================

The pictures of the concepts page: rows that become blocks, and the price of a full cluster. And one of the page on
bounds: the boxes that prove that no cluster is cheaper than its duals.
"""

import numpy as np
from matplotlib import pyplot as plt
from sklearn.datasets import make_blobs

from konstrain import Problem, assign
from konstrain.plotting import plot_clusters
from konstrain.plotting._style import COLORS, INK


# %%
# Must-linked rows become one weighted point.
def draw_blocks() -> None:
    """Rows with must-links and a cannot-link, and the weighted blocks with their conflict."""
    X, _ = make_blobs(12, centers=[(0, 0), (4, 1)], cluster_std=1.1, random_state=2)
    must, cannot = [(0, 1), (1, 4), (2, 6), (5, 9)], [(4, 9)]
    problem = Problem.build(X, 2, must_link=must, cannot_link=cannot)
    _, (left, right) = plt.subplots(1, 2, num="concept_blocks", figsize=(9.2, 4), layout="constrained")
    plot_clusters(X, np.zeros(len(X), int), must_link=must, ax=left)
    left.texts[0].remove()
    left.set_title(f"{len(X)} rows with must-links", pad=28)
    a, b = problem.mean[problem.block_of[list(cannot[0])]]
    right.plot(*np.array([a, b]).T, color=INK, linestyle="--", zorder=1)
    right.scatter(*problem.mean.T, s=130 * problem.weight, c=COLORS[0], edgecolors="white", zorder=2)
    for mean, weight in zip(problem.mean, problem.weight, strict=True):
        right.annotate(f"{weight:g}", mean, color="white", ha="center", va="center", fontsize=8)
    right.set(xlim=left.get_xlim(), ylim=left.get_ylim())
    right.spines[["top", "right"]].set_visible(False)
    right.set_title(f"{problem.n_blocks} blocks with their weights, one conflict", pad=28)
    plt.show()


# %%
# At the right price of the full cluster the border moves until the sizes fit.
def draw_prices() -> None:
    """Costs of rows at two centers, without and with the price that makes the sizes equal."""
    x = np.sort(np.concatenate([np.linspace(0, 4, 14), np.linspace(6, 10, 6)]))
    centers = np.array([2.0, 8.0])
    problem = Problem.build(x[:, None], 2, size_min=10, size_max=10)
    answer = assign(problem.assignment_problem((x[:, None] - centers) ** 2))
    price = np.ptp(answer.prices)
    line = np.linspace(0, 10, 200)
    _, axes = plt.subplots(1, 2, num="concept_prices", figsize=(9.2, 4), layout="constrained")
    titles = ("no price: 14 and 6 rows", f"price {price:.1f}: 10 and 10 rows")
    for ax, paid, title in zip(axes, (0.0, price), titles, strict=True):
        costs = (line[:, None] - centers) ** 2 + [paid, 0.0]
        ax.plot(line, costs[:, 0], color=COLORS[0], label="left cluster, price included")
        ax.plot(line, costs[:, 1], color=COLORS[1], linestyle="--", label="right cluster")
        to_right = ((x[:, None] - centers) ** 2 + [paid, 0.0]).argmin(axis=1)
        if paid:
            to_right = answer.labels
        for j, mark in enumerate("os"):
            ax.scatter(x[to_right == j], np.full((to_right == j).sum(), -3.0), marker=mark, c=COLORS[j], s=30)
        ax.set(title=title, xlabel="rows", ylabel="cost", ylim=(-6, 60))
        ax.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=9)
    plt.show()


# %%
# A row takes part in a cluster whose center lies within its circle. Boxes are halved where a center could still make
# a cluster cheaper than the best known one.
def draw_boxes() -> None:
    """Rows with the circles of their duals, and the boxes that a search for the cheapest cluster visits."""
    X, _ = make_blobs(60, centers=[(0, 0), (3.2, 0.6), (1.2, 2.8)], cluster_std=0.6, random_state=4)
    duals = np.full(len(X), 0.8)
    least = min(np.minimum(0.0, ((X - c) ** 2).sum(axis=1) - duals).sum() for c in X)
    _, ax = plt.subplots(num="concept_boxes", figsize=(6.4, 5), layout="constrained")
    for x, dual in zip(X, duals, strict=True):
        ax.add_patch(plt.Circle(x, dual**0.5, color=COLORS[0], alpha=0.05, linewidth=0))
    waiting, n_boxes = [(X.min(axis=0), X.max(axis=0))], 0
    while waiting:
        low, high = waiting.pop()
        n_boxes += 1
        ax.add_patch(plt.Rectangle(low, *(high - low), fill=False, edgecolor=INK, linewidth=0.4))
        nearest = (np.maximum(np.maximum(low - X, X - high), 0.0) ** 2).sum(axis=1) - duals
        farthest = (np.maximum(X - low, high - X) ** 2).sum(axis=1) - duals
        slope = np.where(farthest <= 0, 1.0, np.where(nearest >= 0, 0.0, -nearest / (farthest - nearest)))
        center = np.clip(slope @ X / max(slope.sum(), 1e-9), low, high)
        chords = slope * (((X - center) ** 2).sum(axis=1) - duals) + (1 - slope) * np.minimum(nearest, 0.0)
        if chords.sum() < 1.02 * least:
            axis = int(np.argmax(high - low))
            middle = np.where(np.arange(2) == axis, (low + high) / 2, high)
            waiting += [(low, middle), (np.where(np.arange(2) == axis, middle, low), high)]
    ax.scatter(*X.T, s=14, c=COLORS[0], zorder=2)
    ax.set_aspect("equal")
    ax.axis("off")
    ax.set_title(f"{len(X)} rows with the circles of their duals, {n_boxes} boxes")
    plt.show()


# %%
# All pictures.
draw_blocks()
draw_prices()
draw_boxes()
