#pragma once

#include <span>

#include "deadline.h"
#include "lloyd.h"
#include "random.h"

namespace konstrain::search {

// Removes violations of rules and hard links at little cost: single moves by reduced cost per unit of
// violation removed; where none is left, swaps and pairs of blocks; where none of these is left, a random
// move out of or into a violated cluster. Returns the violation that is left.
double repair(Context& context, State& state, Random& random);

// The same for one assignment step: blocks have these costs (row-major) and no features. Once all rules and
// hard links are kept, moves and exchanges follow as long as they lower the cost. False where labels still
// break something; then no labels are proved not to exist.
bool repairLabels(Problem problem, std::span<const double> costs, std::span<const double> duals,
                  std::span<std::int32_t> labels, TimePoint deadline);

} // namespace konstrain::search
