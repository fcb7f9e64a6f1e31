#include "distances.h"
#include "arrays.h"
#include "center_sums.h"
#include "own_costs.h"
#include "rows.h"
#include "sized_step.h"

namespace konstrain::kmeans {

namespace {

ClusterSums clusterSums(OutMatrix<double> sums, OutVector<double> weight) {
    return {sums.values, weight.data(), sums.nRows, sums.nColumns};
}

// The same functions for each kind of rows; `Parts` are the arrays that make up the rows.
template <typename... Parts, typename... Names> void bindDistancesOf(nb::module_& m, Names... parts) {
    using Weight = Vector<double>;
    const auto weight = "weight"_a.none();
    const WithoutGil withoutGil;
    m.def(
        "block_costs",
        [](Parts... rows, Weight weights, Matrix<double> centers, std::size_t nThreads,
           OutMatrix<double> out) {
            const std::size_t n = centers.nColumns;
            blockCosts(rowsOf(n, rows...), weights.data(), rowsOf(n, centers), nThreads, out.values);
        },
        parts..., weight, "centers"_a, "n_threads"_a, "out"_a, withoutGil,
        "Weighted squared distance of each row to each center.");
    m.def(
        "nearest_pass",
        [](Parts... rows, Weight weights, Matrix<double> centers, std::size_t nThreads,
           OutVector<std::int32_t> labels, OutMatrix<double> sums, OutVector<double> clusterWeight) {
            const std::size_t n = centers.nColumns;
            return nearestPass(rowsOf(n, rows...), weights.data(), rowsOf(n, centers), nThreads, labels,
                               clusterSums(sums, clusterWeight));
        },
        parts..., weight, "centers"_a, "n_threads"_a, "labels"_a, "sums"_a, "cluster_weight"_a, withoutGil,
        "Labels of the nearest centers and sums of the clusters; returns the inertia.");
    m.def(
        "nearest_distances",
        [](Parts... rows, Matrix<double> centers, std::size_t nThreads, OutVector<std::int32_t> labels,
           OutVector<double> distances) {
            const std::size_t n = centers.nColumns;
            nearestDistances(rowsOf(n, rows...), rowsOf(n, centers), nThreads, labels, distances);
        },
        parts..., "centers"_a, "n_threads"_a, "labels"_a, "distances"_a, withoutGil,
        "Labels of the nearest centers and the squared distances to them.");
    m.def(
        "center_sums",
        [](Parts... rows, Weight weights, Vector<std::int32_t> labels, std::size_t nThreads,
           OutMatrix<double> sums, OutVector<double> clusterWeight) {
            sumClusters(rowsOf(sums.nColumns, rows...), weights.data(), labels, nThreads,
                        clusterSums(sums, clusterWeight));
        },
        parts..., weight, "labels"_a, "n_threads"_a, "sums"_a, "cluster_weight"_a, withoutGil,
        "Weighted sum of the rows of each cluster.");
    m.def(
        "sized_step",
        [](Parts... rows, Weight weights, Matrix<double> centers, Vector<std::int64_t> lower,
           Vector<std::int64_t> upper, OutVector<double> duals, std::size_t nThreads, double timeLimit,
           OutMatrix<double> costs, Vector<std::int32_t> moved, OutVector<std::int32_t> labels,
           OutMatrix<double> sums, OutVector<double> clusterWeight) {
            const std::size_t n = centers.nColumns;
            const auto result = sizedStep(rowsOf(n, rows...), weights.data(), rowsOf(n, centers),
                                          {lower, upper, nThreads, deadlineIn(timeLimit)}, duals,
                                          {costs, moved}, labels, clusterSums(sums, clusterWeight));
            return std::make_tuple(result.cost, result.bound, result.finished);
        },
        parts..., weight, "centers"_a, "lower"_a, "upper"_a, "duals"_a, "n_threads"_a, "time_limit"_a,
        "costs"_a, "moved"_a, "labels"_a, "sums"_a, "cluster_weight"_a, withoutGil,
        "Cheapest labels within bounds and sums of clusters, from duals of a similar step; returns cost, "
        "bound, and whether it ended in time.");
    m.def(
        "own_costs",
        [](Parts... rows, Weight weights, Vector<std::int32_t> labels, Matrix<double> centers,
           std::size_t nThreads) {
            const std::size_t n = centers.nColumns;
            return ownCosts(rowsOf(n, rows...), weights.data(), labels, rowsOf(n, centers), nThreads);
        },
        parts..., weight, "labels"_a, "centers"_a, "n_threads"_a, withoutGil,
        "Sum of the weighted squared distances of the rows to the centers of their clusters.");
    m.def(
        "candidate_distances",
        [](Parts... rows, Matrix<double> points, std::size_t nThreads, OutMatrix<double> out) {
            const std::size_t n = points.nColumns;
            candidateDistances(rowsOf(n, rows...), rowsOf(n, points), nThreads, out.values);
        },
        parts..., "points"_a, "n_threads"_a, "out"_a, withoutGil,
        "Squared distance of each point to each row.");
}

} // namespace

void bindDistances(nb::module_& m) {
    forEachKindOfRows([&]<typename... Parts>(auto... parts) { bindDistancesOf<Parts...>(m, parts...); });
}

} // namespace konstrain::kmeans
