#include "dsatur.h"

#include <algorithm>

namespace konstrain::constraints {

void Dsatur::start(std::span<const Node> clique) {
    for (const Node v : clique)
        paint(v, used_++);
    refill();
}

// Depth-first search over the next node to paint, the one that sees most colours (Brelaz 1979). Exact: a node
// tries every colour in use that no neighbour has, and one new colour; colours that no node has yet are
// interchangeable, so one of them stands for all. An empty stack means that every choice was refuted.
Verdict Dsatur::search(std::int64_t steps, TimePoint end) {
    for (; steps > 0; --steps) {
        const Node next = pick();
        if (next < 0)
            return Verdict::Colorable;
        stack_.push_back({next, -1, used_});
        while (!advance(stack_.back())) {
            offer(stack_.back().node);
            stack_.pop_back();
            if (stack_.empty())
                return Verdict::Uncolorable;
        }
        if (steps % 64 == 0 && isPast(end))
            break;
    }
    return Verdict::Undecided;
}

void Dsatur::refill() {
    queue_ = {};
    for (std::size_t v = 0; v != graph_.size(); ++v)
        if (color_[v] < 0)
            offer(static_cast<Node>(v));
}

// The queue is lazy: a node is offered again whenever the number of colours it sees changes, and entries that
// no longer agree with it are dropped here. It is rebuilt before stale entries outnumber the nodes 16 times.
Node Dsatur::pick() {
    if (queue_.size() > 16 * graph_.size() + 1024)
        refill();
    while (!queue_.empty()) {
        const auto [seen, degree, node] = queue_.top();
        queue_.pop();
        if (color_[at(node)] < 0 && seen_[at(node)] == seen)
            return node;
    }
    return -1;
}

void Dsatur::paint(Node node, std::int32_t color) {
    color_[at(node)] = color;
    for (const Node w : graph_.neighbours(node))
        if (count(w, color)++ == 0) {
            ++seen_[at(w)];
            if (color_[at(w)] < 0)
                offer(w);
        }
}

void Dsatur::erase(Node node) {
    const std::int32_t color = color_[at(node)];
    color_[at(node)] = -1;
    for (const Node w : graph_.neighbours(node))
        if (--count(w, color) == 0) {
            --seen_[at(w)];
            if (color_[at(w)] < 0)
                offer(w);
        }
}

bool Dsatur::advance(Step& step) {
    if (step.color >= 0)
        erase(step.node);
    used_ = step.usedBefore;
    const std::int32_t tried = std::min(nColors_, used_ + 1);
    for (++step.color; step.color < tried; ++step.color)
        if (count(step.node, step.color) == 0) {
            paint(step.node, step.color);
            used_ = std::max(used_, step.color + 1);
            return true;
        }
    return false;
}

} // namespace konstrain::constraints
