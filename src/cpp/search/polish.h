#pragma once

#include "lloyd.h"

namespace konstrain::search {

// Lowers the objective by changes that raise no violation, each by its exact change of the sum of squares
// with the means that follow: single moves (Hartigan's test), swaps and pairs of blocks between two clusters,
// and, with links, chains of linked blocks that change sides together. Returns the number of passes, at most
// `maxPasses`.
int polish(Context& context, State& state, int maxPasses);

} // namespace konstrain::search
