"""
Constraints that cannot hold
============================

What clashes, in words and as a picture, and a way out that works.
"""

from matplotlib import pyplot as plt
from sklearn.datasets import load_iris

from konstrain import ConstrainedKMeans, InfeasibleError, check
from konstrain.plotting import plot_conflicts

X, _ = load_iris(return_X_y=True)
wishes = {
    "must_link": [(0, 7), (7, 60), (60, 99)],
    "cannot_link": [(0, 99), (10, 70), (10, 120), (70, 120), (10, 140), (70, 140), (120, 140)],
}

# %%
# ``fit`` stops at the first reason, before any clustering.
try:
    ConstrainedKMeans(3, size_max=40).fit(X, **wishes)
except InfeasibleError as error:
    print(f"fit stops at the first reason ({error.reason}): {error}\n")

# %%
# ``check`` tells all of them.
result = check(X, 3, size_max=40, **wishes)
print(result)
_, ax = plt.subplots(figsize=(10, 4.6), layout="constrained")
plot_conflicts(result, ax=ax)
plt.show()

# %%
# The way out: each message names one.
wishes["cannot_link"].remove((0, 99))
wishes["cannot_link"].remove((120, 140))
model = ConstrainedKMeans(3, size_max=55, random_state=0).fit(X, **wishes)
print(f"\nwithout these two links and with size_max=55: sizes {model.cluster_sizes_.astype(int)}, all links kept")
