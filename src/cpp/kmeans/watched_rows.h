#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "distances.h"

namespace konstrain::kmeans {

// What is known of rows from one step under sizes to the next: their clusters, and how much dearer than its
// own every other cluster is for a row at least, prices included. Centers that move and prices that change
// take something off these gaps. A row of which something is left keeps its cluster, and is not looked at.
class WatchedRows {
public:
    // Bounds that are known hold until rows, weights or their number change, whatever happens to centers.
    bool isActive() const { return !gaps_.empty(); }
    // They were of no use: too many rows may change. The more often that happens in a row, the more sweeps go
    // by before bounds are learned again.
    void giveUp();

    // Takes up what a sweep over all rows found, unless so many rows changed clusters that nothing learned
    // now would last, or bounds were given up lately. `costs` and `cost` are those of the labels at the
    // centers, `before` the prices it began with.
    void take(std::span<const double> costs, double cost, const double* weight, const Points& centers,
              std::span<const double> before, std::span<const double> prices,
              std::span<const std::int32_t> labels, ClusterSums clusters);

    // Brings the gaps to these centers and prices.
    void moveTo(const double* weight, const Points& centers, std::span<const double> prices);

    // Rows that may be about to change when prices move apart by no more than `margin`; at least one of each
    // cluster.
    std::vector<std::int32_t> rowsWithin(double margin) const;

    // Takes up the labels of rows within the margin at the centers, and the prices that go with them. Returns
    // how much the other rows could save together by leaving their clusters at most: nothing, if prices moved
    // apart by no more than the margin.
    double settle(std::span<const std::int32_t> rows, double margin, std::span<const double> costs,
                  const double* weight, std::span<const double> prices, std::span<const std::int32_t> labels);

    // What all rows cost at the centers, by the sums of their clusters; below zero where digits are lost.
    double cost() const;

    std::span<const std::int32_t> labels() const { return labels_; }
    // Sums of the clusters, for whoever moves rows to keep up to date.
    ClusterSums sums() { return {sums_.data(), clusterWeights_.data(), prices_.size(), nColumns_}; }
    // How far apart prices moved in the last steps.
    double usualRise() const { return usualRise_; }

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
    std::vector<double> prices_;
    std::vector<double> risen_; // what is still to be taken off the gaps of each cluster
    std::vector<double> sums_;
    std::vector<double> clusterWeights_;
    std::vector<double> origin_; // mean of all rows
    double moment_ = 0.0;        // of all rows about it
    double largest_ = 0.0;       // of all rows about zero: the largest number that costs are differences of
    double usualRise_ = 0.0;
    std::size_t nGivenUp_ = 0; // in a row
    std::size_t nToSkip_ = 0;  // sweeps to learn nothing from
};

} // namespace konstrain::kmeans
