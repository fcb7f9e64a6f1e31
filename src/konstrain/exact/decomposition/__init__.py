"""The decomposition bound: a partition of the rows whose parts are bounded one by one and added up."""
