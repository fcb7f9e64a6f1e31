#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cluster_rules.h"
#include "deadline.h"

namespace konstrain::exact {

// Blocks to make clusters of. The reduced cost of a set X is
//     g(X) = sum_{b in X} weight_b |mean_b - mean(X)|^2 - profit(X),
// where a profit is the block's dual value less its inner scatter. X must hold no conflict and obey the
// rules.
class PricingBlocks {
public:
    // `means`: nBlocks rows of nFeatures values; conflicts as a symmetric graph in compressed rows.
    PricingBlocks(std::span<const double> means, std::size_t nFeatures, std::span<const double> weight,
                  std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices,
                  ClusterRules rules);

    std::size_t size() const { return weight_.size(); }
    double weight(std::size_t b) const { return weight_[b]; }
    const double* squaredDistances(std::size_t b) const { return distance_.data() + b * size(); }
    double squaredDistance(std::size_t b, std::size_t c) const { return distance_[b * size() + c]; }
    bool conflict(std::size_t b, std::size_t c) const { return conflict_[b * size() + c] != 0; }
    bool hasConflicts() const { return hasConflicts_; }
    const ClusterRules& rules() const { return rules_; }

private:
    std::vector<double> weight_;
    std::vector<double> distance_; // squared, all pairs
    std::vector<char> conflict_;
    bool hasConflicts_;
    ClusterRules rules_;
};

using Column = std::vector<std::int32_t>;

// Sets with a reduced cost below `threshold` that no addition, removal or exchange improves; cheapest first,
// at most `limit` of them. `starts` are admissible sets to descend from. `costless`: distances count as zero
// (Farkas pricing).
std::vector<Column> priceLocally(const PricingBlocks& blocks, std::span<const double> profit,
                                 std::span<const Column> starts, double threshold, std::size_t limit,
                                 bool costless);

struct PricingLimits {
    std::int64_t nodes;
    std::int64_t nodesAfterFind; // nodes to go on for once a set below the cutoff was found
    TimePoint deadline;
    std::function<void()> poll; // called now and then; may throw to stop
};

struct ExactPrice {
    std::vector<Column> columns; // sets below the cutoff, each cheaper than the ones before
    double bound;                // no set has a reduced cost below this, nor below zero
    bool finished;               // every set was looked at or excluded
    std::int64_t nNodes;
};

// Finds the set of least reduced cost, or proves that none lies below `cutoff` (which is not above zero).
// When a limit ends it, `bound` is still proved.
ExactPrice priceExactly(const PricingBlocks& blocks, std::span<const double> profit, double cutoff,
                        const PricingLimits& limits, bool costless);

} // namespace konstrain::exact
