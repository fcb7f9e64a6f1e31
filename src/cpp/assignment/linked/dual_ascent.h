#pragma once

#include <vector>

#include "potts.h"

namespace konstrain::linked {

// A lower bound on the best colouring, with the costs that prove it.
struct DualBound {
    double value;
    Potts reduced;             // colour costs after moving link duals into them
    std::vector<double> least; // the cheapest reduced cost of each node

    // Whether colour can be part of a colouring cheaper than cutoff.
    bool mayTake(std::size_t node, std::size_t colour, double cutoff) const {
        return value + (reduced.cost(node)[colour] - least[node]) < cutoff;
    }
};

// Raises the bound "every node takes its cheapest colour" by moving link duals into colour costs: coordinate
// ascent on the dual of the linear relaxation over single links. Each step
// takes a link that the cheapest colours break and shifts as much of its dual as the second-best colours
// allow.
DualBound ascend(const Potts& potts);

} // namespace konstrain::linked
