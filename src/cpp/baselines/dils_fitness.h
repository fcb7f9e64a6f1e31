#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pair_distances.h"

namespace konstrain::baselines {

// Links between rows: repeated and contradicting pairs count each time they are given. `charge` is +1 for a
// neighbour that must not share the cluster, -1 for one that must.
class SignedLinks {
public:
    // Pairs as flat arrays of two row numbers each.
    SignedLinks(std::size_t nRows, std::span<const std::int32_t> mustLink,
                std::span<const std::int32_t> cannotLink);

    std::int64_t nMustLinks() const { return nMustLinks_; }
    // Calls `visit(neighbour, charge)` for each link of a row.
    template <typename Visit> void forNeighbours(std::size_t row, Visit visit) const {
        for (std::size_t entry = start_[row]; entry != start_[row + 1]; ++entry)
            visit(static_cast<std::size_t>(neighbour_[entry]), std::int64_t{charge_[entry]});
    }

private:
    std::int64_t nMustLinks_;
    std::vector<std::size_t> start_;
    std::vector<std::int32_t> neighbour_;
    std::vector<std::int8_t> charge_;
};

// What DILS minimises, for labels that change row by row: the mean over the filled clusters of the mean
// distance between two of their rows (0 for a single row), times one plus the number of broken links.
// Everything that is updated is a whole number, so the fitness depends on the labels alone and not on how
// they came about.
class DilsFitness {
public:
    DilsFitness(const PairDistances& distances, const SignedLinks& links, std::size_t nClusters,
                std::vector<std::int32_t> labels);

    std::span<const std::int32_t> labels() const { return labels_; }
    std::size_t label(std::size_t row) const { return static_cast<std::size_t>(labels_[row]); }
    std::int64_t nBroken() const { return nBroken_; }
    double value() const { return valueOf(spread_, nFilled_, nBroken_); }
    // The fitness if one row went to another cluster; constant time but for a sum over clusters.
    double valueAfter(std::size_t row, std::size_t cluster) const;
    // Sends a row to a cluster; linear in the number of rows.
    void move(std::size_t row, std::size_t cluster);
    // Moves the rows in which the labels differ.
    void become(std::span<const std::int32_t> labels);
    std::size_t nDifferent(std::span<const std::int32_t> labels) const;

private:
    std::size_t at(std::size_t cluster, std::size_t row) const { return cluster * labels_.size() + row; }
    double meanDistance(std::int64_t pairSum, std::int64_t size) const;
    double valueOf(std::span<const double> spread, std::int64_t nFilled, std::int64_t nBroken) const;
    std::int64_t brokenAfter(std::size_t row, std::size_t cluster) const;

    const PairDistances* distances_;
    const SignedLinks* links_;
    std::vector<std::int32_t> labels_;
    std::vector<std::int64_t>
        toCluster_;                     // distances of each row to all rows of a cluster, cluster by cluster
    std::vector<std::int64_t> charge_;  // of each row in each cluster: its neighbours' charges there
    std::vector<std::int64_t> pairSum_; // distances between all rows of a cluster
    std::vector<std::int64_t> size_;
    std::vector<double> spread_; // mean distance within each cluster, a function of the two above
    std::int64_t nFilled_;
    std::int64_t nBroken_;
    mutable std::vector<double> candidate_;
    std::vector<std::int64_t> buffer_;
};

} // namespace konstrain::baselines
