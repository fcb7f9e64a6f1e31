#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "block_means.h"
#include "linked_assignment.h"

namespace konstrain {

// Constrained k-means over blocks, as the local search sees it. Labels it is given keep every hard link and
// size; what it makes of them does so too.
struct SearchProblem {
    BlockMeans means;
    std::span<const double> weight;
    LinkView links;                  // `indptr` empty: no two blocks are linked
    std::span<const double> demand;  // empty: 1 each
    std::span<const double> sizeMin; // one per cluster
    std::span<const double> sizeMax;
    bool nonempty;
    // Bounds on further sums over clusters, as in `ResourceProblem`; no amounts: none.
    std::span<const double> amounts = {};
    std::span<const double> rules = {};
    std::span<const double> ruleLow = {};
    std::span<const double> ruleHigh = {};

    std::size_t nAmounts() const { return nBlocks() == 0 ? 0 : amounts.size() / nBlocks(); }
    std::size_t nRules() const { return ruleLow.size() / nClusters(); }
    std::size_t nBlocks() const { return means.nBlocks(); }
    std::size_t nClusters() const { return sizeMin.size(); }
    bool hasLinks() const { return !links.indices.empty(); }
    double demandOf(std::size_t block) const { return demand.empty() ? 1.0 : demand[block]; }
    double linkWeight(std::size_t entry) const {
        return links.weights.empty() ? infinity : links.weights[entry];
    }
    // Calls `visit(neighbour, weight)` for each link of a block.
    template <typename Visit> void forNeighbours(std::size_t block, Visit visit) const {
        if (links.indptr.empty())
            return;
        const auto end = static_cast<std::size_t>(links.indptr[block + 1]);
        for (auto entry = static_cast<std::size_t>(links.indptr[block]); entry != end; ++entry)
            visit(static_cast<std::size_t>(links.indices[entry]), linkWeight(entry));
    }
};

// What a set of blocks carries from cluster p to cluster q: blocks of p that go to q count positive, blocks
// of q that go to p negative.
struct Load {
    double weight = 0.0;
    double demand = 0.0;
    std::int64_t count = 0;
};

// Parts of the change of the objective when a set goes from p to q: its change while centers stay, and the
// squared lengths of (sum - weight c) for both centers, which say how much the centers gain by following.
struct ExchangeTerms {
    double fixed = 0.0;
    double squareP = 0.0;
    double squareQ = 0.0;
};

// The current labels with the statistics of each cluster that make the change of the objective by a move
// computable without looking at the other blocks.
class Partition {
public:
    // `means` of the clusters, where they are known: then no row is looked at.
    Partition(const SearchProblem& problem, std::span<std::int32_t> labels,
              std::span<const double> means = {});

    const SearchProblem& problem() const { return problem_; }
    std::size_t label(std::size_t block) const { return static_cast<std::size_t>(labels_[block]); }
    double weight(std::size_t cluster) const { return weight_[cluster]; }
    std::span<const std::int32_t> members(std::size_t cluster) const { return members_[cluster]; }
    // Meaningless (but finite) while the cluster holds no weight.
    const double* center(std::size_t cluster) const { return centers_.data() + cluster * nFeatures_; }
    const double* centers() const { return centers_.data(); }
    bool isEmpty(std::size_t cluster) const { return members_[cluster].empty(); }
    bool hasCenter(std::size_t cluster) const { return weight_[cluster] > 0.0; }

    // Number of moves made so far, and that number when a cluster last changed.
    std::int64_t now() const { return now_; }
    std::int64_t changed(std::size_t cluster) const { return changed_[cluster]; }
    // How far a center has gone along its path since the beginning.
    double travelled(std::size_t cluster) const { return travelled_[cluster]; }

    // Whether sizes stay in their bounds and no cluster runs empty when `load` goes from p to q.
    bool fits(std::size_t p, std::size_t q, const Load& load) const;
    // Whether all rules stay in their bounds when these blocks change sides between p and q.
    bool keepsRules(std::size_t p, std::size_t q, std::span<const std::int32_t> first,
                    std::span<const std::int32_t> second = {}) const;
    // For a set of this weight and this weighted sum that goes from p to q.
    ExchangeTerms exchangeTerms(std::size_t p, std::size_t q, double weight, const double* sum) const;
    // Exact change of the sum of squares when that set goes.
    double exchangeDelta(std::size_t p, std::size_t q, double weight, const ExchangeTerms& terms) const;
    // Sends each of these blocks from p to q, or from q to p when that is where it is not.
    void exchange(std::size_t p, std::size_t q, std::span<const std::int32_t> blocks);
    // Objective of the labels, from scratch.
    double cost();

    // The weight that remains when `part` is taken away; 0 when only rounding is left.
    static double remainder(double whole, double part);

private:
    void relabel(std::size_t block, std::size_t from, std::size_t to);
    void carry(std::size_t block, std::size_t cluster, double factor);
    void settle(std::size_t cluster, double weightBefore);
    void recompute(std::size_t cluster);
    void adopt(std::span<const double> means);
    void load(std::size_t block, std::size_t cluster, double factor);
    double penalty() const;
    bool isWithinRules(std::size_t cluster, double sign) const;

    const SearchProblem& problem_;
    std::size_t nFeatures_;
    std::span<std::int32_t> labels_;
    std::vector<double> weight_;
    std::vector<double> demand_;
    std::vector<double> sums_;
    std::vector<double> centers_;
    std::vector<std::vector<std::int32_t>> members_;
    std::vector<std::size_t> position_; // of each block among its cluster's members
    std::vector<std::size_t> updates_;  // of each cluster since it was last computed from scratch
    std::vector<std::int64_t> changed_;
    std::vector<double> travelled_;
    std::int64_t now_ = 0;
    std::vector<double> buffer_;
    std::vector<double> before_;
    std::vector<double> held_;           // amounts of each cluster
    mutable std::vector<double> moving_; // amounts that would go from p to q
};

} // namespace konstrain
