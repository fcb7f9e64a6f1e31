#include "clique_search.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "component_search.h"
#include "tolerances.h"

namespace konstrain::linked {

namespace {

struct Params {
    // Changes of duals at the root and at every other node; larger: tighter bounds, fewer and slower nodes.
    int rootSteps = 400;
    int nodeSteps = 70;
    // Length of the first steps, relative to the gap; larger: faster, and less steady.
    double length = 0.3;
    // Share of the direction that is kept from one step to the next; larger: steadier and slower.
    double memory = 0.9;
};
constexpr Params params;

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
    return value_ < infinity && bound >= value_ - tolerances::total * std::abs(value_);
}

void CliqueSearch::offer(std::span<const std::int32_t> colours) {
    const double value = total(potts_, colours);
    if (value < value_) {
        value_ = value;
        best_.assign(colours.begin(), colours.end());
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
        root.fix(potts_);
        searchRoot(root);
    }
    std::ranges::copy(best_, colours.begin());
    return value_;
}

void CliqueSearch::searchRoot(CliqueRelaxation& root) {
    complete(root);
    root.raise(params.rootSteps, params.length, params.memory, value_, end_);
    complete(root);
    rootBound_ = root.bound();
    if (!isClosed(root.bound()))
        branch(root);
}

void CliqueSearch::search(CliqueRelaxation& relaxation) {
    if (nodesLeft_ == 0 || isPast(end_)) {
        gaveUp_ = true;
        return;
    }
    --nodesLeft_;
    relaxation.raise(params.nodeSteps, params.length, params.memory, value_, end_);
    if (!isClosed(relaxation.bound()))
        branch(relaxation);
}

// Children in order of how much the bound rises at least: once that closes one of them, it closes all later
// ones. Together with `forbidAbove` this leaves a node only colours that could still be part of a better
// colouring, so the search is exact unless it runs out of nodes or time.
void CliqueSearch::branch(CliqueRelaxation& relaxation) {
    if (value_ < infinity && !relaxation.forbidAbove(potts_, value_))
        return;
    const auto open = branchingNode(potts_, relaxation);
    if (!open) { // every node has one colour left
        relaxation.fix(potts_);
        offer(relaxation.colours());
        return;
    }
    const std::vector<double> rises = relaxation.risesOfColours(potts_);
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
            child.fix(potts_);
            search(child);
        }
        if (gaveUp_)
            return;
    }
}

} // namespace konstrain::linked
