#include "uncolorable.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "coloring.h"

namespace konstrain::constraints {

namespace {

// Searches for a proof that a set of nodes cannot be coloured, and narrows the set down to the proof's
// component.
class Prover {
public:
    Prover(const ConflictView& graph, std::int32_t nColors, TimePoint end)
        : cutter_(graph), nColors_(nColors), end_(end) {}

    // An uncolourable subset of `members`, or nothing: then `isColorable` reports whether they can be
    // coloured.
    std::optional<std::vector<Node>> findIn(std::vector<Node> members, bool& isColorable) {
        std::sort(members.begin(), members.end());
        const Induced part = cutter_.cut(members);
        Cutter inner(part.view());
        isColorable = true;
        for (const auto& piece : connectedParts(part.view(), survivors(part.view(), nColors_))) {
            const Verdict verdict = decideConnected(inner.cut(piece).view(), nColors_, end_);
            if (verdict == Verdict::Uncolorable) {
                std::vector<Node> found;
                for (const Node v : piece)
                    found.push_back(part.nodes[at(v)]);
                return found;
            }
            isColorable = isColorable && verdict == Verdict::Colorable;
        }
        return std::nullopt;
    }

    // With two colours the culprit is an odd cycle: one non-tree edge within a level of a breadth-first tree.
    std::vector<Node> oddCycle(std::span<const Node> members) {
        const Induced part = cutter_.cut(members);
        const ConflictView view = part.view();
        std::vector<Node> parent(view.size(), -1);
        std::vector<Node> level(view.size(), -1);
        std::vector<Node> queue{0};
        level[0] = 0;
        for (std::size_t i = 0; i != queue.size(); ++i)
            for (const Node w : view.neighbours(queue[i])) {
                if (level[at(w)] < 0) {
                    level[at(w)] = level[at(queue[i])] + 1;
                    parent[at(w)] = queue[i];
                    queue.push_back(w);
                } else if (level[at(w)] == level[at(queue[i])]) {
                    std::vector<Node> cycle;
                    Node a = queue[i];
                    Node b = w;
                    for (; a != b; a = parent[at(a)], b = parent[at(b)]) {
                        cycle.push_back(part.nodes[at(a)]);
                        cycle.push_back(part.nodes[at(b)]);
                    }
                    cycle.push_back(part.nodes[at(a)]);
                    return cycle;
                }
            }
        return part.nodes;
    }

    // Large components usually fail in a small corner: try growing balls around the busiest node first.
    std::vector<Node> smallBall(std::vector<Node> members) {
        const Induced part = cutter_.cut(members);
        const ConflictView view = part.view();
        std::vector<char> found(view.size(), 0);
        Node center = 0;
        for (std::size_t v = 0; v != view.size(); ++v)
            if (view.neighbours(static_cast<Node>(v)).size() > view.neighbours(center).size())
                center = static_cast<Node>(v);
        std::vector<Node> ball{center};
        found[at(center)] = 1;
        for (std::size_t i = 0; i != ball.size(); ++i)
            for (const Node w : view.neighbours(ball[i]))
                if (found[at(w)] == 0) {
                    found[at(w)] = 1;
                    ball.push_back(w);
                }
        for (Node& v : ball)
            v = part.nodes[at(v)];
        bool isColorable = false;
        for (std::size_t size = 4 * (at(nColors_) + 1); size < ball.size() && !isPast(end_); size *= 2) {
            auto culprit =
                findIn({ball.begin(), ball.begin() + static_cast<std::ptrdiff_t>(size)}, isColorable);
            if (culprit)
                return *culprit;
        }
        return members;
    }

    bool expired() const { return isPast(end_); }

private:
    Cutter cutter_;
    std::int32_t nColors_;
    TimePoint end_;
};

} // namespace

// Deletion filter for an irreducible infeasible subset (Chinneck and Dravnieks 1991), by halves first as in
// delta debugging (Zeller and Hildebrandt 2002): drop a part, and keep it dropped if the rest is still
// uncolourable.
UncolorableSet shrinkUncolorable(const ConflictView& graph, std::span<const Node> members,
                                 std::int32_t nColors, TimePoint end) {
    Prover prover(graph, nColors, end);
    std::vector<Node> current(members.begin(), members.end());
    std::sort(current.begin(), current.end());
    current = nColors == 2 ? prover.oddCycle(current) : prover.smallBall(current);
    bool irreducible = true;
    // Halves, quarters, ..., single nodes. A node that is needed once is needed in every smaller set, so one
    // pass over single nodes is enough.
    for (std::size_t chunk = std::max<std::size_t>(1, current.size() / 2); chunk > 0; chunk /= 2)
        for (std::size_t begin = 0; begin < current.size();) {
            if (prover.expired()) {
                std::sort(current.begin(), current.end());
                return {current, false};
            }
            std::vector<Node> rest(current.begin(), current.begin() + static_cast<std::ptrdiff_t>(begin));
            const std::size_t next = std::min(current.size(), begin + chunk);
            rest.insert(rest.end(), current.begin() + static_cast<std::ptrdiff_t>(next), current.end());
            bool isColorable = false;
            if (auto smaller = prover.findIn(std::move(rest), isColorable)) {
                // Keep the order: what stands before `begin` was found necessary at this chunk size.
                std::sort(smaller->begin(), smaller->end());
                std::erase_if(current, [&](Node v) {
                    return !std::binary_search(smaller->begin(), smaller->end(), v);
                });
                continue;
            }
            if (chunk == 1)
                irreducible = irreducible && isColorable;
            begin = next;
        }
    std::sort(current.begin(), current.end());
    return {current, irreducible};
}

} // namespace konstrain::constraints
