#include "arrays.h"
#include "bindings.h"
#include "cliques.h"
#include "deadline.h"
#include "linked_assignment.h"
#include "nearest.h"
#include "priced_rows.h"
#include "transport.h"

namespace {

void bindNearest(nb::module_& m) {
    m.def(
        "nearest",
        [](Matrix<double> costs) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            const std::span<std::int32_t> out{labels.data(), labels.size()};
            double cost = 0.0;
            {
                nb::gil_scoped_release release;
                cost = konstrain::nearest(view<double>(costs), costs.shape(1), out);
            }
            return std::make_pair(labels, cost);
        },
        "costs"_a.noconvert(), "First cheapest column of each row, and the sum of the minima.");
}

void bindPricedRows(nb::module_& m) {
    m.def(
        "price_rows",
        [](Matrix<double> costs, Vector<double> duals) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            auto gaps = makeVector<float>(costs.shape(0));
            {
                nb::gil_scoped_release release;
                std::vector<std::int64_t> sizes(duals.size());
                konstrain::transport::priceRows(view<double>(costs), view<double>(duals),
                                                {labels.data(), labels.size()}, {gaps.data(), gaps.size()},
                                                sizes);
            }
            return std::make_pair(labels, gaps);
        },
        "costs"_a.noconvert(), "duals"_a.noconvert(),
        "Cheapest column of each row at these duals, and the gap to the second-cheapest.");
}

// An open component as arrays: blocks, costs (flat), links (first, second, weight), feasible colours, value,
// bound.
auto describe(const konstrain::linked::OpenComponent& component) {
    const auto& potts = component.potts;
    const std::span<const double> costs{potts.cost(0).data(), potts.nNodes() * potts.nColours()};
    auto first = makeVector<std::int32_t>(potts.links().size());
    auto second = makeVector<std::int32_t>(potts.links().size());
    auto weight = makeVector<double>(potts.links().size());
    for (std::size_t i = 0; i != potts.links().size(); ++i) {
        first.data()[i] = potts.links()[i].first;
        second.data()[i] = potts.links()[i].second;
        weight.data()[i] = potts.links()[i].weight;
    }
    return std::make_tuple(copyVector<std::int32_t>(component.blocks), copyVector<double>(costs), first,
                           second, weight, copyVector<std::int32_t>(component.colours), component.value,
                           component.bound);
}

void bindLinkedAssignment(nb::module_& m) {
    using konstrain::linked::LinkedAssignment;
    nb::class_<LinkedAssignment>(m, "LinkedAssignment",
                                 "Cheapest assignment of linked blocks without sizes; takes links up lazily.")
        .def(
            "__init__",
            [](LinkedAssignment* self, Matrix<double> costs, Vector<std::int64_t> indptr,
               Vector<std::int32_t> indices, std::optional<Vector<double>> weights, std::size_t nodeLimit,
               std::size_t cliqueLimit, double timeLimit) {
                new (self) LinkedAssignment(
                    {view<double>(costs), costs.shape(1)},
                    {view<std::int64_t>(indptr), view<std::int32_t>(indices), viewOrEmpty<double>(weights)},
                    {nodeLimit, cliqueLimit, timeLimit});
            },
            "costs"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
            "weights"_a.noconvert().none(), "node_limit"_a, "clique_limit"_a, "time_limit"_a,
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
        .def("run", &LinkedAssignment::run, nb::call_guard<nb::gil_scoped_release>(),
             "Advance until done, infeasible (`clash` is not empty) or components are `open`.")
        .def(
            "close",
            [](LinkedAssignment& self, std::size_t index, Vector<std::int32_t> colours, double bound) {
                self.close(index, view<std::int32_t>(colours), bound);
            },
            "index"_a, "colours"_a.noconvert(), "bound"_a,
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
        .def_prop_ro(
            "clash", [](const LinkedAssignment& self) { return copyVector<std::int32_t>(self.clash()); },
            nb::rv_policy::move)
        .def_prop_ro(
            "labels", [](const LinkedAssignment& self) { return copyVector<std::int32_t>(self.labels()); },
            nb::rv_policy::move)
        .def(
            "slack", [](LinkedAssignment& self) { return copyVector<double>(self.slack()); },
            "Per block: its component's optimum less the sum of its blocks' cheapest costs.")
        .def_prop_ro("cost", &LinkedAssignment::cost)
        .def_prop_ro("doubt", &LinkedAssignment::doubt);
}

konstrain::transport::TransportOptions transportOptions(double timeLimit, bool trustDuals,
                                                        std::size_t listLength, std::size_t coreRows,
                                                        std::size_t sampleRows) {
    konstrain::transport::TransportOptions options;
    options.listLength = listLength;
    options.coreRows = coreRows;
    options.sampleRows = sampleRows;
    options.trustDuals = trustDuals;
    options.deadline = konstrain::deadlineIn(timeLimit);
    return options;
}

void bindTransport(nb::module_& m) {
    m.def(
        "transport",
        [](Matrix<double> costs, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool trustDuals, std::size_t listLength, std::size_t coreRows,
           std::size_t sampleRows) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            auto duals = makeVector<double>(costs.shape(1));
            std::copy_n(start.data(), start.size(), duals.data());
            const auto options = transportOptions(timeLimit, trustDuals, listLength, coreRows, sampleRows);
            konstrain::transport::TransportResult result;
            {
                nb::gil_scoped_release release;
                result = konstrain::transport::solveTransport(
                    view<double>(costs), view<std::int64_t>(lower), view<std::int64_t>(upper),
                    {duals.data(), duals.size()}, {labels.data(), labels.size()}, options);
            }
            return std::make_tuple(labels, duals, result.cost, result.bound, result.finished);
        },
        "costs"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "start"_a.noconvert(),
        "time_limit"_a, "trust_duals"_a, "list_length"_a = 0, "core_rows"_a = 0, "sample_rows"_a = 0,
        "Labels of least cost with sizes in bounds, duals, cost, lower bound, whether it ended in time.");
}

void bindCliques(nb::module_& m) {
    m.def(
        "is_disjoint_cliques",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices) {
            nb::gil_scoped_release release;
            return konstrain::isDisjointCliques(view<std::int64_t>(indptr), view<std::int32_t>(indices));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(),
        "Whether a graph in compressed rows consists of cliques and isolated nodes.");
    m.def(
        "match_cliques",
        [](Matrix<double> costs, Vector<std::int64_t> indptr, Vector<std::int32_t> indices) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            const std::span<std::int32_t> out{labels.data(), labels.size()};
            double cost = 0.0;
            std::vector<std::int32_t> clash;
            {
                nb::gil_scoped_release release;
                clash =
                    konstrain::matchCliques(view<double>(costs), costs.shape(1), view<std::int64_t>(indptr),
                                            view<std::int32_t>(indices), out, cost);
            }
            return std::make_tuple(labels, cost, copyVector<std::int32_t>(clash));
        },
        "costs"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
        "Labels and cost with the members of each clique kept apart, and a clique too large for that, if "
        "any.");
}

} // namespace

void bindAssignment(nb::module_& m) {
    bindNearest(m);
    bindPricedRows(m);
    bindCliques(m);
    bindLinkedAssignment(m);
    bindTransport(m);
}
