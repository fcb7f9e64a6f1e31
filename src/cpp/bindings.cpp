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
#include <vector>

#include "blocks.h"
#include "center_sums.h"
#include "cliques.h"
#include "coloring.h"
#include "distances.h"
#include "linked_assignment.h"
#include "local_search.h"
#include "nearest.h"
#include "pricing.h"
#include "rectangular_assignment.h"
#include "relocation.h"
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
            return std::make_tuple(labels, prices, result.cost, result.bound, result.finished);
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

// A numpy array that takes over what a kernel has made, without copying it.
template <typename T> NewVector<T> adoptVector(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewVector<T>(kept->data(), {kept->size()}, owner);
}

template <typename T> void bindBlockMeans(nb::module_& m) {
    m.def(
        "block_means",
        [](nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> x, Vector<std::int64_t> indptr,
           Vector<std::int32_t> rows, Vector<double> weights,
           nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu> means) {
            auto scatter = makeVector<double>(indptr.size() - 1);
            const konstrain::StridedRows<T> matrix{x.data(), x.stride(0), x.stride(1), x.shape(1)};
            {
                nb::gil_scoped_release release;
                konstrain::blockMeans<T>(matrix, view<std::int64_t>(indptr), view<std::int32_t>(rows),
                                         view<double>(weights), {means.data(), means.size()},
                                         {scatter.data(), scatter.size()});
            }
            return scatter;
        },
        "x"_a.noconvert(), "indptr"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(),
        "means"_a.noconvert(),
        "Fills in the mean of each block and returns the scatter around it; empty weights mean 1 each.");
}

template <typename T, typename Index> void bindBlockMeansSparse(nb::module_& m) {
    m.def(
        "block_means_sparse",
        [](Vector<Index> xIndptr, Vector<Index> xIndices, Vector<T> xData, std::size_t nColumns,
           Vector<std::int64_t> indptr, Vector<std::int32_t> rows, Vector<double> weights) {
            auto scatter = makeVector<double>(indptr.size() - 1);
            konstrain::SparseMeans<T> means;
            {
                nb::gil_scoped_release release;
                means = konstrain::blockMeansSparse<T, Index>(
                    view<Index>(xIndptr), view<Index>(xIndices), view<T>(xData), nColumns,
                    view<std::int64_t>(indptr), view<std::int32_t>(rows), view<double>(weights),
                    {scatter.data(), scatter.size()});
            }
            // The data as a plain object: type checkers refuse overloads that differ in what they return.
            return std::make_tuple(adoptVector(std::move(means.indptr)),
                                   adoptVector(std::move(means.indices)),
                                   nb::cast(adoptVector(std::move(means.data))), scatter);
        },
        "x_indptr"_a.noconvert(), "x_indices"_a.noconvert(), "x_data"_a.noconvert(), "n_columns"_a,
        "indptr"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(),
        "Like block_means, for compressed rows: indptr, indices and data of the means, then the scatter.");
}

void bindBlocks(nb::module_& m) {
    m.def(
        "merge_blocks",
        [](std::size_t nRows, Matrix<std::int32_t> pairs, Vector<std::int32_t> groups,
           Vector<std::int32_t> labels) {
            auto blockOf = makeVector<std::int32_t>(nRows);
            std::int32_t nBlocks = 0;
            {
                nb::gil_scoped_release release;
                nBlocks = konstrain::mergeBlocks(view<std::int32_t>(pairs), view<std::int32_t>(groups),
                                                 view<std::int32_t>(labels), {blockOf.data(), nRows});
            }
            return std::make_pair(blockOf, nBlocks);
        },
        "n_rows"_a, "pairs"_a.noconvert(), "groups"_a.noconvert(), "labels"_a.noconvert(),
        "Block of each row, numbered by first rows, and the number of blocks.");
    m.def(
        "list_rows",
        [](Vector<std::int32_t> blockOf, std::size_t nBlocks) {
            auto indptr = makeVector<std::int64_t>(nBlocks + 1);
            auto rows = makeVector<std::int32_t>(blockOf.size());
            {
                nb::gil_scoped_release release;
                konstrain::listRows(view<std::int32_t>(blockOf), {indptr.data(), indptr.size()},
                                    {rows.data(), rows.size()});
            }
            return std::make_pair(indptr, rows);
        },
        "block_of"_a.noconvert(), "n_blocks"_a, "Rows of each block in compressed form: indptr and rows.");
    m.def(
        "build_links",
        [](std::size_t nNodes, Vector<std::int32_t> first, Vector<std::int32_t> second,
           Vector<double> weights) {
            konstrain::LinkArrays links;
            {
                nb::gil_scoped_release release;
                links = konstrain::buildLinks(nNodes, view<std::int32_t>(first), view<std::int32_t>(second),
                                              view<double>(weights));
            }
            return std::make_tuple(adoptVector(std::move(links.indptr)),
                                   adoptVector(std::move(links.indices)),
                                   adoptVector(std::move(links.weights)));
        },
        "n_nodes"_a, "first"_a.noconvert(), "second"_a.noconvert(), "weights"_a.noconvert(),
        "Symmetric graph in compressed rows; repeated edges are merged and their weights added.");
    bindBlockMeans<double>(m);
    bindBlockMeans<float>(m);
    bindBlockMeansSparse<double, std::int32_t>(m);
    bindBlockMeansSparse<double, std::int64_t>(m);
    bindBlockMeansSparse<float, std::int32_t>(m);
    bindBlockMeansSparse<float, std::int64_t>(m);
}

void bindColoring(nb::module_& m) {
    m.def(
        "greedy_clique",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, double seconds) {
            std::vector<std::int32_t> clique;
            {
                nb::gil_scoped_release release;
                clique = konstrain::greedyClique({view<std::int64_t>(indptr), view<std::int32_t>(indices)},
                                                 seconds);
            }
            return adoptVector(std::move(clique));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "seconds"_a,
        "A large clique of a graph in compressed rows, ascending.");
    m.def(
        "color_components",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, std::int32_t nColors, double seconds) {
            konstrain::ComponentVerdicts result;
            {
                nb::gil_scoped_release release;
                result = konstrain::colorComponents({view<std::int64_t>(indptr), view<std::int32_t>(indices)},
                                                    nColors, seconds);
            }
            return std::make_pair(adoptVector(std::move(result.component)),
                                  adoptVector(std::move(result.verdict)));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "n_colors"_a, "seconds"_a,
        "Component of each node (-1: never matters) and per component 1, 0 or -1: colourable, not, "
        "undecided.");
    m.def(
        "shrink_uncolorable",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<std::int32_t> members,
           std::int32_t nColors, double seconds) {
            konstrain::UncolorableSet result;
            {
                nb::gil_scoped_release release;
                result =
                    konstrain::shrinkUncolorable({view<std::int64_t>(indptr), view<std::int32_t>(indices)},
                                                 view<std::int32_t>(members), nColors, seconds);
            }
            return std::make_pair(adoptVector(std::move(result.members)), result.irreducible);
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "members"_a.noconvert(), "n_colors"_a, "seconds"_a,
        "An uncolourable subset of uncolourable members, and whether it is proved to be irreducible.");
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

// Records of moves as arrays: kind, p, q, delta, where each move's blocks start, blocks.
auto describe(const std::vector<konstrain::MoveRecord>& records) {
    std::vector<std::int8_t> kind;
    std::vector<std::int32_t> p, q, blocks;
    std::vector<double> delta;
    std::vector<std::int64_t> start{0};
    for (const auto& record : records) {
        kind.push_back(static_cast<std::int8_t>(record.kind));
        p.push_back(record.p);
        q.push_back(record.q);
        delta.push_back(record.delta);
        blocks.insert(blocks.end(), record.blocks.begin(), record.blocks.end());
        start.push_back(static_cast<std::int64_t>(blocks.size()));
    }
    return nb::make_tuple(copyVector<std::int8_t>(kind), copyVector<std::int32_t>(p),
                          copyVector<std::int32_t>(q), copyVector<double>(delta),
                          copyVector<std::int64_t>(start), copyVector<std::int32_t>(blocks));
}

template <typename T>
nb::tuple searchLocally(Matrix<T> means, Vector<double> weight, Vector<std::int32_t> start,
                        std::optional<Vector<std::int64_t>> indptr,
                        std::optional<Vector<std::int32_t>> indices,
                        std::optional<Vector<double>> linkWeights, std::optional<Vector<double>> demand,
                        Vector<double> sizeMin, Vector<double> sizeMax, double slack, bool nonempty,
                        std::size_t maxPasses, double timeLimit, std::uint64_t seed, bool keepRecords) {
    const konstrain::SearchProblem problem{{means.data(), means.shape(0), means.shape(1)},
                                           view<double>(weight),
                                           {viewOrEmpty<std::int64_t>(indptr),
                                            viewOrEmpty<std::int32_t>(indices),
                                            viewOrEmpty<double>(linkWeights)},
                                           viewOrEmpty<double>(demand),
                                           view<double>(sizeMin),
                                           view<double>(sizeMax),
                                           slack,
                                           nonempty};
    konstrain::LocalSearchOptions options{maxPasses, seed, {}, keepRecords};
    options.deadline = transportOptions(timeLimit, false, 0, 0, 0).deadline;
    auto labels = copyVector<std::int32_t>(view<std::int32_t>(start));
    konstrain::LocalSearchResult result;
    {
        nb::gil_scoped_release release;
        result = konstrain::searchLocally(problem, {labels.data(), labels.size()}, options);
    }
    return nb::make_tuple(labels, result.cost, result.nMoves, describe(result.records));
}

template <typename T>
nb::tuple estimateRelocations(Matrix<T> means, Vector<double> weight, Vector<std::int32_t> labels,
                              std::size_t nClusters, std::uint64_t seed) {
    konstrain::RelocationEstimates result;
    {
        nb::gil_scoped_release release;
        result =
            konstrain::estimateRelocations({means.data(), means.shape(0), means.shape(1)},
                                           view<double>(weight), view<std::int32_t>(labels), nClusters, seed);
    }
    return nb::make_tuple(copyVector<double>(result.centres), copyVector<double>(result.removal),
                          copyVector<double>(result.gain), copyVector<double>(result.halves));
}

template <typename T> void bindLocalSearchOf(nb::module_& m) {
    m.def(
        "search_locally", &searchLocally<T>, "means"_a.noconvert(), "weight"_a.noconvert(),
        "labels"_a.noconvert(), "indptr"_a.noconvert().none(), "indices"_a.noconvert().none(),
        "link_weights"_a.noconvert().none(), "demand"_a.noconvert().none(), "size_min"_a.noconvert(),
        "size_max"_a.noconvert(), "slack"_a, "nonempty"_a, "max_passes"_a, "time_limit"_a, "seed"_a,
        "keep_records"_a = false,
        "Labels no move improves, their cost, the number of moves and (kind, p, q, delta, start, blocks) of "
        "each when records are kept.");
    m.def(
        "estimate_relocations", &estimateRelocations<T>, "means"_a.noconvert(), "weight"_a.noconvert(),
        "labels"_a.noconvert(), "n_clusters"_a, "seed"_a,
        "Centres, cost of removing each cluster, gain of splitting each, centres of the two halves (flat).");
}

void bindLocalSearch(nb::module_& m) {
    bindLocalSearchOf<double>(m);
    bindLocalSearchOf<float>(m);
}

// Capacities as rows of amounts with their limits, pair budgets as stacked square matrices with theirs.
konstrain::ClusterRules clusterRules(const Matrix<double>& amounts, const Vector<double>& amountLimits,
                                     const Matrix<double>& counts, const Vector<double>& countLimits,
                                     const nb::object& question) {
    const std::size_t n = amounts.shape(1);
    std::vector<konstrain::Capacity> capacities;
    for (std::size_t i = 0; i != amountLimits.size(); ++i)
        capacities.push_back(
            {{amounts.data() + i * n, amounts.data() + (i + 1) * n}, amountLimits.data()[i]});
    std::vector<konstrain::PairBudget> budgets;
    for (std::size_t i = 0; i != countLimits.size(); ++i)
        budgets.push_back(
            {{counts.data() + i * n * n, counts.data() + (i + 1) * n * n}, countLimits.data()[i]});
    konstrain::ClusterRules::Question ask;
    if (!question.is_none())
        ask = [question](std::span<const std::int32_t> members, std::int32_t block) {
            nb::gil_scoped_acquire acquire;
            return nb::cast<bool>(question(copyVector<std::int32_t>(members), block));
        };
    return {n, std::move(capacities), std::move(budgets), std::move(ask)};
}

// Lets Ctrl-C through a long run without the GIL; asks Python only every now and then.
auto signalPoll() {
    return [last = std::chrono::steady_clock::now()]() mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(50))
            return;
        last = now;
        nb::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0)
            throw nb::python_error();
    };
}

auto priceExactly(const konstrain::PricingBlocks& self, Vector<double> profit, double cutoff,
                  std::int64_t nodeLimit, std::int64_t nodesAfterFind, double timeLimit, bool costless) {
    konstrain::PricingLimits limits{nodeLimit, nodesAfterFind, {}, signalPoll()};
    limits.deadline = transportOptions(timeLimit, false, 0, 0, 0).deadline;
    konstrain::ExactPrice found;
    {
        nb::gil_scoped_release release;
        found = konstrain::priceExactly(self, view<double>(profit), cutoff, limits, costless);
    }
    return std::make_tuple(found.columns, found.bound, found.finished, found.nNodes);
}

void bindPricing(nb::module_& m) {
    using konstrain::PricingBlocks;
    nb::class_<PricingBlocks>(m, "PricingBlocks", "Blocks and rules that clusters are priced from.")
        .def(
            "__init__",
            [](PricingBlocks* self, Matrix<double> means, Vector<double> weight, Vector<std::int64_t> indptr,
               Vector<std::int32_t> indices, Matrix<double> amounts, Vector<double> amountLimits,
               Matrix<double> counts, Vector<double> countLimits, nb::object question) {
                new (self) PricingBlocks(view<double>(means), means.shape(1), view<double>(weight),
                                         view<std::int64_t>(indptr), view<std::int32_t>(indices),
                                         clusterRules(amounts, amountLimits, counts, countLimits, question));
            },
            "means"_a.noconvert(), "weight"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
            "amounts"_a.noconvert(), "amount_limits"_a.noconvert(), "counts"_a.noconvert(),
            "count_limits"_a.noconvert(), "question"_a.none())
        .def(
            "price_locally",
            [](const PricingBlocks& self, Vector<double> profit, const std::vector<konstrain::Column>& starts,
               double threshold, std::size_t limit, bool costless) {
                std::vector<konstrain::Column> found;
                {
                    nb::gil_scoped_release release;
                    found = konstrain::priceLocally(self, view<double>(profit), starts, threshold, limit,
                                                    costless);
                }
                return found;
            },
            "profit"_a.noconvert(), "starts"_a, "threshold"_a, "limit"_a, "costless"_a = false,
            "Locally best sets with a reduced cost below the threshold, cheapest first.")
        .def("price_exactly", &priceExactly, "profit"_a.noconvert(), "cutoff"_a, "node_limit"_a,
             "nodes_after_find"_a, "time_limit"_a, "costless"_a = false,
             "Sets below the cutoff (the last is the best), proved lower bound, whether it is exact, nodes.");
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of konstrain; see src/cpp/README.md.";
    bindNearest(m);
    bindLinkedAssignment(m);
    bindTransport(m);
    bindCliques(m);
    bindBlocks(m);
    bindColoring(m);
    bindDistances(m);
    bindLocalSearch(m);
    bindPricing(m);
}
