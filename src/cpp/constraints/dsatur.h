#pragma once

#include <cstddef>
#include <cstdint>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "conflict_graph.h"
#include "deadline.h"

namespace konstrain::constraints {

enum class Verdict : std::int8_t { Undecided = -1, Uncolorable = 0, Colorable = 1 };

// DSATUR (Brelaz 1979) as a complete search: always colour the node that sees most colours, try the colours
// in use and one new one. The first descent is the DSATUR heuristic.
class Dsatur {
public:
    Dsatur(const ConflictView& graph, std::int32_t nColors)
        : graph_(graph), nColors_(nColors), color_(graph.size(), -1), seen_(graph.size(), 0),
          count_(graph.size() * at(nColors), 0) {}

    // `clique` gets the first colours: colours are interchangeable, so nothing is lost.
    void start(std::span<const Node> clique);

    // Searches on from where it stands for at most `steps` steps; the clock is read every 64 of them.
    Verdict search(std::int64_t steps, TimePoint end);

private:
    struct Step {
        Node node;
        std::int32_t color;
        std::int32_t usedBefore;
    };
    using Entry = std::tuple<std::int32_t, std::size_t, Node>; // colours seen, degree, node

    std::int32_t& count(Node node, std::int32_t color) { return count_[at(node) * at(nColors_) + at(color)]; }

    void offer(Node node) { queue_.emplace(seen_[at(node)], graph_.neighbours(node).size(), node); }

    void refill();

    // Entries grow stale when a node's neighbours change; the current one is always among them.
    Node pick();

    void paint(Node node, std::int32_t color);

    void erase(Node node);

    // Gives the step its next colour; false when none is left.
    bool advance(Step& step);

    ConflictView graph_;
    std::int32_t nColors_;
    std::int32_t used_ = 0;
    std::vector<std::int32_t> color_;
    std::vector<std::int32_t> seen_;
    std::vector<std::int32_t> count_; // per node and colour: how many neighbours have it
    std::vector<Step> stack_;
    std::priority_queue<Entry> queue_;
};

} // namespace konstrain::constraints
