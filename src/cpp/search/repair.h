#pragma once

#include "lloyd.h"
#include "random.h"

namespace konstrain::search {

// Removes violations of rules and hard links at little cost: single moves by reduced cost per unit of
// violation removed; where none is left, swaps and pairs of blocks; where none of these is left, a random
// move out of or into a violated cluster. Returns the violation that is left.
double repair(Context& context, State& state, Random& random);

} // namespace konstrain::search
