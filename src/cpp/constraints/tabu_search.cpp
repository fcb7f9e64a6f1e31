#include "tabu_search.h"

#include <algorithm>
#include <limits>

namespace konstrain::constraints {

bool TabuSearch::finds(std::int64_t moves, TimePoint end) {
    fillGreedily();
    std::int64_t best = violated_;
    for (std::int64_t move = 1; move <= moves && violated_ > 0; ++move) {
        if (move % 16 == 0 && isPast(end))
            return false;
        const auto [node, color] = bestMove(move, best);
        if (node >= 0) {
            // As long as Galinier and Hao (1999) forbid it.
            const auto tenure =
                static_cast<std::int64_t>(6 * inConflict_.size() / 10 + drawBelow(10, random_));
            forbidden_[slot(node, color_[at(node)])] = move + tenure;
            recolor(node, color);
        }
        best = std::min(best, violated_);
    }
    return violated_ == 0;
}

void TabuSearch::fillGreedily() {
    // The reverse of the order in which nodes of smallest degree are removed: few colours, linear time.
    const std::vector<Node> order = degeneracy(graph_).order;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
        const auto row = count_.begin() + static_cast<std::ptrdiff_t>(slot(*it, 0));
        const auto cheapest = static_cast<std::int32_t>(std::min_element(row, row + nColors_) - row);
        color_[at(*it)] = cheapest;
        for (const Node w : graph_.neighbours(*it))
            ++count_[slot(w, cheapest)];
    }
    for (std::size_t v = 0; v != graph_.size(); ++v) {
        violated_ += count_[slot(static_cast<Node>(v), color_[v])];
        track(static_cast<Node>(v));
    }
    violated_ /= 2;
}

// Keeps the list of nodes in conflict with constant-time insertion and removal: `place_` is the inverse of
// `inConflict_`, and a removed entry is replaced by the last one.
void TabuSearch::track(Node node) {
    const bool violates = count_[slot(node, color_[at(node)])] > 0;
    if (violates && place_[at(node)] < 0) {
        place_[at(node)] = static_cast<Node>(inConflict_.size());
        inConflict_.push_back(node);
    } else if (!violates && place_[at(node)] >= 0) {
        const Node last = inConflict_.back();
        inConflict_[at(place_[at(node)])] = last;
        place_[at(last)] = place_[at(node)];
        place_[at(node)] = -1;
        inConflict_.pop_back();
    }
}

// TabuCol (Hertz and de Werra 1987): recolour a node in conflict so that fewest links are violated. A colour
// that the node had lately is forbidden, unless it leads below the best total so far (aspiration). `count_`
// holds the neighbours of each colour, so a move is valued in constant time and made in time linear in the
// degree.
std::pair<Node, std::int32_t> TabuSearch::bestMove(std::int64_t move, std::int64_t best) {
    std::pair<Node, std::int32_t> chosen{-1, -1};
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    std::size_t ties = 0;
    // While many nodes are in conflict, a sample of them is enough to find a good move.
    const std::size_t nTried = std::min<std::size_t>(inConflict_.size(), 256);
    const std::size_t offset = nTried == inConflict_.size() ? 0 : drawBelow(inConflict_.size(), random_);
    for (std::size_t i = 0; i != nTried; ++i) {
        const Node v = inConflict_[(offset + i) % inConflict_.size()];
        for (std::int32_t c = 0; c != nColors_; ++c) {
            if (c == color_[at(v)])
                continue;
            const std::int64_t change = count_[slot(v, c)] - count_[slot(v, color_[at(v)])];
            if (change > least || (forbidden_[slot(v, c)] > move && violated_ + change >= best))
                continue;
            ties = change < least ? 1 : ties + 1;
            least = change;
            if (drawBelow(ties, random_) == 0)
                chosen = {v, c};
        }
    }
    return chosen;
}

void TabuSearch::recolor(Node node, std::int32_t color) {
    const std::int32_t old = color_[at(node)];
    violated_ += count_[slot(node, color)] - count_[slot(node, old)];
    color_[at(node)] = color;
    for (const Node w : graph_.neighbours(node)) {
        --count_[slot(w, old)];
        ++count_[slot(w, color)];
        if (color_[at(w)] == old || color_[at(w)] == color)
            track(w);
    }
    track(node);
}

} // namespace konstrain::constraints
