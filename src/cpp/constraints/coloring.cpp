#include "coloring.h"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

namespace konstrain {

namespace {

using Node = std::int32_t;

std::size_t at(Node node) {
    return static_cast<std::size_t>(node);
}

class Clock {
public:
    explicit Clock(double seconds) : seconds_(seconds) {}
    double remaining() const {
        return seconds_ - std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }
    bool expired() const { return remaining() <= 0.0; }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    double seconds_;
};

// A graph of its own, cut out of another one; `nodes` says which nodes of the other these are.
struct Induced {
    std::vector<std::int64_t> indptr;
    std::vector<Node> indices;
    std::vector<Node> nodes;

    ConflictView view() const { return {indptr, indices}; }
};

// Cuts subgraphs out of one graph; keeps its scratch space, so that a cut costs only what is cut.
class Cutter {
public:
    explicit Cutter(const ConflictView& graph) : graph_(graph), local_(graph.size(), -1) {}

    // `members` must ascend, so that the neighbours stay sorted.
    Induced cut(std::span<const Node> members) {
        Induced part;
        part.nodes.assign(members.begin(), members.end());
        part.indptr.assign(1, 0);
        for (std::size_t i = 0; i != members.size(); ++i)
            local_[at(members[i])] = static_cast<Node>(i);
        for (const Node node : members) {
            for (const Node other : graph_.neighbours(node))
                if (local_[at(other)] >= 0)
                    part.indices.push_back(local_[at(other)]);
            part.indptr.push_back(static_cast<std::int64_t>(part.indices.size()));
        }
        for (const Node node : members)
            local_[at(node)] = -1;
        return part;
    }

private:
    ConflictView graph_;
    std::vector<Node> local_;
};

// Marks the nodes that survive when nodes with fewer than `least` neighbours are removed again and again.
std::vector<char> core(const ConflictView& graph, std::int64_t least) {
    std::vector<char> alive(graph.size(), 1);
    std::vector<std::int64_t> degree(graph.size());
    std::vector<Node> removed;
    for (std::size_t v = 0; v != graph.size(); ++v) {
        degree[v] = graph.indptr[v + 1] - graph.indptr[v];
        if (degree[v] < least) {
            alive[v] = 0;
            removed.push_back(static_cast<Node>(v));
        }
    }
    while (!removed.empty()) {
        const Node v = removed.back();
        removed.pop_back();
        for (const Node w : graph.neighbours(v))
            if (alive[at(w)] != 0 && --degree[at(w)] < least) {
                alive[at(w)] = 0;
                removed.push_back(w);
            }
    }
    return alive;
}

// The connected components among the nodes marked alive, each ascending.
std::vector<std::vector<Node>> components(const ConflictView& graph, std::vector<char> alive) {
    std::vector<std::vector<Node>> parts;
    for (std::size_t start = 0; start != graph.size(); ++start) {
        if (alive[start] == 0)
            continue;
        std::vector<Node> part{static_cast<Node>(start)};
        alive[start] = 0;
        for (std::size_t i = 0; i != part.size(); ++i)
            for (const Node w : graph.neighbours(part[i]))
                if (alive[at(w)] != 0) {
                    alive[at(w)] = 0;
                    part.push_back(w);
                }
        std::sort(part.begin(), part.end());
        parts.push_back(std::move(part));
    }
    return parts;
}

// Order in which a node of smallest remaining degree is removed each time, with the core number of each node.
struct Degeneracy {
    std::vector<Node> order;
    std::vector<std::int64_t> coreNumber;
};

Degeneracy degeneracy(const ConflictView& graph) {
    const std::size_t n = graph.size();
    Degeneracy result;
    result.coreNumber.resize(n);
    result.order.reserve(n);
    std::int64_t largest = 0;
    for (std::size_t v = 0; v != n; ++v) {
        result.coreNumber[v] = graph.indptr[v + 1] - graph.indptr[v];
        largest = std::max(largest, result.coreNumber[v]);
    }
    std::vector<std::vector<Node>> bucket(static_cast<std::size_t>(largest) + 1);
    for (std::size_t v = 0; v != n; ++v)
        bucket[static_cast<std::size_t>(result.coreNumber[v])].push_back(static_cast<Node>(v));
    std::vector<char> done(n, 0);
    for (std::size_t d = 0; d != bucket.size(); ++d)
        while (!bucket[d].empty()) {
            const Node v = bucket[d].back();
            bucket[d].pop_back();
            // Entries are not moved when a degree falls, only added: an old one is recognised here.
            if (done[at(v)] != 0 || static_cast<std::size_t>(result.coreNumber[at(v)]) != d)
                continue;
            done[at(v)] = 1;
            result.order.push_back(v);
            for (const Node w : graph.neighbours(v))
                if (done[at(w)] == 0 && static_cast<std::size_t>(result.coreNumber[at(w)]) > d)
                    bucket[static_cast<std::size_t>(--result.coreNumber[at(w)])].push_back(w);
        }
    return result;
}

bool adjacent(const ConflictView& graph, Node a, Node b) {
    const auto row = graph.neighbours(a);
    return std::binary_search(row.begin(), row.end(), b);
}

std::vector<Node> greedyCliqueUntil(const ConflictView& graph, const Clock& clock) {
    const Degeneracy degrees = degeneracy(graph);
    std::vector<Node> rank(graph.size());
    for (std::size_t i = 0; i != degrees.order.size(); ++i)
        rank[at(degrees.order[i])] = static_cast<Node>(i);
    std::vector<Node> best;
    std::vector<Node> candidates;
    for (auto it = degrees.order.rbegin(); it != degrees.order.rend(); ++it) {
        const Node seed = *it;
        // Core numbers only fall from here on, and a clique has at most core number + 1 members.
        if (degrees.coreNumber[at(seed)] < static_cast<std::int64_t>(best.size()))
            break;
        if (!best.empty() && clock.expired())
            break;
        candidates.clear();
        for (const Node w : graph.neighbours(seed))
            if (rank[at(w)] > rank[at(seed)])
                candidates.push_back(w);
        std::sort(candidates.begin(), candidates.end(),
                  [&](Node a, Node b) { return rank[at(a)] > rank[at(b)]; });
        std::vector<Node> clique{seed};
        for (const Node w : candidates)
            if (std::all_of(clique.begin() + 1, clique.end(), [&](Node v) { return adjacent(graph, w, v); }))
                clique.push_back(w);
        if (clique.size() > best.size())
            best = std::move(clique);
    }
    std::sort(best.begin(), best.end());
    return best;
}

// DSATUR as a complete search: always colour the node that sees most colours, try the colours in use and one
// new one. The first descent is the DSATUR heuristic.
class Search {
public:
    Search(const ConflictView& graph, std::int32_t nColors)
        : graph_(graph), nColors_(nColors), color_(graph.size(), -1), seen_(graph.size(), 0),
          count_(graph.size() * at(nColors), 0) {}

    // `clique` gets the first colours: colours are interchangeable, so nothing is lost.
    void start(std::span<const Node> clique) {
        for (const Node v : clique)
            paint(v, used_++);
        refill();
    }

    // Searches on from where it stands for at most so many steps, the clock being looked at now and then.
    Verdict search(std::int64_t steps, const Clock& clock) {
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
            if (steps % 64 == 0 && clock.expired())
                break;
        }
        return Verdict::Undecided;
    }

private:
    struct Step {
        Node node;
        std::int32_t color;
        std::int32_t usedBefore;
    };
    using Entry = std::tuple<std::int32_t, std::size_t, Node>; // colours seen, degree, node

    std::int32_t& count(Node node, std::int32_t color) { return count_[at(node) * at(nColors_) + at(color)]; }

    void offer(Node node) { queue_.emplace(seen_[at(node)], graph_.neighbours(node).size(), node); }

    void refill() {
        queue_ = {};
        for (std::size_t v = 0; v != graph_.size(); ++v)
            if (color_[v] < 0)
                offer(static_cast<Node>(v));
    }

    // Entries grow stale when a node's neighbours change; the current one is always among them.
    Node pick() {
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

    void paint(Node node, std::int32_t color) {
        color_[at(node)] = color;
        for (const Node w : graph_.neighbours(node))
            if (count(w, color)++ == 0) {
                ++seen_[at(w)];
                if (color_[at(w)] < 0)
                    offer(w);
            }
    }

    void erase(Node node) {
        const std::int32_t color = color_[at(node)];
        color_[at(node)] = -1;
        for (const Node w : graph_.neighbours(node))
            if (--count(w, color) == 0) {
                --seen_[at(w)];
                if (color_[at(w)] < 0)
                    offer(w);
            }
    }

    // Gives the step its next colour; false when none is left.
    bool advance(Step& step) {
        if (step.color >= 0)
            erase(step.node);
        used_ = step.usedBefore;
        const std::int32_t end = std::min(nColors_, used_ + 1);
        for (++step.color; step.color < end; ++step.color)
            if (count(step.node, step.color) == 0) {
                paint(step.node, step.color);
                used_ = std::max(used_, step.color + 1);
                return true;
            }
        return false;
    }

    ConflictView graph_;
    std::int32_t nColors_;
    std::int32_t used_ = 0;
    std::vector<std::int32_t> color_;
    std::vector<std::int32_t> seen_;
    std::vector<std::int32_t> count_; // per node and colour: how many neighbours have it
    std::vector<Step> stack_;
    std::priority_queue<Entry> queue_;
};

// Tabu search for a colouring (Hertz and de Werra 1987): move one node of a violated conflict at a time to
// the colour that violates fewest, and forbid the way back for a while. Finds the colouring that constraints
// taken from a true clustering have, where the complete search is lost; proves nothing.
class TabuSearch {
public:
    TabuSearch(const ConflictView& graph, std::int32_t nColors)
        : graph_(graph), nColors_(nColors), color_(graph.size(), -1), count_(graph.size() * at(nColors), 0),
          forbidden_(graph.size() * at(nColors), 0), place_(graph.size(), -1) {}

    bool finds(std::int64_t moves, const Clock& clock) {
        fillGreedily();
        std::int64_t best = violated_;
        for (std::int64_t move = 1; move <= moves && violated_ > 0; ++move) {
            if (move % 16 == 0 && clock.expired())
                return false;
            const auto [node, color] = bestMove(move, best);
            if (node >= 0) {
                const auto tenure = static_cast<std::int64_t>(6 * inConflict_.size() / 10 + random() % 10);
                forbidden_[slot(node, color_[at(node)])] = move + tenure;
                recolor(node, color);
            }
            best = std::min(best, violated_);
        }
        return violated_ == 0;
    }

private:
    std::size_t slot(Node node, std::int32_t color) const { return at(node) * at(nColors_) + at(color); }

    // A fixed seed: the same graph gets the same answer on every machine.
    std::uint32_t random() {
        state_ ^= state_ << 13;
        state_ ^= state_ >> 17;
        state_ ^= state_ << 5;
        return state_;
    }

    void fillGreedily() {
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

    // Keeps the list of nodes with a violated conflict.
    void track(Node node) {
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

    // The allowed move that violates fewest, ties at random. A move to a new record is always allowed.
    std::pair<Node, std::int32_t> bestMove(std::int64_t move, std::int64_t best) {
        std::pair<Node, std::int32_t> chosen{-1, -1};
        std::int64_t least = std::numeric_limits<std::int64_t>::max();
        std::uint32_t ties = 0;
        // While much is wrong, a look at some of it is enough to find a good move.
        const std::size_t looked = std::min<std::size_t>(inConflict_.size(), 256);
        const std::size_t offset = looked == inConflict_.size() ? 0 : random() % inConflict_.size();
        for (std::size_t i = 0; i != looked; ++i) {
            const Node v = inConflict_[(offset + i) % inConflict_.size()];
            for (std::int32_t c = 0; c != nColors_; ++c) {
                if (c == color_[at(v)])
                    continue;
                const std::int64_t change = count_[slot(v, c)] - count_[slot(v, color_[at(v)])];
                if (change > least || (forbidden_[slot(v, c)] > move && violated_ + change >= best))
                    continue;
                ties = change < least ? 1 : ties + 1;
                least = change;
                if (random() % ties == 0)
                    chosen = {v, c};
            }
        }
        return chosen;
    }

    void recolor(Node node, std::int32_t color) {
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

    ConflictView graph_;
    std::int32_t nColors_;
    std::int64_t violated_ = 0;
    std::uint32_t state_ = 2463534242U;
    std::vector<std::int32_t> color_;
    std::vector<std::int32_t> count_;     // per node and colour: how many neighbours have it
    std::vector<std::int64_t> forbidden_; // per node and colour: until which move
    std::vector<Node> inConflict_;
    std::vector<Node> place_; // in `inConflict_`, or -1
};

Verdict decideConnected(const ConflictView& graph, std::int32_t nColors, const Clock& clock) {
    const std::vector<Node> clique = greedyCliqueUntil(graph, clock);
    if (clique.size() > at(nColors))
        return Verdict::Uncolorable;
    Search complete(graph, nColors);
    complete.start(clique);
    // The first descent is never cut short: it is linear and usually succeeds.
    const auto n = static_cast<std::int64_t>(graph.size());
    Verdict verdict = complete.search(n + 1000, Clock(std::numeric_limits<double>::infinity()));
    if (verdict == Verdict::Undecided && !clock.expired())
        verdict = complete.search(8 * n, clock);
    if (verdict != Verdict::Undecided || clock.expired())
        return verdict;
    // Half of the time to find a colouring, the rest to prove that there is none. The cap on moves matters
    // when there is no time limit and no colouring.
    if (TabuSearch(graph, nColors).finds(100'000 + 20 * n, Clock(clock.remaining() / 2)))
        return Verdict::Colorable;
    return complete.search(std::numeric_limits<std::int64_t>::max(), clock);
}

} // namespace

std::vector<Node> greedyClique(const ConflictView& graph, double seconds) {
    return greedyCliqueUntil(graph, Clock(seconds));
}

ComponentVerdicts colorComponents(const ConflictView& graph, std::int32_t nColors, double seconds) {
    assert(nColors > 0);
    const Clock clock(seconds);
    ComponentVerdicts result;
    result.component.assign(graph.size(), -1);
    Cutter cutter(graph);
    for (const auto& part : components(graph, core(graph, nColors))) {
        for (const Node v : part)
            result.component[at(v)] = static_cast<Node>(result.verdict.size());
        const Induced induced = cutter.cut(part);
        result.verdict.push_back(static_cast<std::int8_t>(decideConnected(induced.view(), nColors, clock)));
    }
    return result;
}

namespace {

// Looks for proof that a set of nodes cannot be coloured, and narrows the set down to the proof's component.
class Prover {
public:
    Prover(const ConflictView& graph, std::int32_t nColors, double seconds)
        : graph_(graph), cutter_(graph), nColors_(nColors), clock_(seconds) {}

    // An uncolourable subset of `members`, or nothing: then `decided` says whether they can be coloured.
    std::optional<std::vector<Node>> findIn(std::vector<Node> members, bool& decided) {
        std::sort(members.begin(), members.end());
        const Induced part = cutter_.cut(members);
        Cutter inner(part.view());
        decided = true;
        for (const auto& piece : components(part.view(), core(part.view(), nColors_))) {
            const Verdict verdict = decideConnected(inner.cut(piece).view(), nColors_, clock_);
            if (verdict == Verdict::Uncolorable) {
                std::vector<Node> found;
                for (const Node v : piece)
                    found.push_back(part.nodes[at(v)]);
                return found;
            }
            decided = decided && verdict == Verdict::Colorable;
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
        bool decided = false;
        for (std::size_t size = 4 * (at(nColors_) + 1); size < ball.size() && !clock_.expired(); size *= 2) {
            auto culprit = findIn({ball.begin(), ball.begin() + static_cast<std::ptrdiff_t>(size)}, decided);
            if (culprit)
                return *culprit;
        }
        return members;
    }

    bool expired() const { return clock_.expired(); }

private:
    ConflictView graph_;
    Cutter cutter_;
    std::int32_t nColors_;
    Clock clock_;
};

} // namespace

UncolorableSet shrinkUncolorable(const ConflictView& graph, std::span<const Node> members,
                                 std::int32_t nColors, double seconds) {
    Prover prover(graph, nColors, seconds);
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
            const std::size_t end = std::min(current.size(), begin + chunk);
            rest.insert(rest.end(), current.begin() + static_cast<std::ptrdiff_t>(end), current.end());
            bool decided = false;
            if (auto smaller = prover.findIn(std::move(rest), decided)) {
                // Keep the order: what stands before `begin` was found necessary at this chunk size.
                std::sort(smaller->begin(), smaller->end());
                std::erase_if(current, [&](Node v) {
                    return !std::binary_search(smaller->begin(), smaller->end(), v);
                });
                continue;
            }
            if (chunk == 1)
                irreducible = irreducible && decided;
            begin = end;
        }
    std::sort(current.begin(), current.end());
    return {current, irreducible};
}

} // namespace konstrain
