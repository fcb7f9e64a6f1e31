#pragma once

#include <cstdint>

#include "graph.h"
#include "lloyd.h"
#include "random.h"

// The part of the search that keeps every cluster connected in a graph over the rows.
namespace konstrain::regions {

// Tunable numbers, chosen on random planar graphs.
struct Params {
    // First and last temperature, in medians of what a move across a boundary changes: a higher first one
    // leaves the start further behind, a lower last one ends nearer to a local optimum.
    double hottest = 0.3;
    double coldest = 0.003;
    // The first temperature, at least, per share of the blocks that are outside the heaviest piece of their
    // cluster: where there are many, the start has little to do with the graph.
    double heatOfStrays = 100.0;
    // Share of the steps that move a second block on: more of them, slower steps that keep loads.
    double shareOfPairs = 0.3;
    // Cost of a unit of violation, in the same medians, and its growth over the last fifth of a run.
    double price = 10.0;
    double priceGrowth = 30.0;
    // What the duals of violated rules move by at each update of duals and temperature, and the steps
    // between two updates; duals of other rules decay a thousandth as fast.
    double dualStep = 0.1;
    std::int64_t stepsPerUpdate = 200;
};

// Makes the clusters of a state contiguous and anneals them: a block on a boundary joins a cluster next to
// it; in some steps a block of that cluster moves on as well. The energy is the objective, plus what duals
// charge for loads, plus a price on violations, `priceFactor` times the usual one; a start with violations
// is heated as many times as usual. Clusters stay in one piece, or, where blocks have several parts, an extra
// piece is a violation. The state ends with the labels of least violation, then of least objective, also
// where `context.expired` throws.
void anneal(search::Context& context, const Graph& graph, search::State& state, Random& random,
            std::int64_t nSteps, double priceFactor);

} // namespace konstrain::regions
