#include "component_search.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "closure.h"
#include "dual_ascent.h"
#include "rectangular_assignment.h"

namespace konstrain::linked {

namespace {

struct Minima {
    double sum;
    bool consistent; // no link is broken by the cheapest colours
};

// Writes every node's cheapest colour.
Minima takeCheapest(const Potts& potts, std::span<std::int32_t> colours) {
    Minima result{0.0, true};
    for (std::size_t node = 0; node != potts.nNodes(); ++node) {
        const Cheapest best = cheapest(potts.cost(node));
        colours[node] = best.colour;
        result.sum += best.cost;
    }
    for (const PottsLink& link : potts.links())
        if (linkPenalty(link.weight, colours[static_cast<std::size_t>(link.first)],
                        colours[static_cast<std::size_t>(link.second)]) > 0)
            result.consistent = false;
    return result;
}

// A part of a problem, with where its nodes stand in the whole.
struct Subproblem {
    Potts potts;
    std::vector<std::size_t> nodes;
};

// The sub-problem on the given nodes with the links among them that `keep` accepts.
template <typename Keep>
Potts restrict(const Potts& potts, std::span<const std::size_t> nodes, std::vector<std::int32_t>& position,
               Keep keep) {
    Potts part(nodes.size(), potts.nColours());
    for (std::size_t i = 0; i != nodes.size(); ++i) {
        std::ranges::copy(potts.cost(nodes[i]), part.cost(i).begin());
        position[nodes[i]] = static_cast<std::int32_t>(i);
    }
    for (const std::size_t node : nodes)
        for (const Neighbour& neighbour : potts.neighbours(node)) {
            const auto other = static_cast<std::size_t>(neighbour.node);
            if (node < other && position[other] >= 0 && keep(node, other, neighbour.weight))
                part.addLink(position[node], position[other], neighbour.weight);
        }
    part.finish();
    return part;
}

// Whether a link can still be broken or kept depending on the colours its ends may take.
bool matters(const Potts& potts, std::size_t u, std::size_t v) {
    const auto a = potts.cost(u);
    const auto b = potts.cost(v);
    for (std::size_t colour = 0; colour != a.size(); ++colour)
        if (a[colour] < infinity && b[colour] < infinity)
            return true;
    return false;
}

// Connected parts with respect to links that matter. A soft must-link between ends that share no colour is
// always broken: its dual is added to `constant`.
std::vector<Subproblem> splitProblem(const Potts& potts, double& constant) {
    std::vector<Subproblem> parts;
    std::vector<char> seen(potts.nNodes(), 0);
    std::vector<std::int32_t> position(potts.nNodes(), -1);
    for (const PottsLink& link : potts.links())
        if (link.weight < 0 &&
            !matters(potts, static_cast<std::size_t>(link.first), static_cast<std::size_t>(link.second)))
            constant -= link.weight;
    const auto keep = [&](std::size_t u, std::size_t v, double) { return matters(potts, u, v); };
    for (std::size_t root = 0; root != potts.nNodes(); ++root) {
        if (seen[root])
            continue;
        std::vector<std::size_t> nodes{root};
        seen[root] = 1;
        for (std::size_t head = 0; head != nodes.size(); ++head)
            for (const Neighbour& neighbour : potts.neighbours(nodes[head])) {
                const auto other = static_cast<std::size_t>(neighbour.node);
                if (!seen[other] && matters(potts, nodes[head], other)) {
                    seen[other] = 1;
                    nodes.push_back(other);
                }
            }
        Potts part = restrict(potts, nodes, position, keep);
        for (const std::size_t node : nodes)
            position[node] = -1;
        parts.push_back({std::move(part), std::move(nodes)});
    }
    return parts;
}

// Elimination of a variable with one neighbour, as in dynamic programming on trees: whatever colour the
// neighbour takes, the leaf takes its best one, so its cost becomes a function of that colour alone.
// Adds a leaf's best response to the costs of the one neighbour it hangs on.
void absorbLeaf(std::span<const double> leaf, double weight, std::span<double> parent) {
    const Cheapest best = cheapest(leaf);
    for (std::size_t colour = 0; colour != parent.size(); ++colour) {
        if (weight < 0)
            parent[colour] += std::min(leaf[colour], best.cost - weight);
        else if (colour == static_cast<std::size_t>(best.colour))
            parent[colour] += std::min(best.cost + weight, best.second);
        else
            parent[colour] += best.cost;
    }
}

// The best response of a leaf once its neighbour's colour is known.
std::int32_t responseOfLeaf(std::span<const double> leaf, double weight, std::int32_t parent) {
    std::vector<double> cost(leaf.begin(), leaf.end());
    chargeFixedNeighbour(cost, weight, parent);
    return cheapest(cost).colour;
}

struct Leaf {
    std::size_t node;
    std::size_t parent; // equal to node when nothing is left to hang on
    double weight;
};

// Exact for trees, and for everything that hangs on the 2-core of the links; linear in nodes and colours.
// Peels nodes with at most one neighbour left; their best responses move into the costs of that neighbour.
std::vector<Leaf> peelLeaves(Potts& potts, std::vector<char>& peeled) {
    std::vector<std::size_t> degree(potts.nNodes());
    std::vector<std::size_t> ready;
    for (std::size_t node = 0; node != potts.nNodes(); ++node) {
        degree[node] = potts.neighbours(node).size();
        if (degree[node] <= 1)
            ready.push_back(node);
    }
    std::vector<Leaf> leaves;
    while (!ready.empty()) {
        const std::size_t node = ready.back();
        ready.pop_back();
        if (peeled[node])
            continue;
        peeled[node] = 1;
        Leaf leaf{node, node, 0.0};
        for (const Neighbour& neighbour : potts.neighbours(node)) {
            const auto other = static_cast<std::size_t>(neighbour.node);
            if (peeled[other])
                continue;
            leaf = {node, other, neighbour.weight};
            absorbLeaf(potts.cost(node), neighbour.weight, potts.cost(other));
            if (--degree[other] == 1)
                ready.push_back(other);
        }
        leaves.push_back(leaf);
    }
    return leaves;
}

// Nodes of a clique of hard links take distinct colours: a rectangular assignment problem.
bool isHardClique(const Potts& potts) {
    if (potts.links().size() != potts.nNodes() * (potts.nNodes() - 1) / 2)
        return false;
    return std::ranges::all_of(potts.links(), [](const PottsLink& link) { return link.weight == infinity; });
}

double matchClique(const Potts& potts, std::span<std::int32_t> colours) {
    if (potts.nNodes() > potts.nColours())
        return infinity;
    return assignRows({potts.cost(0).data(), potts.nNodes() * potts.nColours()}, potts.nColours(), colours);
}

// The node to branch on: most neighbours, then the largest regret.
std::size_t branchingNode(const Potts& potts) {
    std::size_t chosen = 0;
    double chosenRegret = -1.0;
    for (std::size_t node = 0; node != potts.nNodes(); ++node) {
        const std::size_t degree = potts.neighbours(node).size();
        const std::size_t most = potts.neighbours(chosen).size();
        const Cheapest best = cheapest(potts.cost(node));
        const double regret = best.second - best.cost;
        if (degree > most || (degree == most && regret > chosenRegret)) {
            chosen = node;
            chosenRegret = regret;
        }
    }
    return chosen;
}

Potts withoutNode(const Potts& potts, std::size_t node) {
    std::vector<std::size_t> rest(potts.nNodes());
    std::iota(rest.begin(), rest.end(), std::size_t{0});
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(node));
    std::vector<std::int32_t> position(potts.nNodes(), -1);
    return restrict(potts, rest, position, [](std::size_t, std::size_t, double) { return true; });
}

} // namespace

double ComponentSearch::solve(const Potts& potts, double cutoff, std::span<std::int32_t> colours) {
    assert(colours.size() == potts.nNodes());
    if (potts.nNodes() == 0)
        return 0.0;
    const Minima minima = takeCheapest(potts, colours);
    if (gaveUp_ || !(minima.sum < cutoff))
        return infinity;
    if (minima.consistent)
        return minima.sum;
    return solveParts(keepNeeded(potts), cutoff, colours);
}

// Solves what is linked part by part. The sum of the cheapest costs bounds every part from below, so a part
// gets what the cutoff leaves after the parts that are solved and the bounds of those that are not.
double ComponentSearch::solveParts(const Potts& potts, double cutoff, std::span<std::int32_t> colours) {
    double done = 0.0;
    const std::vector<Subproblem> parts = splitProblem(potts, done);
    std::vector<double> floor(parts.size());
    double open = 0.0; // sum of simple bounds of the parts not yet solved
    for (std::size_t i = 0; i != parts.size(); ++i) {
        for (std::size_t node = 0; node != parts[i].nodes.size(); ++node)
            floor[i] += cheapest(parts[i].potts.cost(node)).cost;
        open += floor[i];
    }
    std::vector<std::int32_t> local;
    for (std::size_t i = 0; i != parts.size(); ++i) {
        local.resize(parts[i].nodes.size());
        open = i + 1 == parts.size() ? 0.0 : open - floor[i];
        const double value = solveConnected(parts[i].potts, cutoff - done - open, local);
        if (value == infinity)
            return infinity;
        done += value;
        for (std::size_t node = 0; node != local.size(); ++node)
            colours[parts[i].nodes[node]] = local[node];
    }
    return done < cutoff ? done : infinity;
}

// A connected part: leaves first, then what they hung on.
double ComponentSearch::solveConnected(const Potts& potts, double cutoff, std::span<std::int32_t> colours) {
    Potts peeledCosts = potts;
    std::vector<char> peeled(potts.nNodes(), 0);
    const std::vector<Leaf> leaves = peelLeaves(peeledCosts, peeled);
    double value = 0.0;
    std::vector<std::size_t> rest;
    for (std::size_t node = 0; node != potts.nNodes(); ++node)
        if (!peeled[node])
            rest.push_back(node);
    if (!rest.empty()) {
        std::vector<std::int32_t> position(potts.nNodes(), -1);
        const Potts reduced =
            restrict(peeledCosts, rest, position, [](std::size_t, std::size_t, double) { return true; });
        std::vector<std::int32_t> local(rest.size());
        value = isHardClique(reduced) ? matchClique(reduced, local) : branch(reduced, cutoff, local);
        if (!(value < cutoff))
            return infinity;
        for (std::size_t i = 0; i != rest.size(); ++i)
            colours[rest[i]] = local[i];
    }
    for (auto leaf = leaves.rbegin(); leaf != leaves.rend(); ++leaf) {
        const auto cost = peeledCosts.cost(leaf->node);
        if (leaf->parent == leaf->node) {
            const Cheapest best = cheapest(cost);
            colours[leaf->node] = best.colour;
            value += best.cost;
        } else {
            colours[leaf->node] = responseOfLeaf(cost, leaf->weight, colours[leaf->parent]);
        }
    }
    return value < cutoff ? value : infinity;
}

// Branch and bound, depth first. `mayTake` fixes variables by reduced cost: a colour whose reduced cost lies
// above the least one by more than the gap between the bound and the best colouring is in no better one.
// Tries the colours of one node, cheapest first; each leaves a smaller problem, which usually falls apart.
double ComponentSearch::branch(const Potts& potts, double cutoff, std::span<std::int32_t> colours) {
    if (nodesLeft_ == 0) {
        gaveUp_ = true;
        return infinity;
    }
    --nodesLeft_;
    const DualBound bound = ascend(potts);
    if (!(bound.value < cutoff))
        return infinity;
    const std::size_t node = branchingNode(potts);
    const auto cost = potts.cost(node);
    std::vector<std::size_t> order;
    for (std::size_t colour = 0; colour != potts.nColours(); ++colour)
        if (cost[colour] < infinity)
            order.push_back(colour);
    std::ranges::stable_sort(order, {}, [&](std::size_t colour) { return bound.reduced.cost(node)[colour]; });
    const Potts rest = withoutNode(potts, node);
    double best = cutoff;
    if (cutoff == infinity) // first colours, however simple, lets the bound forbid colours from the start
        best = colourGreedily(potts, colours);
    std::vector<std::int32_t> local(rest.nNodes());
    for (const std::size_t colour : order) {
        if (!bound.mayTake(node, colour, best))
            continue;
        Potts child = rest;
        for (std::size_t other = 0; other != child.nNodes(); ++other)
            for (std::size_t c = 0; c != potts.nColours(); ++c)
                if (!bound.mayTake(other < node ? other : other + 1, c, best))
                    child.cost(other)[c] = infinity;
        for (const Neighbour& neighbour : potts.neighbours(node)) {
            const auto other = static_cast<std::size_t>(neighbour.node);
            chargeFixedNeighbour(child.cost(other < node ? other : other - 1), neighbour.weight,
                                 static_cast<std::int32_t>(colour));
        }
        const double value = cost[colour] + solve(child, best - cost[colour], local);
        if (gaveUp_)
            return infinity;
        if (value < best) {
            best = value;
            for (std::size_t other = 0; other != local.size(); ++other)
                colours[other < node ? other : other + 1] = local[other];
            colours[node] = static_cast<std::int32_t>(colour);
        }
    }
    return best < cutoff ? best : infinity;
}

double total(const Potts& potts, std::span<const std::int32_t> colours) {
    double sum = 0.0;
    for (std::size_t node = 0; node != potts.nNodes(); ++node)
        sum += potts.cost(node)[static_cast<std::size_t>(colours[node])];
    for (const PottsLink& link : potts.links())
        sum += linkPenalty(link.weight, colours[static_cast<std::size_t>(link.first)],
                           colours[static_cast<std::size_t>(link.second)]);
    return sum;
}

namespace {

// The node not yet coloured that has the fewest colours left, then the most to lose.
std::size_t mostUrgent(const Potts& charged, std::span<const char> done) {
    std::size_t chosen = done.size();
    std::ptrdiff_t fewest = 0;
    double loss = 0.0;
    for (std::size_t node = 0; node != done.size(); ++node) {
        if (done[node])
            continue;
        const auto cost = charged.cost(node);
        const std::ptrdiff_t choices = countAllowed(cost);
        const Cheapest best = cheapest(cost);
        const double regret = choices < 2 ? infinity : best.second - best.cost;
        if (chosen == done.size() || choices < fewest || (choices == fewest && regret > loss)) {
            chosen = node;
            fewest = choices;
            loss = regret;
        }
    }
    return chosen;
}

} // namespace

double colourGreedily(const Potts& potts, std::span<std::int32_t> colours) {
    Potts charged = potts; // costs given the colours chosen so far
    std::vector<char> done(potts.nNodes(), 0);
    for (std::size_t step = 0; step != potts.nNodes(); ++step) {
        const std::size_t node = mostUrgent(charged, done);
        const Cheapest best = cheapest(charged.cost(node));
        if (best.cost == infinity)
            return infinity;
        done[node] = 1;
        colours[node] = best.colour;
        for (const Neighbour& neighbour : potts.neighbours(node))
            chargeFixedNeighbour(charged.cost(static_cast<std::size_t>(neighbour.node)), neighbour.weight,
                                 best.colour);
    }
    return total(potts, colours);
}

} // namespace konstrain::linked
