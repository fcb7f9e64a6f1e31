#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "conflict_graph.h"
#include "deadline.h"

namespace konstrain::constraints {

struct UncolorableSet {
    std::vector<Node> members; // ascending
    bool irreducible;          // whether every proper subset is proved to be colourable
};

// Shrinks `members`, whose conflicts `nColors` colours cannot satisfy, by deletion (the deletion filter of
// Chinneck and Dravnieks 1991): what remains cannot be coloured either.
UncolorableSet shrinkUncolorable(const ConflictView& graph, std::span<const Node> members,
                                 std::int32_t nColors, TimePoint end);

} // namespace konstrain::constraints
