#pragma once

#include "contiguity.h"
#include "state.h"

namespace konstrain::regions {

// Brings every cluster into one piece where it can. Blocks with several parts are first connected to the rest
// of their cluster along the path that costs least; then each cluster keeps its heaviest piece, and blocks
// outside join the adjacent cluster where they cost least, cheapest first. Labels change, sums do not:
// recount follows. Returns the number of blocks that had to join another cluster.
std::size_t repairPieces(const search::Problem& problem, const Graph& graph, search::State& state);

} // namespace konstrain::regions
