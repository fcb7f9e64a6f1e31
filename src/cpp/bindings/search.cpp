#include "search.h"

#include <nanobind/stl/function.h>

#include "arrays.h"
#include "bindings.h"
#include "problem_arrays.h"
#include "signal_poll.h"

namespace {

using konstrain::search::RunLimits;
using konstrain::search::Search;

void makeSearch(Search* self, Matrix<double> means, Vector<double> weight, Matrix<double> amounts,
                Matrix<double> low, Matrix<double> high, Vector<double> unit,
                std::optional<Vector<std::int64_t>> linkStart, std::optional<Vector<std::int32_t>> linkTo,
                std::optional<Vector<double>> linkPenalty, bool nonempty, std::uint64_t seed) {
    new (self)
        Search(problemOf(means, weight, amounts, low, high, unit, linkStart, linkTo, linkPenalty, nonempty),
               {}, seed);
}

RunLimits limitsOf(int maxIterations, double tolerance, double timeLimit) {
    return {maxIterations, tolerance, konstrain::deadlineIn(timeLimit), signalPoll()};
}

} // namespace

void bindSearch(nb::module_& m) {
    nb::class_<Search>(m, "Search", "Constrained k-means over blocks; keeps the best labels of its runs.")
        .def("__init__", &makeSearch, "means"_a.noconvert(), "weight"_a.noconvert(), "amounts"_a.noconvert(),
             "low"_a.noconvert(), "high"_a.noconvert(), "unit"_a.noconvert(),
             "link_start"_a.noconvert().none(), "link_to"_a.noconvert().none(),
             "link_penalty"_a.noconvert().none(), "nonempty"_a, "seed"_a)
        .def(
            "run_from",
            [](Search& self, Matrix<double> centers, bool priced, int maxIterations, double tolerance,
               double timeLimit) {
                const RunLimits limits = limitsOf(maxIterations, tolerance, timeLimit);
                nb::gil_scoped_release release;
                self.runFrom(view<double>(centers), priced, limits);
            },
            "centers"_a.noconvert(), "priced"_a, "max_iterations"_a, "tolerance"_a, "time_limit"_a,
            "Run from these centers.")
        .def(
            "relocate",
            [](Search& self, bool priced, int maxIterations, double tolerance, double timeLimit) {
                const RunLimits limits = limitsOf(maxIterations, tolerance, timeLimit);
                nb::gil_scoped_release release;
                self.relocate(priced, limits);
            },
            "priced"_a, "max_iterations"_a, "tolerance"_a, "time_limit"_a,
            "Run from the best clustering with one center moved.")
        .def(
            "improve",
            [](Search& self, Vector<std::int32_t> labels, int maxIterations, double timeLimit) {
                const RunLimits limits = limitsOf(maxIterations, 0.0, timeLimit);
                nb::gil_scoped_release release;
                self.improve(view<std::int32_t>(labels), limits);
            },
            "labels"_a.noconvert(), "max_iterations"_a, "time_limit"_a, "Repair and polish these labels.")
        .def_prop_ro(
            "labels", [](const Search& self) { return copyVector<std::int32_t>(self.best().labels); },
            nb::rv_policy::move)
        .def_prop_ro(
            "centers", [](const Search& self) { return copyVector<double>(self.best().centers); },
            nb::rv_policy::move)
        .def_prop_ro(
            "duals", [](const Search& self) { return copyVector<double>(self.best().duals); },
            nb::rv_policy::move)
        .def_prop_ro("cost", &Search::cost)
        .def_prop_ro("violation", &Search::violation)
        .def_prop_ro("n_iterations", &Search::nIterations)
        .def_prop_ro("has_converged", &Search::hasConverged)
        .def_prop_ro("work", &Search::work)
        .def("step_bound", [](Search& self) {
            nb::gil_scoped_release release;
            return self.stepBound();
        });
}
