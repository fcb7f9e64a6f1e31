#include "search.h"

#include <nanobind/stl/function.h>

#include "arrays.h"
#include "bindings.h"
#include "repair.h"
#include "signal_poll.h"

namespace {

using konstrain::search::RunLimits;
using konstrain::search::Search;

template <typename T, typename Array> std::vector<T> copied(const Array& array) {
    return {array.data(), array.data() + array.size()};
}

template <typename T> std::vector<T> copied(const std::optional<Vector<T>>& array) {
    return array ? copied<T>(*array) : std::vector<T>{};
}

// Compressed rows: where each begins, where its entries lead to, and what they cost.
using Entries = std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>>;

void makeSearch(Search* self, Matrix<double> means, Vector<double> weight, Matrix<double> amounts,
                Matrix<double> low, Matrix<double> high, Vector<double> unit,
                std::optional<Vector<std::int64_t>> linkStart, std::optional<Vector<std::int32_t>> linkTo,
                std::optional<Vector<double>> linkPenalty, const std::optional<Entries>& homes, bool nonempty,
                bool unitCenters, std::uint64_t seed, std::optional<Vector<std::int64_t>> graphStart,
                std::optional<Vector<std::int32_t>> graphTo, std::optional<Vector<std::int64_t>> firstPart,
                std::optional<Vector<std::int32_t>> blockOf) {
    new (self) Search(
        {
            means.shape(0),
            means.shape(1),
            low.shape(0),
            low.shape(1),
            copied<double>(means),
            copied<double>(weight),
            copied<double>(amounts),
            copied<double>(low),
            copied<double>(high),
            copied<std::int64_t>(linkStart),
            copied<std::int32_t>(linkTo),
            copied<double>(linkPenalty),
            homes ? copied<std::int64_t>(std::get<0>(*homes)) : std::vector<std::int64_t>{},
            homes ? copied<std::int32_t>(std::get<1>(*homes)) : std::vector<std::int32_t>{},
            homes ? copied<double>(std::get<2>(*homes)) : std::vector<double>{},
            nonempty,
            unitCenters,
            copied<double>(unit),
            {},
            {},
            {},
        },
        {copied<std::int64_t>(graphStart), copied<std::int32_t>(graphTo), copied<std::int64_t>(firstPart),
         copied<std::int32_t>(blockOf)},
        seed);
}

RunLimits limitsOf(int maxIterations, double tolerance, double timeLimit) {
    return {maxIterations, tolerance, konstrain::deadlineIn(timeLimit), signalPoll()};
}

auto repairLabels(Matrix<double> costs, Matrix<double> added, Matrix<double> low, Matrix<double> high,
                  Matrix<double> duals, Vector<double> unit, std::optional<Vector<std::int64_t>> linkStart,
                  std::optional<Vector<std::int32_t>> linkTo, std::optional<Vector<double>> linkPenalty,
                  Vector<std::int32_t> start, double timeLimit) {
    auto labels = copyVector<std::int32_t>(view<std::int32_t>(start));
    bool isKept = false;
    {
        nb::gil_scoped_release release;
        const std::size_t n = costs.shape(0);
        konstrain::search::Problem problem{n,
                                           0,
                                           low.shape(0),
                                           low.shape(1),
                                           {},
                                           std::vector<double>(n),
                                           copied<double>(added),
                                           copied<double>(low),
                                           copied<double>(high),
                                           copied<std::int64_t>(linkStart),
                                           copied<std::int32_t>(linkTo),
                                           copied<double>(linkPenalty),
                                           {},
                                           {},
                                           {},
                                           false,
                                           false,
                                           copied<double>(unit),
                                           {},
                                           {},
                                           {}};
        isKept =
            konstrain::search::repairLabels(std::move(problem), view<double>(costs), view<double>(duals),
                                            {labels.data(), labels.size()}, konstrain::deadlineIn(timeLimit));
    }
    return std::make_tuple(labels, isKept);
}

} // namespace

void bindSearch(nb::module_& m) {
    m.def("repair_labels", &repairLabels, "costs"_a.noconvert(), "added"_a.noconvert(), "low"_a.noconvert(),
          "high"_a.noconvert(), "duals"_a.noconvert(), "unit"_a.noconvert(),
          "link_start"_a.noconvert().none(), "link_to"_a.noconvert().none(),
          "link_penalty"_a.noconvert().none(), "labels"_a.noconvert(), "time_limit"_a,
          "Labels with blocks moved until all rules are kept, and whether they are.");
    nb::class_<Search>(m, "Search", "Constrained k-means over blocks; keeps the best labels of its runs.")
        .def("__init__", &makeSearch, "means"_a.noconvert(), "weight"_a.noconvert(), "amounts"_a.noconvert(),
             "low"_a.noconvert(), "high"_a.noconvert(), "unit"_a.noconvert(),
             "link_start"_a.noconvert().none(), "link_to"_a.noconvert().none(),
             "link_penalty"_a.noconvert().none(), "homes"_a.noconvert().none(), "nonempty"_a,
             "unit_centers"_a, "seed"_a, "graph_start"_a.noconvert() = nb::none(),
             "graph_to"_a.noconvert() = nb::none(), "first_part"_a.noconvert() = nb::none(),
             "block_of"_a.noconvert() = nb::none())
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
        .def(
            "anneal",
            [](Search& self, Vector<std::int32_t> labels, std::int64_t nSteps, double timeLimit) {
                const RunLimits limits = limitsOf(0, 0.0, timeLimit);
                nb::gil_scoped_release release;
                self.anneal(view<std::int32_t>(labels), nSteps, limits);
            },
            "labels"_a.noconvert(), "n_steps"_a, "time_limit"_a,
            "Bring each cluster of these labels into one piece of the graph and anneal them.")
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
