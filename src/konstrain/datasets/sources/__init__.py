"""Where rows come from: one module per source, each with `has(name)` and `read(name)`."""
