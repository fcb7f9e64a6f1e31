#include "distances.h"
#include "arrays.h"
#include "bindings.h"
#include "center_sums.h"
#include "own_costs.h"
#include "rows.h"
#include "sized_step.h"

namespace {

konstrain::kmeans::ClusterSums clusterSums(const OutMatrix<double>& sums, const OutVector<double>& weight) {
    return {sums.data(), weight.data(), sums.shape(0), sums.shape(1)};
}

// The same functions for each kind of rows; `Parts` are the arrays that make up the rows.
template <typename... Parts, typename... Names> void bindDistancesOf(nb::module_& m, Names... parts) {
    using Weight = std::optional<Vector<double>>;
    const auto weight = "weight"_a.noconvert().none();
    const nb::call_guard<nb::gil_scoped_release> withoutGil;
    m.def(
        "block_costs",
        [](Parts... rows, Weight weights, Matrix<double> centers, std::size_t nThreads,
           OutMatrix<double> out) {
            konstrain::kmeans::blockCosts(rowsOf(centers.shape(1), rows...), dataOrNull(weights),
                                          rowsOf(centers.shape(1), centers), nThreads, out.data());
        },
        parts..., weight, "centers"_a.noconvert(), "n_threads"_a, "out"_a.noconvert(), withoutGil,
        "Weighted squared distance of each row to each center.");
    m.def(
        "nearest_pass",
        [](Parts... rows, Weight weights, Matrix<double> centers, std::size_t nThreads,
           OutVector<std::int32_t> labels, OutMatrix<double> sums, OutVector<double> clusterWeight) {
            return konstrain::kmeans::nearestPass(
                rowsOf(centers.shape(1), rows...), dataOrNull(weights), rowsOf(centers.shape(1), centers),
                nThreads, {labels.data(), labels.size()}, clusterSums(sums, clusterWeight));
        },
        parts..., weight, "centers"_a.noconvert(), "n_threads"_a, "labels"_a.noconvert(),
        "sums"_a.noconvert(), "cluster_weight"_a.noconvert(), withoutGil,
        "Labels of the nearest centers and sums of the clusters; returns the inertia.");
    m.def(
        "nearest_distances",
        [](Parts... rows, Matrix<double> centers, std::size_t nThreads, OutVector<std::int32_t> labels,
           OutVector<double> distances) {
            konstrain::kmeans::nearestDistances(
                rowsOf(centers.shape(1), rows...), rowsOf(centers.shape(1), centers), nThreads,
                {labels.data(), labels.size()}, {distances.data(), distances.size()});
        },
        parts..., "centers"_a.noconvert(), "n_threads"_a, "labels"_a.noconvert(), "distances"_a.noconvert(),
        withoutGil, "Labels of the nearest centers and the squared distances to them.");
    m.def(
        "center_sums",
        [](Parts... rows, Weight weights, Vector<std::int32_t> labels, std::size_t nThreads,
           OutMatrix<double> sums, OutVector<double> clusterWeight) {
            konstrain::kmeans::sumClusters(rowsOf(sums.shape(1), rows...), dataOrNull(weights),
                                           view<std::int32_t>(labels), nThreads,
                                           clusterSums(sums, clusterWeight));
        },
        parts..., weight, "labels"_a.noconvert(), "n_threads"_a, "sums"_a.noconvert(),
        "cluster_weight"_a.noconvert(), withoutGil, "Weighted sum of the rows of each cluster.");
    m.def(
        "sized_step",
        [](Parts... rows, Weight weights, Matrix<double> centers, Vector<std::int64_t> lower,
           Vector<std::int64_t> upper, OutVector<double> duals, std::size_t nThreads, double timeLimit,
           OutMatrix<double> costs, Vector<std::int32_t> moved, OutVector<std::int32_t> labels,
           OutMatrix<double> sums, OutVector<double> clusterWeight) {
            const auto result = konstrain::kmeans::sizedStep(
                rowsOf(centers.shape(1), rows...), dataOrNull(weights), rowsOf(centers.shape(1), centers),
                {view<std::int64_t>(lower), view<std::int64_t>(upper), nThreads,
                 konstrain::deadlineIn(timeLimit)},
                {duals.data(), duals.size()}, {{costs.data(), costs.size()}, view<std::int32_t>(moved)},
                {labels.data(), labels.size()}, clusterSums(sums, clusterWeight));
            return std::make_tuple(result.cost, result.bound, result.finished);
        },
        parts..., weight, "centers"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(),
        "duals"_a.noconvert(), "n_threads"_a, "time_limit"_a, "costs"_a.noconvert(), "moved"_a.noconvert(),
        "labels"_a.noconvert(), "sums"_a.noconvert(), "cluster_weight"_a.noconvert(), withoutGil,
        "Cheapest labels within bounds and sums of clusters, from duals of a similar step; returns cost, "
        "bound, and whether it ended in time.");
    m.def(
        "own_costs",
        [](Parts... rows, Weight weights, Vector<std::int32_t> labels, Matrix<double> centers,
           std::size_t nThreads) {
            return konstrain::kmeans::ownCosts(rowsOf(centers.shape(1), rows...), dataOrNull(weights),
                                               view<std::int32_t>(labels), rowsOf(centers.shape(1), centers),
                                               nThreads);
        },
        parts..., weight, "labels"_a.noconvert(), "centers"_a.noconvert(), "n_threads"_a, withoutGil,
        "Sum of the weighted squared distances of the rows to the centers of their clusters.");
    m.def(
        "candidate_distances",
        [](Parts... rows, Matrix<double> points, std::size_t nThreads, OutMatrix<double> out) {
            konstrain::kmeans::candidateDistances(rowsOf(points.shape(1), rows...),
                                                  rowsOf(points.shape(1), points), nThreads, out.data());
        },
        parts..., "points"_a.noconvert(), "n_threads"_a, "out"_a.noconvert(), withoutGil,
        "Squared distance of each point to each row.");
}

template <typename Value, typename Index> void bindSparseDistances(nb::module_& m) {
    bindDistancesOf<Vector<Value>, Vector<Index>, Vector<Index>>(
        m, "values"_a.noconvert(), "columns"_a.noconvert(), "starts"_a.noconvert());
}

} // namespace

void bindDistances(nb::module_& m) {
    bindDistancesOf<Matrix<double>>(m, "rows"_a.noconvert());
    bindDistancesOf<Matrix<float>>(m, "rows"_a.noconvert());
    bindSparseDistances<double, std::int32_t>(m);
    bindSparseDistances<double, std::int64_t>(m);
    bindSparseDistances<float, std::int32_t>(m);
    bindSparseDistances<float, std::int64_t>(m);
}
