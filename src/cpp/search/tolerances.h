#pragma once

// What rounding may do to sums in the search.
namespace konstrain::search {

// Loads are updated move by move: this share of a rule's unit is rounding. `isFeasible` recounts without it.
constexpr double loadRounding = 1e-11;
// Two violations that differ by less, in the rules' units, are the same; a load this close to a bound is at
// it.
constexpr double sameViolation = 1e-9;
// Gains below these shares are rounding: of the mean cost of a block, and of the terms they are a difference
// of. A cluster whose weight falls below the second share of what it was is empty.
constexpr double leastGain = 1e-9;
constexpr double termRounding = 1e-12;

} // namespace konstrain::search
