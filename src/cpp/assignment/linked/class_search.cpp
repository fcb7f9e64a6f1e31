#include "class_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "component_search.h"
#include "kempe_chains.h"

namespace konstrain {

namespace {

// Changes of the worths at the root, in rounds between which a colouring is tried, and at every other node;
// length of the first steps, and how much of the direction is kept from one step to the next.
constexpr int rootRounds = 3;
constexpr int rootSteps = 60;
constexpr double rootLength = 0.5;
constexpr double rootMemory = 0.95;
constexpr int nodeSteps = 30;
constexpr double nodeLength = 0.2;
constexpr double nodeMemory = 0.9;
// Shares of the root's gap within which the search looks for something better, one after the other.
constexpr std::array gapShares{0.5, 1.0};
// Labels at hand that cost relatively so little more than the root's bound are nearly the best there are: the
// search looks for something better within the whole gap at once.
constexpr double smallGap = 0.004;
// Colourings that differ by less, relatively, cost the same: sums taken in another order.
constexpr double sameTotal = 1e-10;

// As in the search by cliques: a node that pulls many others along and has few colours left.
std::optional<std::size_t> branchingNode(const Potts& potts, const ClassRelaxation& relaxation) {
    std::optional<std::size_t> chosen;
    double most = -1.0;
    for (std::size_t node = 0; node != potts.nNodes(); ++node) {
        if (relaxation.colours()[node] >= 0)
            continue;
        const auto degree = static_cast<double>(potts.neighbours(node).size());
        const double score = degree * degree / static_cast<double>(relaxation.nAllowed(node));
        if (score > most) {
            most = score;
            chosen = node;
        }
    }
    return chosen;
}

} // namespace

// Bounds from here on close a node.
double ClassSearch::cutoff() const {
    return std::min(limit_, value_ < infinity ? value_ - sameTotal * std::abs(value_) : infinity);
}

// Colours the nodes that no class holds, those with fewest choices first, and improves all by exchanges.
void ClassSearch::complete(const ClassRelaxation& relaxation) {
    Potts narrowed = potts_;
    std::vector<std::int32_t> colours = relaxation.suggestion();
    for (std::size_t node = 0; node != colours.size(); ++node)
        for (std::size_t colour = 0; colour != potts_.nColours(); ++colour)
            if (colours[node] < 0 ? !relaxation.isAllowed(node, colour)
                                  : static_cast<std::size_t>(colours[node]) != colour)
                narrowed.cost(node)[colour] = infinity;
    if (colourGreedily(narrowed, colours) == infinity)
        return;
    improveByChains(potts_, colours, sameTotal);
    const double value = total(potts_, colours);
    if (value < value_) {
        value_ = value;
        best_ = std::move(colours);
    }
}

double ClassSearch::solve(std::vector<double> worth, std::span<std::int32_t> colours) {
    ClassRelaxation root(potts_, sets_, std::move(worth));
    searchRoot(root);
    std::ranges::copy(best_, colours.begin());
    return value_;
}

void ClassSearch::searchRoot(ClassRelaxation& root) {
    for (int round = 0; round != rootRounds && !(root.bound() >= cutoff()); ++round) {
        root.raise(rootSteps, rootLength, rootMemory, value_, end_);
        complete(root);
    }
    rootBound_ = root.bound();
    searchInRounds(root);
}

// Labels at hand may be far from the best, and a tree that has to look at all that is better than these is
// large. So the search first pretends to know better ones: nothing at a cost of the limit or more is looked
// at. Where that finds nothing the limit is a bound, and the next one is higher.
void ClassSearch::searchInRounds(const ClassRelaxation& root) {
    const double gap = value_ < infinity ? value_ - root.bound() : infinity;
    for (const double share : gapShares) {
        if (share < 1.0 && gap < smallGap * std::abs(root.bound()))
            continue;
        limit_ = gap < infinity ? root.bound() + share * gap : infinity;
        if (rootBound_ >= cutoff())
            return;
        ClassRelaxation relaxation = root;
        if (forbidDearer(relaxation))
            search(relaxation);
        if (gaveUp_ || value_ <= limit_)
            return;
        rootBound_ = limit_;
    }
}

// Forbids what cannot be part of anything better. False when that leaves a node no colour.
bool ClassSearch::forbidDearer(ClassRelaxation& relaxation) {
    // All at the same classes: what is forbidden changes them.
    std::vector<std::pair<std::size_t, std::size_t>> dearer;
    for (std::size_t node = 0; node != potts_.nNodes(); ++node) {
        if (relaxation.colours()[node] >= 0)
            continue;
        const std::vector<double> rises = relaxation.rises(node, cutoff());
        for (std::size_t colour = 0; colour != rises.size(); ++colour)
            if (rises[colour] == infinity)
                dearer.emplace_back(node, colour);
    }
    return std::ranges::all_of(
        dearer, [&](const auto& choice) { return relaxation.forbid(choice.first, choice.second); });
}

void ClassSearch::search(ClassRelaxation& relaxation) {
    if (nodesLeft_ == 0 || isPast(end_)) {
        gaveUp_ = true;
        return;
    }
    --nodesLeft_;
    relaxation.raise(nodeSteps, nodeLength, nodeMemory, std::min(value_, limit_), end_);
    if (relaxation.bound() >= cutoff())
        return;
    complete(relaxation);
    branch(relaxation);
}

void ClassSearch::branch(ClassRelaxation& relaxation) {
    const auto node = branchingNode(potts_, relaxation);
    if (!node) {
        complete(relaxation); // every node has its colour
        return;
    }
    const std::vector<double> rises = relaxation.rises(*node, cutoff());
    std::vector<std::size_t> order;
    for (std::size_t colour = 0; colour != rises.size(); ++colour)
        if (rises[colour] < infinity)
            order.push_back(colour);
    std::ranges::stable_sort(order, {}, [&](std::size_t colour) { return rises[colour]; });
    for (const std::size_t colour : order) {
        ClassRelaxation child = relaxation;
        if (child.forbidAllBut(*node, colour))
            search(child);
        if (gaveUp_)
            return;
    }
}

} // namespace konstrain
