"""The k-means engine over a `Problem`: sweeps over rows, starts, steps, loops, what follows them, restarts."""
