#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distances.h"

namespace konstrain::kmeans {

// Bounds that carry over from one step under sizes to the next: the cluster of each row, and a lower bound on
// its gap, that is, by how much the reduced cost of every other cluster exceeds that of its own. Moves of
// centers and changes of duals take something off these bounds (Hamerly 2010 does the same for k-means
// without sizes). A row whose bound is still positive keeps its cluster, and no distance of it is computed.
class WatchedRows {
public:
    // Bounds that are known hold until rows, weights or their number change, whatever happens to centers.
    bool isActive() const { return !gaps_.empty(); }
    // Drops bounds that were of no use, because too many rows may change. Exponential back-off: each time in
    // a row, twice as many sweeps go by before bounds are learned again.
    void giveUp();

    // Learns bounds from a sweep over all rows, unless more than one row in `rowsPerChange` changed clusters,
    // so that bounds would not last, or bounds were given up lately. `costs` and `cost` are those of the
    // labels at the centers, `before` the duals it began with.
    void take(std::span<const double> costs, double cost, const double* weight, const Points& centers,
              std::span<const double> before, std::span<const double> duals,
              std::span<const std::int32_t> labels, ClusterSums clusters);

    // Brings the gaps to these centers and duals.
    void moveTo(const double* weight, const Points& centers, std::span<const double> duals);

    // Rows that may be about to change when duals move apart by no more than `margin`; at least one of each
    // cluster.
    std::vector<std::int32_t> rowsWithin(double margin) const;

    // Takes up the labels of rows within the margin at the centers, and the duals that go with them. Returns
    // how much the other rows could save together by leaving their clusters at most: nothing, if duals moved
    // apart by no more than the margin.
    double update(std::span<const std::int32_t> rows, double margin, std::span<const double> costs,
                  const double* weight, std::span<const double> duals, std::span<const std::int32_t> labels);

    // What all rows cost at the centers, by the sums of their clusters; below zero where digits are lost.
    double cost() const;

    std::span<const std::int32_t> labels() const { return labels_; }
    // Sums of the clusters, which the caller keeps up to date when rows move.
    ClusterSums sums() { return {sums_.data(), clusterWeights_.data(), duals_.size(), nColumns_}; }
    // How far apart duals are expected to move in the next step, from how far they did in the last ones.
    double margin() const;

private:
    void takeRows(std::span<const std::int32_t> rows, std::span<const double> costs, const double* weight,
                  std::span<const std::int32_t> labels);
    void addFirstOfOthers(std::vector<std::int32_t>& rows) const;
    double shiftedSquares() const;

    std::size_t nColumns_ = 0;
    std::vector<std::int32_t> labels_;
    std::vector<float> gaps_;  // at most the true ones
    std::vector<float> radii_; // distances to the own center; at least the true ones
    std::vector<double> centers_;
    std::vector<double> duals_;
    std::vector<double> risen_; // what is still to be taken off the gaps of each cluster
    std::vector<double> sums_;
    std::vector<double> clusterWeights_;
    std::vector<double> origin_; // mean of all rows
    double moment_ = 0.0;        // of all rows about it
    double largest_ = 0.0;       // of all rows about zero: the largest number that costs are differences of
    double usualRise_ = 0.0;
    std::size_t nLastSkipped_ = 0; // sweeps let go by when bounds were given up last
    std::size_t nToSkip_ = 0;      // sweeps still to let go by
};

} // namespace konstrain::kmeans
