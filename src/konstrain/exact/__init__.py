"""Exact clustering: bounds that hold for every clustering, and the search that meets them."""
