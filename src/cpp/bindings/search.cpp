#include "search.h"

#include <nanobind/stl/optional.h>

#include "arrays.h"
#include "repair.h"
#include "signal_poll.h"

namespace konstrain::search {

namespace {

template <typename T> std::vector<T> copied(std::span<const T> values) {
    return {values.begin(), values.end()};
}

// Compressed rows: where each begins, where its entries lead to, and what they cost.
using Entries = std::tuple<Vector<std::int64_t>, Vector<std::int32_t>, Vector<double>>;

// A problem of rules and links, without features.
Problem problemOf(Matrix<double> amounts, Matrix<double> low, Matrix<double> high, Vector<double> unit,
                  const Entries& links) {
    Problem problem{};
    problem.nBlocks = amounts.nRows;
    problem.nClusters = low.nRows;
    problem.nRules = low.nColumns;
    problem.amounts = copied<double>(amounts);
    problem.low = copied<double>(low);
    problem.high = copied<double>(high);
    problem.unit = copied(unit);
    problem.linkStart = copied(std::get<0>(links));
    problem.linkTo = copied(std::get<1>(links));
    problem.linkPenalty = copied(std::get<2>(links));
    return problem;
}

void makeSearch(Search* self, Matrix<double> means, Vector<double> weight, Matrix<double> amounts,
                Matrix<double> low, Matrix<double> high, Vector<double> unit, Vector<std::int64_t> linkStart,
                Vector<std::int32_t> linkTo, Vector<double> linkPenalty, const std::optional<Entries>& homes,
                bool nonempty, bool unitCenters, std::uint64_t seed, Vector<std::int64_t> graphStart,
                Vector<std::int32_t> graphTo, Vector<std::int64_t> firstPart, Vector<std::int32_t> blockOf) {
    Problem problem = problemOf(amounts, low, high, unit, {linkStart, linkTo, linkPenalty});
    problem.nFeatures = means.nColumns;
    problem.means = copied<double>(means);
    problem.weight = copied(weight);
    if (homes) {
        problem.homeStart = copied(std::get<0>(*homes));
        problem.homeCluster = copied(std::get<1>(*homes));
        problem.homeCost = copied(std::get<2>(*homes));
    }
    problem.nonempty = nonempty;
    problem.hasUnitCenters = unitCenters;
    new (self) Search(std::move(problem),
                      {copied(graphStart), copied(graphTo), copied(firstPart), copied(blockOf)}, seed);
}

RunLimits limitsOf(int maxIterations, double tolerance, double timeLimit) {
    return {maxIterations, tolerance, deadlineIn(timeLimit), signalPoll()};
}

auto repaired(Matrix<double> costs, Matrix<double> added, Matrix<double> low, Matrix<double> high,
              Matrix<double> duals, Vector<double> unit, Vector<std::int64_t> linkStart,
              Vector<std::int32_t> linkTo, Vector<double> linkPenalty, Vector<std::int32_t> start,
              double timeLimit) {
    Problem problem = problemOf(added, low, high, unit, {linkStart, linkTo, linkPenalty});
    problem.weight.resize(costs.nRows);
    Array<std::int32_t> labels(start);
    const bool isKept = repairLabels(std::move(problem), costs, duals, labels, deadlineIn(timeLimit));
    return std::make_tuple(std::move(labels), isKept);
}

} // namespace

void bindSearch(nb::module_& m) {
    m.def("repair_labels", &repaired, "costs"_a, "added"_a, "low"_a, "high"_a, "duals"_a, "unit"_a,
          "link_start"_a.none(), "link_to"_a.none(), "link_penalty"_a.none(), "labels"_a, "time_limit"_a,
          WithoutGil(), "Labels with blocks moved until all rules are kept, and whether they are.");
    nb::class_<Search>(m, "Search", "Constrained k-means over blocks; keeps the best labels of its runs.")
        .def("__init__", &makeSearch, "means"_a, "weight"_a, "amounts"_a, "low"_a, "high"_a, "unit"_a,
             "link_start"_a.none(), "link_to"_a.none(), "link_penalty"_a.none(), "homes"_a, "nonempty"_a,
             "unit_centers"_a, "seed"_a, "graph_start"_a = nb::none(), "graph_to"_a = nb::none(),
             "first_part"_a = nb::none(), "block_of"_a = nb::none())
        .def(
            "run_from",
            [](Search& self, Matrix<double> centers, bool priced, int maxIterations, double tolerance,
               double timeLimit) {
                self.runFrom(centers, priced, limitsOf(maxIterations, tolerance, timeLimit));
            },
            "centers"_a, "priced"_a, "max_iterations"_a, "tolerance"_a, "time_limit"_a, WithoutGil(),
            "Run from these centers.")
        .def(
            "relocate",
            [](Search& self, bool priced, int maxIterations, double tolerance, double timeLimit) {
                self.relocate(priced, limitsOf(maxIterations, tolerance, timeLimit));
            },
            "priced"_a, "max_iterations"_a, "tolerance"_a, "time_limit"_a, WithoutGil(),
            "Run from the best clustering with one center moved.")
        .def(
            "improve",
            [](Search& self, Vector<std::int32_t> labels, int maxIterations, double timeLimit) {
                self.improve(labels, limitsOf(maxIterations, 0.0, timeLimit));
            },
            "labels"_a, "max_iterations"_a, "time_limit"_a, WithoutGil(), "Repair and polish these labels.")
        .def(
            "anneal",
            [](Search& self, Vector<std::int32_t> labels, std::int64_t nSteps, double timeLimit) {
                self.anneal(labels, nSteps, limitsOf(0, 0.0, timeLimit));
            },
            "labels"_a, "n_steps"_a, "time_limit"_a, WithoutGil(),
            "Bring each cluster of these labels into one piece of the graph and anneal them.")
        .def_prop_ro("labels", [](const Search& self) { return Array<std::int32_t>(self.best().labels); })
        .def_prop_ro("centers", [](const Search& self) { return Array<double>(self.best().centers); })
        .def_prop_ro("duals", [](const Search& self) { return Array<double>(self.best().duals); })
        .def_prop_ro("cost", &Search::cost)
        .def_prop_ro("violation", &Search::violation)
        .def_prop_ro("n_iterations", &Search::nIterations)
        .def_prop_ro("has_converged", &Search::hasConverged)
        .def_prop_ro("work", &Search::work)
        .def("step_bound", &Search::stepBound, WithoutGil());
}

} // namespace konstrain::search
