#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "potts.h"

namespace konstrain::linked {

// Links over all blocks in compressed rows; empty `weights` means that all are hard cannot-links.
struct LinkView {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    std::span<const double> weights;
};

// Costs of blocks in clusters.
struct BlockCosts {
    std::span<const double> costs; // row-major
    std::size_t nClusters;

    std::span<const double> row(std::size_t block) const {
        return costs.subspan(block * nClusters, nClusters);
    }
    double at(std::size_t block, std::int32_t cluster) const {
        return row(block)[static_cast<std::size_t>(cluster)];
    }
};

// What may be spent on one component before it is left open.
struct SearchLimits {
    std::size_t branchings;       // of the quick search
    std::size_t cliqueBranchings; // of the search by cliques, which follows where all links are hard
    double seconds;               // for everything together
};

// A group of linked blocks that the search gave up on; the caller has to solve it.
struct OpenComponent {
    std::vector<std::int32_t> blocks;
    Potts potts;                       // over these blocks in this order, colours no optimum needs forbidden
    std::vector<std::int32_t> colours; // feasible ones, if `value` is finite
    double value;
    double bound;
};

// Cheapest assignment of linked blocks, no sizes. Lazy in the links: starts from every block's cheapest
// cluster, takes up the links this breaks, solves the components they form exactly, takes up what that
// breaks, and so on. Each round solves a relaxation to optimality, so the first solution that breaks nothing
// new is optimal for all links.
class LinkedAssignment {
public:
    LinkedAssignment(BlockCosts costs, LinkView links, SearchLimits limits);

    // Advances until done, infeasible, or components are open. Call again after closing those.
    void run();

    bool infeasible() const { return !clash_.empty(); }
    const std::vector<std::int32_t>& clash() const {
        return clash_;
    } // blocks that admit no clusters together
    const std::vector<OpenComponent>& open() const { return open_; }
    // Takes the solution of an open component: its colours and a bound on its optimum. Close all, in order.
    void close(std::size_t index, std::span<const std::int32_t> colours, double bound);

    std::span<const std::int32_t> labels() const { return labels_; }
    double cost() const;
    // For each block: how much the optimum of its component (as far as links were taken up) lies above the
    // sum of its blocks' cheapest costs. Zero for blocks whose links never mattered.
    std::vector<double> slack();
    // Sum over closed components of how far they may be from their optimum: zero when everything is proved.
    double doubt() const;

private:
    void collectAllBroken();
    void collectBrokenAt(std::int32_t block);
    void takeUp(std::int32_t first, std::int32_t second, double weight);
    std::int32_t slotOf(std::int32_t block);
    bool takenUp(std::int32_t first, std::int32_t second) const;
    std::vector<std::int32_t> componentOf(std::int32_t slot);
    Potts makePotts(std::span<const std::int32_t> slots);
    std::vector<std::int32_t> blocksOf(std::span<const std::int32_t> slots) const;
    std::span<const std::int32_t> neighboursOf(std::int32_t block) const;
    void solveComponent(std::int32_t slot);
    bool solveQuickly(std::span<const std::int32_t> slots, const Potts& potts);
    void takeUpAllOf(std::span<const std::int32_t> slots);
    void takeUpWithin(std::int32_t block, std::span<const std::int32_t> blocks);
    std::vector<std::int32_t> withNeighbours(std::span<const std::int32_t> blocks) const;
    void solveDense(std::span<const std::int32_t> slots);
    void conclude(std::vector<std::int32_t> blocks, std::span<const std::int32_t> colours, double value);
    void apply(std::span<const std::int32_t> blocks, std::span<const std::int32_t> colours, double doubt);
    bool isHard() const { return links_.weights.empty(); }
    double weightAt(std::size_t entry) const {
        return links_.weights.empty() ? infinity : links_.weights[entry];
    }

    BlockCosts costs_;
    LinkView links_;
    SearchLimits limits_;
    TimePoint end_;
    bool started_ = false;
    std::vector<std::int32_t> labels_;
    double ownCosts_ = 0.0; // sum of the blocks' costs under `labels_`, links left aside

    // Blocks with links taken up have a slot; the vectors below are indexed by it.
    std::vector<std::int32_t> slot_;
    std::vector<std::int32_t> block_;
    std::vector<std::vector<Neighbour>> active_; // links taken up, other end as a slot
    std::vector<double> doubt_;                  // kept at the first slot of a component
    std::vector<std::int32_t> visited_;          // number of the last traversal that reached it
    std::int32_t traversal_ = 0;

    std::vector<std::int32_t> touched_;  // slots whose component has new links
    std::vector<std::int32_t> changed_;  // blocks whose label changed in this round
    std::vector<std::int32_t> position_; // slot -> node of the problem being made
    std::vector<OpenComponent> open_;
    std::vector<std::int32_t> clash_;
};

} // namespace konstrain::linked
