"""The only module that calls HiGHS: arrays in, one result object out, statuses as strings."""

from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from konstrain._tolerances import HIGHS_FEASIBILITY
from konstrain.stop import UNLIMITED, Budget, solver_work


@dataclass(frozen=True, eq=False)
class BinaryProgram:
    """Minimise ``cost @ x`` with ``row_low <= rows @ x <= row_high``, ``0 <= x <= most``, x integer where marked."""

    cost: NDArray[np.float64]
    rows: csr_array
    row_low: NDArray[np.float64]
    row_high: NDArray[np.float64]
    integer: NDArray[np.bool_]
    # Branch by what branchings taught, without trying candidates beforehand: where very many are alike, trying takes
    # most of the time and finds little.
    is_even: bool = False
    most: NDArray[np.float64] | None = None  # None: 1 each.

    def with_rows(self, rows: csr_array, low: NDArray[np.float64], high: NDArray[np.float64]) -> "BinaryProgram":
        """Return the program with further rows."""
        return replace(
            self,
            rows=csr_array(vstack([self.rows, rows])),
            row_low=np.concatenate([self.row_low, low]),
            row_high=np.concatenate([self.row_high, high]),
        )


@dataclass(frozen=True, eq=False)
class BinarySolution:
    """What HiGHS found: `x` is None when it has no feasible point; `status` is optimal, infeasible or limit."""

    x: NDArray[np.float64] | None
    value: float
    bound: float
    status: str


class LinearProgram:
    """A binary program with x anywhere between 0 and 1, kept to be solved for many costs."""

    def __init__(self, program: BinaryProgram) -> None:
        self._solver = _solver(program)
        self._columns = np.arange(program.cost.size, dtype=np.int32)

    def solve(self, cost: NDArray[np.float64], *, budget: Budget = UNLIMITED) -> BinarySolution:
        """Solve for these costs, starting from the last solution, which stays feasible."""
        self._solver.changeColsCost(self._columns.size, self._columns, np.ascontiguousarray(cost))
        return _run(self._solver, budget)


def solve_binary(
    program: BinaryProgram, *, budget: Budget, start: NDArray[np.float64] | None = None
) -> BinarySolution:
    """Solve a binary program to proved optimality or until the budget is spent.

    The linear relaxation comes first: it is often integral already and then costs a fraction of a branch and bound.
    """
    solver = _solver(program)
    relaxed = _run(solver, budget)
    if relaxed.status != "optimal" or relaxed.x is None:
        return relaxed if relaxed.status == "infeasible" else BinarySolution(None, np.inf, -np.inf, "limit")
    fractional = np.abs(relaxed.x - np.round(relaxed.x))[program.integer]
    if fractional.max(initial=0.0) <= HIGHS_FEASIBILITY:
        return relaxed
    integral = np.flatnonzero(program.integer).astype(np.int32)
    kinds = np.full(integral.size, highspy.HighsVarType.kInteger)
    solver.changeColsIntegrality(integral.size, integral, kinds)
    if program.is_even:
        solver.setOptionValue("mip_pscost_minreliable", 0)
    if start is not None:
        _give_start(solver, start)
    solution = _run(solver, budget)
    return BinarySolution(solution.x, solution.value, max(solution.bound, relaxed.value), solution.status)


@dataclass(frozen=True, eq=False)
class LinearSolution:
    """Solution of a linear program: values, row duals, objective; `status` is optimal, infeasible or limit."""

    x: NDArray[np.float64]
    duals: NDArray[np.float64]
    value: float
    status: str


class GrowingProgram:
    """Minimise ``cost @ x`` with ``row_low <= rows @ x <= row_high``, ``x >= 0``; columns of x arrive over time.

    With `central` the middle of the set of optimal solutions is returned (interior point without crossover), not a
    corner.
    """

    def __init__(self, row_low: NDArray[np.float64], row_high: NDArray[np.float64], *, central: bool = False) -> None:
        self._solver = _silent_solver()
        if central:
            self._solver.setOptionValue("solver", "ipm")
            self._solver.setOptionValue("run_crossover", "off")
        # A basis at hand beats presolve, which would have to start anew after each new column.
        self._solver.setOptionValue("presolve", "off")
        nothing = np.zeros(0, dtype=np.int32)
        starts = np.zeros(row_low.size, dtype=np.int32)
        self._solver.addRows(row_low.size, row_low, row_high, 0, starts, nothing, np.zeros(0))

    @property
    def n_columns(self) -> int:
        """Number of columns so far."""
        return int(self._solver.getNumCol())

    def add_columns(
        self,
        cost: NDArray[np.float64],
        starts: NDArray[np.int32],
        rows: NDArray[np.int32],
        values: NDArray[np.float64],
        most: NDArray[np.float64] | None = None,
    ) -> None:
        """Add columns in compressed form: column i has the entries ``starts[i]`` up to ``starts[i + 1]``."""
        n = cost.size
        upper = np.full(n, np.inf) if most is None else most
        self._solver.addCols(n, cost, np.zeros(n), upper, rows.size, starts, rows, values)

    def change_columns(self, columns: NDArray[np.int32], cost: NDArray[np.float64], reach: float) -> None:
        """Give columns other costs, and let them run from ``-reach`` to ``reach``."""
        within = np.full(columns.size, reach)
        self._solver.changeColsCost(columns.size, columns, cost)
        self._solver.changeColsBounds(columns.size, columns, -within, within)

    def solve(self, budget: Budget) -> LinearSolution:
        """Solve the current program from the last basis."""
        nothing = np.zeros(0)
        if budget.expired():
            return LinearSolution(nothing, nothing, np.inf, "limit")
        _run_within(budget, self._solver)
        status = self._solver.getModelStatus()
        if status == highspy.HighsModelStatus.kInfeasible:
            return LinearSolution(nothing, nothing, np.inf, "infeasible")
        if status != highspy.HighsModelStatus.kOptimal:
            return LinearSolution(nothing, nothing, np.inf, "limit")
        solution = self._solver.getSolution()
        value = self._solver.getInfo().objective_function_value
        return LinearSolution(np.asarray(solution.col_value), np.asarray(solution.row_dual), value, "optimal")


def _silent_solver() -> Any:
    solver = highspy.Highs()
    for option, value in (
        ("output_flag", False),
        ("threads", 1),
        ("mip_rel_gap", 0.0),
        ("mip_abs_gap", 0.0),
        ("primal_feasibility_tolerance", HIGHS_FEASIBILITY),
        ("dual_feasibility_tolerance", HIGHS_FEASIBILITY),
        ("mip_feasibility_tolerance", HIGHS_FEASIBILITY),
    ):
        solver.setOptionValue(option, value)
    return solver


def _solver(program: BinaryProgram) -> Any:
    solver = _silent_solver()
    n = program.cost.size
    lp = highspy.HighsLp()
    lp.num_col_ = n
    lp.num_row_ = program.rows.shape[0]
    lp.col_cost_ = program.cost
    lp.col_lower_ = np.zeros(n)
    lp.col_upper_ = np.ones(n) if program.most is None else program.most
    lp.row_lower_ = program.row_low
    lp.row_upper_ = program.row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.rows.indptr
    lp.a_matrix_.index_ = program.rows.indices
    lp.a_matrix_.value_ = program.rows.data
    solver.passModel(lp)
    return solver


def _give_start(solver: Any, start: NDArray[np.float64]) -> None:
    solution = highspy.HighsSolution()
    solution.col_value = start.tolist()
    solver.setSolution(solution)


def _run_within(budget: Budget, solver: Any) -> None:
    """Run the solver; its callbacks spend from the budget, and are where Ctrl-C gets through."""
    work = solver_work(solver.getNumCol())

    def spend(event: Any) -> None:
        budget.spend(work)
        if not budget.affords(work):
            event.interrupt()

    budget.spend(work)
    solver.cbMipInterrupt += spend
    if budget.is_timed:
        # HiGHS counts from the first run of this object.
        solver.setOptionValue("time_limit", solver.getRunTime() + budget.remaining())
    try:
        solver.run()
    finally:
        solver.cbMipInterrupt -= spend


def _run(solver: Any, budget: Budget) -> BinarySolution:
    if budget.expired():
        return BinarySolution(None, np.inf, -np.inf, "limit")
    _run_within(budget, solver)
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return BinarySolution(None, np.inf, np.inf, "infeasible")
    info = solver.getInfo()
    is_mip = any(kind == highspy.HighsVarType.kInteger for kind in solver.getLp().integrality_)
    optimal = status == highspy.HighsModelStatus.kOptimal
    bound = info.mip_dual_bound if is_mip else (info.objective_function_value if optimal else -np.inf)
    if not optimal and info.primal_solution_status != highspy.kSolutionStatusFeasible:
        return BinarySolution(None, np.inf, bound, "limit")
    x = np.asarray(solver.getSolution().col_value)
    return BinarySolution(x, info.objective_function_value, bound, "optimal" if optimal else "limit")
