// The only file that sees Python. It checks nothing beyond dtype and layout: Python validates, kernels
// assert. Every array argument is taken as it is (`noconvert`): a wrong dtype or order is an error, never a
// silent copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "center_sums.h"
#include "cliques.h"
#include "distances.h"
#include "linked_assignment.h"
#include "nearest.h"
#include "rectangular_assignment.h"
#include "transport.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T, typename Array> std::span<const T> view(const Array& array) {
    return {array.data(), array.size()};
}

// A numpy array that owns `size` fresh elements; the kernel fills them through `.data()`.
template <typename T> NewVector<T> makeVector(std::size_t size) {
    auto* data = new T[size]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewVector<T>(data, {size}, owner);
}

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

template <typename T> std::span<const T> viewOrEmpty(const std::optional<Vector<T>>& array) {
    return array ? view<T>(*array) : std::span<const T>{};
}

template <typename T, typename Range> NewVector<T> copyVector(const Range& values) {
    auto result = makeVector<T>(values.size());
    std::ranges::copy(values, result.data());
    return result;
}

// An open component as arrays: blocks, costs (flat), links (first, second, weight), a feasible answer, value,
// bound.
auto describe(const konstrain::OpenComponent& component) {
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
    using konstrain::LinkedAssignment;
    nb::class_<LinkedAssignment>(m, "LinkedAssignment",
                                 "Cheapest assignment of linked blocks without sizes; takes links up lazily.")
        .def(
            "__init__",
            [](LinkedAssignment* self, Matrix<double> costs, Vector<std::int64_t> indptr,
               Vector<std::int32_t> indices, std::optional<Vector<double>> weights,
               std::optional<Vector<double>> demand, std::optional<Vector<double>> prices,
               std::size_t nodeLimit, double timeLimit) {
                new (self) LinkedAssignment(
                    {view<double>(costs), costs.shape(1), viewOrEmpty<double>(demand),
                     viewOrEmpty<double>(prices)},
                    {view<std::int64_t>(indptr), view<std::int32_t>(indices), viewOrEmpty<double>(weights)},
                    nodeLimit, timeLimit);
            },
            "costs"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
            "weights"_a.noconvert().none(), "demand"_a.noconvert().none(), "prices"_a.noconvert().none(),
            "node_limit"_a, "time_limit"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
            nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>())
        .def("run", &LinkedAssignment::run, nb::call_guard<nb::gil_scoped_release>(),
             "Advance until done, infeasible (`clash` is not empty) or components are `open`.")
        .def(
            "settle",
            [](LinkedAssignment& self, std::size_t index, Vector<std::int32_t> colours, double bound) {
                self.settle(index, view<std::int32_t>(colours), bound);
            },
            "index"_a, "colours"_a.noconvert(), "bound"_a,
            "Answer an open component; all of them, in order, before `run` is called again.")
        .def(
            "open",
            [](const LinkedAssignment& self) {
                nb::list result;
                for (const auto& component : self.open())
                    result.append(nb::cast(describe(component)));
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
        .def("slack", [](LinkedAssignment& self) { return copyVector<double>(self.slack()); },
             "Per block: its component's optimum less the sum of its blocks' cheapest costs.")
        .def_prop_ro("cost", &LinkedAssignment::cost)
        .def_prop_ro("doubt", &LinkedAssignment::doubt);
}

konstrain::TransportOptions transportOptions(double timeLimit, bool trustPrices, std::size_t listLength,
                                             std::size_t coreRows, std::size_t sampleRows) {
    konstrain::TransportOptions options;
    options.listLength = listLength;
    options.coreRows = coreRows;
    options.sampleRows = sampleRows;
    options.trustPrices = trustPrices;
    // A limit of a year or more is none; the clock's counter would overflow.
    if (timeLimit < 3.0e7)
        options.deadline = std::chrono::steady_clock::now() +
                           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                               std::chrono::duration<double>(std::max(0.0, timeLimit)));
    return options;
}

void bindTransport(nb::module_& m) {
    m.def(
        "transport",
        [](Matrix<double> costs, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool trustPrices, std::size_t listLength, std::size_t coreRows,
           std::size_t sampleRows) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            auto prices = makeVector<double>(costs.shape(1));
            std::copy_n(start.data(), start.size(), prices.data());
            const auto options = transportOptions(timeLimit, trustPrices, listLength, coreRows, sampleRows);
            konstrain::TransportResult result;
            {
                nb::gil_scoped_release release;
                result = konstrain::solveTransport(view<double>(costs), view<std::int64_t>(lower),
                                                   view<std::int64_t>(upper), {prices.data(), prices.size()},
                                                   {labels.data(), labels.size()}, options);
            }
            return nb::make_tuple(labels, prices, result.cost, result.bound, result.finished);
        },
        "costs"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "start"_a.noconvert(),
        "time_limit"_a, "trust_prices"_a, "list_length"_a = 0, "core_rows"_a = 0, "sample_rows"_a = 0,
        "Labels of least cost with sizes in bounds, prices, cost, lower bound, whether it ended in time.");
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

template <typename T> using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename Value>
konstrain::DenseRows<Value> rowsOf(std::size_t nColumns, const Matrix<Value>& rows) {
    return {rows.data(), rows.shape(0), nColumns};
}

template <typename Value, typename Index>
konstrain::SparseRows<Value, Index> rowsOf(std::size_t nColumns, const Vector<Value>& values,
                                           const Vector<Index>& columns, const Vector<Index>& starts) {
    return {values.data(), columns.data(), starts.data(), starts.size() - 1, nColumns};
}

const double* dataOrNull(const std::optional<Vector<double>>& array) {
    return array ? array->data() : nullptr;
}

konstrain::ClusterSums clusterSums(const OutMatrix<double>& sums, const OutVector<double>& weight) {
    return {sums.data(), weight.data(), sums.shape(0), sums.shape(1)};
}

// The same four functions for each kind of rows; `Parts` are the arrays that make up the rows.
template <typename... Parts, typename... Names> void bindDistancesOf(nb::module_& m, Names... parts) {
    using Weight = std::optional<Vector<double>>;
    const auto weight = "weight"_a.noconvert().none();
    const nb::call_guard<nb::gil_scoped_release> withoutGil;
    m.def(
        "block_costs",
        [](Parts... rows, Weight weights, Matrix<double> centers, std::size_t nThreads,
           OutMatrix<double> out) {
            konstrain::blockCosts(rowsOf(centers.shape(1), rows...), dataOrNull(weights),
                                  rowsOf(centers.shape(1), centers), nThreads, out.data());
        },
        parts..., weight, "centers"_a.noconvert(), "n_threads"_a, "out"_a.noconvert(), withoutGil,
        "Weighted squared distance of each row to each center.");
    m.def(
        "nearest_pass",
        [](Parts... rows, Weight weights, Matrix<double> centers, std::size_t nThreads,
           OutVector<std::int32_t> labels, OutMatrix<double> sums, OutVector<double> clusterWeight) {
            return konstrain::nearestPass(rowsOf(centers.shape(1), rows...), dataOrNull(weights),
                                          rowsOf(centers.shape(1), centers), nThreads,
                                          {labels.data(), labels.size()}, clusterSums(sums, clusterWeight));
        },
        parts..., weight, "centers"_a.noconvert(), "n_threads"_a, "labels"_a.noconvert(),
        "sums"_a.noconvert(), "cluster_weight"_a.noconvert(), withoutGil,
        "Labels of the nearest centers and sums of the clusters; returns the inertia.");
    m.def(
        "center_sums",
        [](Parts... rows, Weight weights, Vector<std::int32_t> labels, std::size_t nThreads,
           OutMatrix<double> sums, OutVector<double> clusterWeight) {
            konstrain::sumClusters(rowsOf(sums.shape(1), rows...), dataOrNull(weights),
                                   view<std::int32_t>(labels), nThreads, clusterSums(sums, clusterWeight));
        },
        parts..., weight, "labels"_a.noconvert(), "n_threads"_a, "sums"_a.noconvert(),
        "cluster_weight"_a.noconvert(), withoutGil, "Weighted sum of the rows of each cluster.");
    m.def(
        "candidate_distances",
        [](Parts... rows, Matrix<double> points, std::size_t nThreads, OutMatrix<double> out) {
            konstrain::candidateDistances(rowsOf(points.shape(1), rows...), rowsOf(points.shape(1), points),
                                          nThreads, out.data());
        },
        parts..., "points"_a.noconvert(), "n_threads"_a, "out"_a.noconvert(), withoutGil,
        "Squared distance of each point to each row.");
}

template <typename Value, typename Index> void bindSparseDistances(nb::module_& m) {
    bindDistancesOf<Vector<Value>, Vector<Index>, Vector<Index>>(
        m, "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert());
}

void bindDistances(nb::module_& m) {
    bindDistancesOf<Matrix<double>>(m, "rows"_a.noconvert());
    bindDistancesOf<Matrix<float>>(m, "rows"_a.noconvert());
    bindSparseDistances<double, std::int32_t>(m);
    bindSparseDistances<double, std::int64_t>(m);
    bindSparseDistances<float, std::int32_t>(m);
    bindSparseDistances<float, std::int64_t>(m);
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of konstrain; see src/cpp/README.md.";
    bindNearest(m);
    bindLinkedAssignment(m);
    bindTransport(m);
    bindCliques(m);
    bindDistances(m);
}
