#include "greedy_clique.h"

#include <algorithm>
#include <utility>

namespace konstrain::constraints {

std::vector<Node> greedyClique(const ConflictView& graph, TimePoint end) {
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
        if (!best.empty() && isPast(end))
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

} // namespace konstrain::constraints
