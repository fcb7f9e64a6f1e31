#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "potts.h"

namespace konstrain::linked {

// Exact search for the best colouring of a small linked problem: persistency closure, elimination of leaves,
// cliques by matching, otherwise branching with dual bounds; what falls apart is solved part by part.
class ComponentSearch {
public:
    // `nodeLimit` is the number of branchings after which the search gives up.
    explicit ComponentSearch(std::size_t nodeLimit) : nodesLeft_(nodeLimit) {}

    // The least total below `cutoff`, with its colours; infinite when there is none. After giving up
    // (`gaveUp`) the value is infinite and means nothing.
    double solve(const Potts& potts, double cutoff, std::span<std::int32_t> colours);
    bool gaveUp() const { return gaveUp_; }

private:
    double solveParts(const Potts& potts, double cutoff, std::span<std::int32_t> colours);
    double solveConnected(const Potts& potts, double cutoff, std::span<std::int32_t> colours);
    double branch(const Potts& potts, double cutoff, std::span<std::int32_t> colours);

    std::size_t nodesLeft_;
    bool gaveUp_ = false;
};

// A colouring by fewest-choices-first, cheapest colour each. Returns its total; infinite when it ran into a
// dead end.
double colourGreedily(const Potts& potts, std::span<std::int32_t> colours);

// Total of colour costs and link duals.
double total(const Potts& potts, std::span<const std::int32_t> colours);

} // namespace konstrain::linked
