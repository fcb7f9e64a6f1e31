"""The semidefinite lower bound: relaxation, cuts, and the method that solves it."""
