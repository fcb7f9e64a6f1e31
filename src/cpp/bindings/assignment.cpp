#include "arrays.h"
#include "cliques.h"
#include "deadline.h"
#include "linked_assignment.h"
#include "nearest.h"
#include "priced_rows.h"
#include "transport.h"

namespace konstrain {

namespace {

using linked::LinkedAssignment;
using linked::OpenComponent;

void bindRows(nb::module_& m) {
    m.def(
        "nearest",
        [](Matrix<double> costs) {
            Array<std::int32_t> labels(costs.nRows);
            const double cost = nearest(costs, costs.nColumns, labels);
            return std::make_pair(std::move(labels), cost);
        },
        "costs"_a, WithoutGil(), "First cheapest column of each row, and the sum of the minima.");
    m.def(
        "price_rows",
        [](Matrix<double> costs, Vector<double> duals) {
            Array<std::int32_t> labels(costs.nRows);
            Array<float> gaps(costs.nRows);
            std::vector<std::int64_t> sizes(duals.size());
            transport::priceRows(costs, duals, labels, gaps, sizes);
            return std::make_pair(std::move(labels), std::move(gaps));
        },
        "costs"_a, "duals"_a, WithoutGil(),
        "Cheapest column of each row at these duals, and the gap to the second-cheapest.");
}

// An open component as arrays: blocks, costs (flat), links (first, second, weight), feasible colours, value,
// bound.
auto describe(const OpenComponent& component) {
    const auto& potts = component.potts;
    Array<double> costs(std::span(potts.cost(0).data(), potts.nNodes() * potts.nColours()));
    Array<std::int32_t> first;
    Array<std::int32_t> second;
    Array<double> weight;
    for (const auto& link : potts.links()) {
        first.push_back(link.first);
        second.push_back(link.second);
        weight.push_back(link.weight);
    }
    return std::make_tuple(Array<std::int32_t>(component.blocks), std::move(costs), std::move(first),
                           std::move(second), std::move(weight), Array<std::int32_t>(component.colours),
                           component.value, component.bound);
}

void bindLinkedAssignment(nb::module_& m) {
    nb::class_<LinkedAssignment>(m, "LinkedAssignment",
                                 "Cheapest assignment of linked blocks without sizes; takes links up lazily.")
        .def(
            "__init__",
            [](LinkedAssignment* self, Matrix<double> costs, Vector<std::int64_t> indptr,
               Vector<std::int32_t> indices, Vector<double> weights, std::size_t nodeLimit,
               std::size_t cliqueLimit, double timeLimit) {
                new (self) LinkedAssignment({costs, costs.nColumns}, {indptr, indices, weights},
                                            {nodeLimit, cliqueLimit, timeLimit});
            },
            "costs"_a, "indptr"_a, "indices"_a, "weights"_a.none(), "node_limit"_a, "clique_limit"_a,
            "time_limit"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
            nb::keep_alive<1, 5>())
        .def("run", &LinkedAssignment::run, WithoutGil(),
             "Advance until done, infeasible (`clash` is not empty) or components are `open`.")
        .def("close", &LinkedAssignment::close, "index"_a, "colours"_a, "bound"_a,
             "Take the solution of an open component; all of them, in order, before `run` is called again.")
        .def(
            "open",
            [](const LinkedAssignment& self) {
                std::vector<decltype(describe(self.open().front()))> result;
                for (const auto& component : self.open())
                    result.push_back(describe(component));
                return result;
            },
            "Components the search gave up on: (blocks, costs, first, second, weight, colours, value, "
            "bound).")
        .def_prop_ro("clash", [](const LinkedAssignment& self) { return Array<std::int32_t>(self.clash()); })
        .def_prop_ro("labels",
                     [](const LinkedAssignment& self) { return Array<std::int32_t>(self.labels()); })
        .def(
            "slack", [](LinkedAssignment& self) { return Array<double>(self.slack()); },
            "Per block: its component's optimum less the sum of its blocks' cheapest costs.")
        .def_prop_ro("cost", &LinkedAssignment::cost)
        .def_prop_ro("doubt", &LinkedAssignment::doubt);
}

void bindTransport(nb::module_& m) {
    m.def(
        "transport",
        [](Matrix<double> costs, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool trustDuals, std::size_t listLength, std::size_t coreRows,
           std::size_t sampleRows) {
            transport::TransportOptions options;
            options.listLength = listLength;
            options.coreRows = coreRows;
            options.sampleRows = sampleRows;
            options.trustDuals = trustDuals;
            options.deadline = deadlineIn(timeLimit);
            Array<std::int32_t> labels(costs.nRows);
            Array<double> duals(start);
            duals.resize(costs.nColumns);
            const auto result = transport::solveTransport(costs, lower, upper, duals, labels, options);
            return std::make_tuple(std::move(labels), std::move(duals), result.cost, result.bound,
                                   result.finished);
        },
        "costs"_a, "lower"_a, "upper"_a, "start"_a, "time_limit"_a, "trust_duals"_a, "list_length"_a = 0,
        "core_rows"_a = 0, "sample_rows"_a = 0, WithoutGil(),
        "Labels of least cost with sizes in bounds, duals, cost, lower bound, whether it ended in time.");
}

void bindCliques(nb::module_& m) {
    m.def("is_disjoint_cliques", &isDisjointCliques, "indptr"_a, "indices"_a, WithoutGil(),
          "Whether a graph in compressed rows consists of cliques and isolated nodes.");
    m.def(
        "match_cliques",
        [](Matrix<double> costs, Vector<std::int64_t> indptr, Vector<std::int32_t> indices) {
            Array<std::int32_t> labels(costs.nRows);
            double cost = 0.0;
            Array<std::int32_t> clash = matchCliques(costs, costs.nColumns, indptr, indices, labels, cost);
            return std::make_tuple(std::move(labels), cost, std::move(clash));
        },
        "costs"_a, "indptr"_a, "indices"_a, WithoutGil(),
        "Labels and cost with the members of each clique kept apart, and a clique too large for that, if "
        "any.");
}

} // namespace

void bindAssignment(nb::module_& m) {
    bindRows(m);
    bindCliques(m);
    bindLinkedAssignment(m);
    bindTransport(m);
}

} // namespace konstrain
