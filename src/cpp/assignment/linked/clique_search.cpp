#include "clique_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "component_search.h"
#include "kempe_chains.h"

namespace konstrain::linked {

namespace {

// Price changes at the root, in rounds between which a colouring is tried, and at every other node.
constexpr int rootRounds = 2;
constexpr int rootSteps = 200;
constexpr int nodeSteps = 70;
// Length of the first steps, and how much of the direction is kept from one step to the next.
constexpr double rootLength = 0.5;
constexpr double rootMemory = 0.9;
constexpr double nodeLength = 0.2;
constexpr double nodeMemory = 0.9;
// Branchings that the quick search gets to end a subtree. It is tried at every node while it ends at least
// one subtree in so many tries, else at every sixteenth.
constexpr std::size_t partBranchings = 20;
constexpr std::size_t triesPerWin = 4;
constexpr std::size_t tryPartsEvery = 16;
// Depths between two attempts to complete a colouring.
constexpr std::size_t completeEvery = 4;
// Colourings that differ by less, relatively, cost the same: sums taken in another order.
constexpr double sameTotal = 1e-10;

// The open node to branch on: one that pulls many others along and has few colours left. (Scores by how much
// the bound would rise at once, or by costs alone, make far larger trees.)
std::optional<std::size_t> branchingNode(const Potts& potts, const CliqueRelaxation& relaxation) {
    std::optional<std::size_t> chosen;
    double most = -1.0;
    for (std::size_t open = 0; open != relaxation.nOpen(); ++open) {
        const auto choices = countAllowed(relaxation.reduced(open));
        if (choices < 2)
            continue;
        const auto degree = static_cast<double>(potts.neighbours(relaxation.node(open)).size());
        const double score = degree * degree / static_cast<double>(choices);
        if (score > most) {
            most = score;
            chosen = open;
        }
    }
    return chosen;
}

} // namespace

bool CliqueSearch::isClosed(double bound) const {
    return value_ < infinity && bound >= value_ - sameTotal * std::abs(value_);
}

void CliqueSearch::offer(std::span<const std::int32_t> colours) {
    std::vector<std::int32_t> better(colours.begin(), colours.end());
    improveByChains(potts_, better, sameTotal);
    const double value = total(potts_, better);
    if (value < value_) {
        value_ = value;
        best_ = std::move(better);
    }
}

// Colours the open nodes by their reduced costs, those with fewest choices first.
void CliqueSearch::complete(const CliqueRelaxation& relaxation) {
    Potts priced = potts_;
    std::vector<std::int32_t> colours = relaxation.colours();
    for (std::size_t node = 0; node != colours.size(); ++node)
        if (colours[node] >= 0)
            for (std::size_t colour = 0; colour != priced.nColours(); ++colour)
                if (colour != static_cast<std::size_t>(colours[node]))
                    priced.cost(node)[colour] = infinity;
    for (std::size_t open = 0; open != relaxation.nOpen(); ++open)
        std::ranges::copy(relaxation.reduced(open), priced.cost(relaxation.node(open)).begin());
    if (colourGreedily(priced, colours) < infinity)
        offer(colours);
}

double CliqueSearch::solve(std::span<std::int32_t> colours) {
    CliqueRelaxation root(potts_);
    if (root.propagate(potts_)) {
        root.settle(potts_);
        searchRoot(root);
    }
    std::ranges::copy(best_, colours.begin());
    return value_;
}

void CliqueSearch::searchRoot(CliqueRelaxation& root) {
    complete(root);
    for (int round = 0; round != rootRounds && !isClosed(root.bound()); ++round) {
        root.raise(rootSteps, rootLength, rootMemory, value_, end_);
        complete(root);
    }
    rootBound_ = root.bound();
    if (!isClosed(root.bound()))
        branch(root, 0);
}

void CliqueSearch::search(CliqueRelaxation& relaxation, std::size_t depth) {
    if (nodesLeft_ == 0 || isPast(end_)) {
        gaveUp_ = true;
        return;
    }
    --nodesLeft_;
    relaxation.raise(nodeSteps, nodeLength, nodeMemory, value_, end_);
    if (isClosed(relaxation.bound()))
        return;
    if (depth % completeEvery == 1)
        complete(relaxation);
    if (!isClosed(relaxation.bound()))
        branch(relaxation, depth);
}

// Where many colours are forbidden, what is left falls apart, and trees and small parts are left: the quick
// search takes them one by one, where branching here would try all their combinations. False when it does not
// get through.
bool CliqueSearch::endByParts(const CliqueRelaxation& relaxation) {
    if (value_ == infinity || (partTries_ > triesPerWin * (partWins_ + 1) && nodesLeft_ % tryPartsEvery != 0))
        return false;
    ++partTries_;
    const Potts left = relaxation.remainder(potts_);
    std::vector<std::int32_t> colours = relaxation.colours();
    std::vector<std::int32_t> local(left.nNodes());
    ComponentSearch quick(partBranchings);
    const double cutoff = value_ - sameTotal * std::abs(value_) - relaxation.settledCost();
    const double value = quick.solve(left, cutoff, local);
    if (quick.gaveUp())
        return false;
    ++partWins_;
    if (value < infinity) {
        for (std::size_t open = 0; open != local.size(); ++open)
            colours[relaxation.node(open)] = local[open];
        offer(colours);
    }
    return true;
}

void CliqueSearch::branch(CliqueRelaxation& relaxation, std::size_t depth) {
    if (value_ < infinity && !relaxation.forbidDearer(potts_, value_))
        return;
    if (endByParts(relaxation))
        return;
    const auto open = branchingNode(potts_, relaxation);
    if (!open) { // every node has one colour left
        relaxation.settle(potts_);
        offer(relaxation.colours());
        return;
    }
    const std::vector<double> rises = relaxation.lookAhead(potts_);
    const auto rise = std::span(rises).subspan(*open * potts_.nColours(), potts_.nColours());
    std::vector<std::size_t> order;
    for (std::size_t colour = 0; colour != rise.size(); ++colour)
        if (rise[colour] < infinity)
            order.push_back(colour);
    std::ranges::stable_sort(order, {}, [&](std::size_t colour) { return rise[colour]; });
    for (const std::size_t colour : order) {
        if (isClosed(relaxation.bound() + rise[colour]))
            return;
        CliqueRelaxation child = relaxation;
        if (child.forbidAllBut(potts_, *open, colour)) {
            child.settle(potts_);
            search(child, depth + 1);
        }
        if (gaveUp_)
            return;
    }
}

} // namespace konstrain::linked
