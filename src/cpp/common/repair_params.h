#pragma once

#include <cstddef>

namespace konstrain {

// Tunable numbers of repair and polish, of labels in the search and of labels at the duals of one step.
struct RepairParams {
    // Cheapest moves that are tried in pairs, and that a random one is drawn from; larger: more pairs,
    // quadratically, and more variety.
    std::size_t candidates = 24;
    // Random moves out of violated clusters before repair gives up; larger: more labels are repaired, and
    // hopeless ones take longer.
    std::size_t maxKicks = 40;
    // Passes of the polish that follows; larger: lower costs, slower.
    int maxPasses = 12;
};
inline constexpr RepairParams repairParams;

} // namespace konstrain
