"""Groups that are alike to each other, each as mixed as all rows: the opposite of clusters."""

from konstrain.mixing.groups import MixedGroups, mixed_groups

__all__ = ["MixedGroups", "mixed_groups"]
