#include "linked_assignment.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "clique_search.h"
#include "closure.h"
#include "component_search.h"
#include "dual_ascent.h"
#include "nearest.h"

namespace konstrain::linked {

namespace {

struct Params {
    // Blocks that the search by cliques takes on, which is quadratic in them; larger: HiGHS solves fewer
    // components.
    std::size_t denseBlocks = 1000;
};
constexpr Params params;

} // namespace

LinkedAssignment::LinkedAssignment(BlockCosts costs, LinkView links, SearchLimits limits)
    : costs_(costs), links_(links), limits_(limits), end_(deadlineIn(limits.seconds)),
      labels_(links.indptr.size() - 1) {}

void LinkedAssignment::run() {
    assert(open_.empty());
    if (!started_) {
        started_ = true;
        ownCosts_ = nearest(costs_.costs, costs_.nClusters, labels_);
        slot_.assign(labels_.size(), none);
        collectAllBroken();
    }
    // After `close`, `changed_` still holds the blocks whose links have to be tested.
    while (true) {
        for (const std::int32_t block : changed_)
            collectBrokenAt(block);
        changed_.clear();
        if (touched_.empty())
            return;
        const std::vector<std::int32_t> touched = std::move(touched_);
        touched_.clear();
        const std::int32_t before = traversal_;
        for (const std::int32_t slot : touched) {
            if (visited_[static_cast<std::size_t>(slot)] <= before)
                solveComponent(slot);
            if (infeasible())
                return;
        }
        if (!open_.empty())
            return;
    }
}

void LinkedAssignment::collectAllBroken() {
    for (std::size_t block = 0; block != labels_.size(); ++block)
        for (auto entry = links_.indptr[block]; entry != links_.indptr[block + 1]; ++entry) {
            const std::int32_t other = links_.indices[static_cast<std::size_t>(entry)];
            const double weight = weightAt(static_cast<std::size_t>(entry));
            if (static_cast<std::size_t>(other) > block &&
                linkPenalty(weight, labels_[block], labels_[static_cast<std::size_t>(other)]) > 0)
                takeUp(static_cast<std::int32_t>(block), other, weight);
        }
}

void LinkedAssignment::collectBrokenAt(std::int32_t block) {
    const auto b = static_cast<std::size_t>(block);
    for (auto entry = links_.indptr[b]; entry != links_.indptr[b + 1]; ++entry) {
        const std::int32_t other = links_.indices[static_cast<std::size_t>(entry)];
        const double weight = weightAt(static_cast<std::size_t>(entry));
        if (linkPenalty(weight, labels_[b], labels_[static_cast<std::size_t>(other)]) > 0 &&
            !takenUp(block, other))
            takeUp(block, other, weight);
    }
}

std::int32_t LinkedAssignment::slotOf(std::int32_t block) {
    std::int32_t& slot = slot_[static_cast<std::size_t>(block)];
    if (slot == none) {
        slot = static_cast<std::int32_t>(block_.size());
        block_.push_back(block);
        active_.emplace_back();
        doubt_.push_back(0.0);
        visited_.push_back(traversal_);
        position_.push_back(none);
    }
    return slot;
}

void LinkedAssignment::takeUp(std::int32_t first, std::int32_t second, double weight) {
    const std::int32_t a = slotOf(first);
    const std::int32_t b = slotOf(second);
    active_[static_cast<std::size_t>(a)].push_back({b, weight});
    active_[static_cast<std::size_t>(b)].push_back({a, weight});
    touched_.push_back(a);
}

bool LinkedAssignment::takenUp(std::int32_t first, std::int32_t second) const {
    const std::int32_t a = slot_[static_cast<std::size_t>(first)];
    const std::int32_t b = slot_[static_cast<std::size_t>(second)];
    if (a == none || b == none)
        return false;
    return std::ranges::any_of(active_[static_cast<std::size_t>(a)],
                               [b](const Neighbour& n) { return n.node == b; });
}

std::vector<std::int32_t> LinkedAssignment::componentOf(std::int32_t slot) {
    ++traversal_;
    std::vector<std::int32_t> slots{slot};
    visited_[static_cast<std::size_t>(slot)] = traversal_;
    for (std::size_t head = 0; head != slots.size(); ++head)
        for (const Neighbour& neighbour : active_[static_cast<std::size_t>(slots[head])])
            if (visited_[static_cast<std::size_t>(neighbour.node)] != traversal_) {
                visited_[static_cast<std::size_t>(neighbour.node)] = traversal_;
                slots.push_back(neighbour.node);
            }
    return slots;
}

std::vector<std::int32_t> LinkedAssignment::blocksOf(std::span<const std::int32_t> slots) const {
    std::vector<std::int32_t> blocks(slots.size());
    std::ranges::transform(slots, blocks.begin(),
                           [&](std::int32_t slot) { return block_[static_cast<std::size_t>(slot)]; });
    return blocks;
}

std::span<const std::int32_t> LinkedAssignment::neighboursOf(std::int32_t block) const {
    const auto begin = static_cast<std::size_t>(links_.indptr[static_cast<std::size_t>(block)]);
    const auto end = static_cast<std::size_t>(links_.indptr[static_cast<std::size_t>(block) + 1]);
    return links_.indices.subspan(begin, end - begin);
}

Potts LinkedAssignment::makePotts(std::span<const std::int32_t> slots) {
    Potts potts(slots.size(), costs_.nClusters);
    for (std::size_t i = 0; i != slots.size(); ++i) {
        const auto slot = static_cast<std::size_t>(slots[i]);
        position_[slot] = static_cast<std::int32_t>(i);
        std::ranges::copy(costs_.row(static_cast<std::size_t>(block_[slot])), potts.cost(i).begin());
    }
    for (std::size_t i = 0; i != slots.size(); ++i)
        for (const Neighbour& neighbour : active_[static_cast<std::size_t>(slots[i])]) {
            const std::int32_t other = position_[static_cast<std::size_t>(neighbour.node)];
            if (static_cast<std::size_t>(other) > i)
                potts.addLink(static_cast<std::int32_t>(i), other, neighbour.weight);
        }
    potts.finish();
    return potts;
}

// A component of the links taken up so far is solved exactly or left open. Components do not share blocks, so
// their optima add up to the optimum of the relaxation in which all other links are left out.
void LinkedAssignment::solveComponent(std::int32_t slot) {
    const std::vector<std::int32_t> slots = componentOf(slot);
    const Potts potts = makePotts(slots);
    if (solveQuickly(slots, potts))
        return;
    if (isHard() && !isPast(end_) && slots.size() <= params.denseBlocks) {
        takeUpAllOf(slots);
        solveDense(componentOf(slot));
        return;
    }
    std::vector<std::int32_t> colours(slots.size());
    const double greedy = colourGreedily(potts, colours);
    open_.push_back({blocksOf(slots), keepNeeded(potts), std::move(colours), greedy, ascend(potts).value});
}

// False when the quick search gave up.
bool LinkedAssignment::solveQuickly(std::span<const std::int32_t> slots, const Potts& potts) {
    std::vector<std::int32_t> colours(slots.size());
    ComponentSearch search(!isPast(end_) ? limits_.branchings : 0);
    const double value = search.solve(potts, infinity, colours);
    if (!search.gaveUp())
        conclude(blocksOf(slots), colours, value);
    return !search.gaveUp();
}

// These blocks and all that are linked to them, sorted.
std::vector<std::int32_t> LinkedAssignment::withNeighbours(std::span<const std::int32_t> blocks) const {
    std::vector<std::int32_t> all(blocks.begin(), blocks.end());
    for (const std::int32_t block : blocks)
        std::ranges::copy(neighboursOf(block), std::back_inserter(all));
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
}

// Takes up every link of these blocks: where links are many and the search is lost, all of them together
// leave fewer choices, and cliques to see them by. Nothing is done when that would be too much.
void LinkedAssignment::takeUpAllOf(std::span<const std::int32_t> slots) {
    std::vector<std::int32_t> blocks = withNeighbours(blocksOf(slots));
    if (blocks.size() > params.denseBlocks)
        return;
    // All that hangs together, if it is little: what is left out may be broken next, at the dual of another
    // search.
    for (auto more = withNeighbours(blocks);
         more.size() <= params.denseBlocks / 4 && more.size() != blocks.size(); more = withNeighbours(blocks))
        blocks = std::move(more);
    for (const std::int32_t block : blocks)
        takeUpWithin(block, blocks);
}

// Takes up a block's links to blocks of a sorted list. The component is not marked as touched: the caller is
// about to solve it.
void LinkedAssignment::takeUpWithin(std::int32_t block, std::span<const std::int32_t> blocks) {
    const std::size_t nTouched = touched_.size();
    for (const std::int32_t other : neighboursOf(block))
        if (std::ranges::binary_search(blocks, other) && !takenUp(block, other))
            takeUp(block, other, infinity);
    touched_.resize(nTouched);
}

void LinkedAssignment::solveDense(std::span<const std::int32_t> slots) {
    // The component may have grown over others that were left open in this round.
    std::erase_if(open_, [&](const OpenComponent& component) {
        return visited_[static_cast<std::size_t>(
                   slot_[static_cast<std::size_t>(component.blocks.front())])] == traversal_;
    });
    const Potts potts = keepNeeded(makePotts(slots));
    std::vector<std::int32_t> colours(slots.size());
    CliqueSearch search(potts, limits_.cliqueBranchings, end_);
    const double value = search.solve(colours);
    if (!search.gaveUp())
        conclude(blocksOf(slots), colours, value);
    else
        open_.push_back({blocksOf(slots), potts, std::move(colours), value, search.bound()});
}

void LinkedAssignment::conclude(std::vector<std::int32_t> blocks, std::span<const std::int32_t> colours,
                                double value) {
    if (value == infinity)
        clash_ = std::move(blocks);
    else
        apply(blocks, colours, 0.0);
}

void LinkedAssignment::close(std::size_t index, std::span<const std::int32_t> colours, double bound) {
    const OpenComponent& component = open_[index];
    assert(colours.size() == component.blocks.size());
    apply(component.blocks, colours, std::max(0.0, total(component.potts, colours) - bound));
    if (index + 1 == open_.size())
        open_.clear();
}

void LinkedAssignment::apply(std::span<const std::int32_t> blocks, std::span<const std::int32_t> colours,
                             double doubt) {
    for (std::size_t i = 0; i != blocks.size(); ++i) {
        const auto block = static_cast<std::size_t>(blocks[i]);
        // The doubts of the components this one grew out of are included in its own.
        doubt_[static_cast<std::size_t>(slot_[block])] = i == 0 ? doubt : 0.0;
        if (labels_[block] != colours[i]) {
            ownCosts_ += costs_.at(block, colours[i]) - costs_.at(block, labels_[block]);
            labels_[block] = colours[i];
            changed_.push_back(blocks[i]);
        }
    }
}

double LinkedAssignment::cost() const {
    double sum = ownCosts_;
    // Links never taken up are kept, so only those taken up can cost anything.
    for (std::size_t slot = 0; slot != active_.size(); ++slot)
        for (const Neighbour& neighbour : active_[slot])
            if (static_cast<std::size_t>(neighbour.node) > slot)
                sum += linkPenalty(
                    neighbour.weight, labels_[static_cast<std::size_t>(block_[slot])],
                    labels_[static_cast<std::size_t>(block_[static_cast<std::size_t>(neighbour.node)])]);
    return sum;
}

std::vector<double> LinkedAssignment::slack() {
    std::vector<double> slack(labels_.size(), 0.0);
    const std::int32_t before = traversal_;
    for (std::size_t root = 0; root != block_.size(); ++root) {
        if (visited_[root] > before)
            continue;
        const std::vector<std::int32_t> slots = componentOf(static_cast<std::int32_t>(root));
        const Potts potts = makePotts(slots);
        std::vector<std::int32_t> colours(slots.size());
        double above = 0.0;
        for (std::size_t i = 0; i != slots.size(); ++i) {
            colours[i] = labels_[static_cast<std::size_t>(block_[static_cast<std::size_t>(slots[i])])];
            above -= cheapest(potts.cost(i)).cost;
        }
        above = std::max(0.0, above + total(potts, colours));
        for (const std::int32_t slot : slots)
            slack[static_cast<std::size_t>(block_[static_cast<std::size_t>(slot)])] = above;
    }
    return slack;
}

double LinkedAssignment::doubt() const {
    double sum = 0.0;
    for (const double d : doubt_)
        sum += d;
    return sum;
}

} // namespace konstrain::linked
