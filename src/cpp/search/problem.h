#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tolerances.h"

// Constrained k-means over blocks: minimise the sum of squares plus the penalties of broken soft links and
// the costs of rows that leave their clusters of an earlier clustering, where every cluster keeps each rule
// (a sum of amounts) within its bounds and no hard cannot-link is broken. Squares are about the means of
// clusters, or, for rows and centers of length one, about the directions of their sums.
namespace konstrain::search {

struct Problem {
    std::size_t nBlocks;
    std::size_t nFeatures;
    std::size_t nClusters;
    std::size_t nRules;
    std::vector<double> means;   // nBlocks x nFeatures
    std::vector<double> weight;  // nBlocks
    std::vector<double> amounts; // nBlocks x nRules
    std::vector<double> low;     // nClusters x nRules
    std::vector<double> high;    // nClusters x nRules
    // Neighbours of each block in compressed rows. A positive penalty is paid when both ends share a cluster
    // (infinite: a hard cannot-link), a negative one, with its sign changed, when they do not.
    std::vector<std::int64_t> linkStart; // empty without links
    std::vector<std::int32_t> linkTo;
    std::vector<double> linkPenalty;
    // Clusters of an earlier clustering that rows of each block were in, in compressed rows, and what it
    // costs to take these rows to another cluster.
    std::vector<std::int64_t> homeStart; // empty without an earlier clustering
    std::vector<std::int32_t> homeCluster;
    std::vector<double> homeCost;
    bool nonempty;
    bool hasUnitCenters;               // centers have length one
    std::vector<double> unit;          // nRules: mean of what blocks add to a rule, in magnitude
    std::vector<double> amountsByRule; // nRules x nBlocks: the amounts once more, for passes over all blocks
    std::vector<std::size_t> linked;   // blocks with links
    std::vector<double> shortfall;     // nBlocks: 1 - |mean|^2, where centers have length one

    const double* mean(std::size_t block) const { return means.data() + block * nFeatures; }
    const double* amount(std::size_t block) const { return amounts.data() + block * nRules; }
    bool hasLinks() const { return !linkTo.empty(); }
    bool isLinked(std::size_t block) const { return hasLinks() && linkStart[block] != linkStart[block + 1]; }
    bool hasHomes() const { return !homeStart.empty(); }
    // What a block costs in a cluster because rows of it were in others.
    double moveCost(std::size_t block, std::size_t cluster) const {
        if (!hasHomes())
            return 0.0;
        double cost = 0.0;
        const auto end = static_cast<std::size_t>(homeStart[block + 1]);
        for (auto at = static_cast<std::size_t>(homeStart[block]); at != end; ++at)
            cost += static_cast<std::size_t>(homeCluster[at]) == cluster ? 0.0 : homeCost[at];
        return cost;
    }
    double changeOfMoveCost(std::size_t block, std::size_t from, std::size_t to) const {
        return moveCost(block, to) - moveCost(block, from);
    }
    // Fewest blocks that a cluster has to keep when one of them leaves.
    std::int64_t leastCount() const { return nonempty ? 1 : 0; }
};

// A link as seen from one of its ends.
struct Link {
    std::size_t to;
    double penalty;

    bool isHard() const { return std::isinf(penalty); }
};

template <typename Visit> void forEachLink(const Problem& problem, std::size_t block, Visit visit) {
    if (!problem.hasLinks())
        return;
    const auto end = static_cast<std::size_t>(problem.linkStart[block + 1]);
    for (auto at = static_cast<std::size_t>(problem.linkStart[block]); at != end; ++at)
        visit(Link{static_cast<std::size_t>(problem.linkTo[at]), problem.linkPenalty[at]});
}

// By how much a cluster misses its bounds, each rule in its own unit; `load(rule)` is what the cluster holds.
template <typename Load> double violationOf(const Problem& problem, std::size_t cluster, Load load) {
    double total = 0.0;
    const std::size_t at = cluster * problem.nRules;
    for (std::size_t rule = 0; rule != problem.nRules; ++rule) {
        const double value = load(rule);
        const double above = value - problem.high[at + rule];
        const double below = problem.low[at + rule] - value;
        const double miss = above > below ? above : below;
        if (miss > loadRounding * problem.unit[rule])
            total += miss / problem.unit[rule];
    }
    return total;
}

// Tunable numbers of the search. They were chosen on seven data sets and checked on others (perf/survey.py).
struct Params {
    // Lloyd iterations of a run: more of them rarely change the labels that repair and polish lead to.
    int maxIterations = 25;
    // Lloyd's loop and polish end when fewer than this share of the labels change: larger, shorter runs.
    double convergedShare = 1.0 / 500;
    // Steps of the duals at the first and at the last centers of a run, and at those between: more steps,
    // fewer violations for repair to remove.
    int dualSteps = 40;
    int laterDualSteps = 6;
    // Sweeps of exact coordinate steps at the first centers; one more follows wherever steps leave a
    // violation: more sweeps, better duals and shorter searches.
    int dualSweeps = 3;
    // First step of a dual relative to the mean cost of a block: larger, duals that get far sooner, and
    // swing.
    double firstStep = 0.02;
    // A run ends when its objective is above the best by this share after 5 iterations or before repair:
    // larger, fewer runs, each seen through.
    double hopeless = 0.05;
    // Subgradient steps that raise the bound of the last step: more of them, smaller gaps.
    int boundSteps = 100;
    // Cost of a broken hard link while labels are chosen, in mean costs of a block.
    double hardPenalty = 20.0;
};

} // namespace konstrain::search
