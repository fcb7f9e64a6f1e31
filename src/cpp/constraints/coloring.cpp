#include "coloring.h"

#include <cassert>
#include <limits>

#include "greedy_clique.h"
#include "tabu_search.h"

namespace konstrain::constraints {

Verdict decideConnected(const ConflictView& graph, std::int32_t nColors, TimePoint end) {
    const std::vector<Node> clique = greedyClique(graph, end);
    if (clique.size() > at(nColors))
        return Verdict::Uncolorable;
    Dsatur complete(graph, nColors);
    complete.start(clique);
    // The first descent is never cut short: it is linear and usually succeeds.
    const auto n = static_cast<std::int64_t>(graph.size());
    Verdict verdict = complete.search(n + 1000, TimePoint::max());
    if (verdict == Verdict::Undecided && !isPast(end))
        verdict = complete.search(8 * n, end);
    if (verdict != Verdict::Undecided || isPast(end))
        return verdict;
    // Half of the time to find a colouring, the rest to prove that there is none. The cap on moves matters
    // when there is no time limit and no colouring.
    if (TabuSearch(graph, nColors).finds(100'000 + 20 * n, halfwayTo(end)))
        return Verdict::Colorable;
    return complete.search(std::numeric_limits<std::int64_t>::max(), end);
}

ComponentVerdicts colorComponents(const ConflictView& graph, std::int32_t nColors, TimePoint end) {
    assert(nColors > 0);
    ComponentVerdicts result;
    result.component.assign(graph.size(), -1);
    Cutter cutter(graph);
    for (const auto& part : connectedParts(graph, survivors(graph, nColors))) {
        for (const Node v : part)
            result.component[at(v)] = static_cast<Node>(result.verdict.size());
        const Induced induced = cutter.cut(part);
        result.verdict.push_back(static_cast<std::int8_t>(decideConnected(induced.view(), nColors, end)));
    }
    return result;
}

} // namespace konstrain::constraints
