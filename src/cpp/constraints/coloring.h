#pragma once

#include <cstdint>
#include <vector>

#include "conflict_graph.h"
#include "deadline.h"
#include "dsatur.h"

namespace konstrain::constraints {

// Decides whether `nColors` colours suffice for a connected graph: by a clique that is too large, by DSATUR,
// by a tabu search where DSATUR is lost, and by DSATUR to the end.
Verdict decideConnected(const ConflictView& graph, std::int32_t nColors, TimePoint end);

struct ComponentVerdicts {
    std::vector<Node> component;      // per node; -1: so few conflicts that it can always be coloured last
    std::vector<std::int8_t> verdict; // per component, a `Verdict`
};

// Decides for each connected component whether `nColors` colours suffice. Every component gets at least one
// pass of DSATUR; the exact search that may have to follow shares the time with all others.
ComponentVerdicts colorComponents(const ConflictView& graph, std::int32_t nColors, TimePoint end);

} // namespace konstrain::constraints
