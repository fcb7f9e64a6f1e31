#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "center_sums.h"
#include "cost_source.h"
#include "priced_rows.h"
#include "row_views.h"

// The sweeps of a k-means loop over rows, which are dense or sparse and read as they are, float or double.
// All arithmetic is in double. Results do not depend on `nThreads`.
//
// Dense rows: differences are squared, so costs are never negative and keep their digits far from the origin.
// Sparse rows: |c|^2 plus the sum of x (x - 2c) over a row's entries, with an absolute error of about 1e-16
// |c|^2; below zero is cut off. A row with entries in more than half of the columns is treated like a dense
// one.
namespace konstrain::kmeans {

// A C-ordered matrix of doubles: centers, or points to measure from.
using Points = DenseRows<double>;

// `costs[row * k + j] = weight[row] * |row - center j|^2`; `weight` may be null, which means 1 each.
template <typename Rows>
void blockCosts(const Rows& rows, const double* weight, const Points& centers, std::size_t nThreads,
                double* costs);

// Label of the first nearest center of each row, sums of the clusters this makes, and the sum of the costs,
// in one sweep. Equals `blockCosts` with unit weights, first minimum and `sumClusters`, bit for bit.
template <typename Rows>
double nearestPass(const Rows& rows, const double* weight, const Points& centers, std::size_t nThreads,
                   std::span<std::int32_t> labels, ClusterSums total);

// Where `pricedPass` writes: `columns` of the costs as `blockCosts` does, which the others are from already;
// labels, gaps and sizes as `priceRows` does, and the
// sums of the clusters this makes.
struct PricedPass {
    std::span<double> costs;
    std::span<const std::int32_t> columns; // ascending
    std::span<std::int32_t> labels;
    std::span<float> gaps;
    std::span<std::int64_t> sizes;
    ClusterSums clusters;
};

// Costs, cheapest clusters at duals and sums of these clusters in one sweep: dense rows come from memory
// once. Equals `blockCosts`, `priceRows` and `sumClusters`, but for the order in which costs are added up.
template <typename Rows>
transport::PricedSums pricedPass(const Rows& rows, const double* weight, const Points& centers,
                                 std::span<const double> duals, std::size_t nThreads, const PricedPass& out);

// Label of the first nearest center of each row, and the squared distance to it.
template <typename Rows>
void nearestDistances(const Rows& rows, const Points& centers, std::size_t nThreads,
                      std::span<std::int32_t> labels, std::span<double> distances);

// `distances[i * nRows + row] = |row - point i|^2`, for few points.
template <typename Rows>
void candidateDistances(const Rows& rows, const Points& points, std::size_t nThreads, double* distances);

// What `blockCosts` writes, a few rows at a time, for up to `nWorkers` callers at once. Keeps references to
// rows, weights and centers.
template <typename Rows>
std::unique_ptr<transport::CostSource> costSource(const Rows& rows, const double* weight,
                                                  const Points& centers, std::size_t nWorkers);

} // namespace konstrain::kmeans
