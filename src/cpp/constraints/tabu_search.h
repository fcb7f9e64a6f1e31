#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "conflict_graph.h"
#include "deadline.h"
#include "random.h"

namespace konstrain::constraints {

// Tabu search for a colouring (Hertz and de Werra 1987): move one node of a violated conflict at a time to
// the colour that violates fewest, and forbid the way back for a while. Finds the colouring that constraints
// taken from a true clustering have, where the complete search is lost; proves nothing.
class TabuSearch {
public:
    TabuSearch(const ConflictView& graph, std::int32_t nColors)
        : graph_(graph), nColors_(nColors), color_(graph.size(), -1), count_(graph.size() * at(nColors), 0),
          forbidden_(graph.size() * at(nColors), 0), place_(graph.size(), -1) {}

    bool finds(std::int64_t moves, TimePoint end);

private:
    std::size_t slot(Node node, std::int32_t color) const { return at(node) * at(nColors_) + at(color); }

    void fillGreedily();

    // Keeps the list of nodes with a violated conflict.
    void track(Node node);

    // The allowed move that violates fewest, ties at random. A move to a new record is always allowed.
    std::pair<Node, std::int32_t> bestMove(std::int64_t move, std::int64_t best);

    void recolor(Node node, std::int32_t color);

    ConflictView graph_;
    std::int32_t nColors_;
    std::int64_t violated_ = 0;
    Random random_{0}; // a fixed seed: the same graph gets the same verdict on every machine
    std::vector<std::int32_t> color_;
    std::vector<std::int32_t> count_;     // per node and colour: how many neighbours have it
    std::vector<std::int64_t> forbidden_; // per node and colour: until which move
    std::vector<Node> inConflict_;
    std::vector<Node> place_; // in `inConflict_`, or -1
};

} // namespace konstrain::constraints
