#pragma once

#include <vector>

#include "conflict_graph.h"
#include "deadline.h"

namespace konstrain::constraints {

// A large clique, ascending; not always the largest. When the time is over it returns what it has.
std::vector<Node> greedyClique(const ConflictView& graph, TimePoint end);

} // namespace konstrain::constraints
