#pragma once

#include <cstdint>
#include <vector>

#include "potts.h"

namespace konstrain::linked {

// Cliques of the link graph, made large by a greedy search, such that every link lies in at least one of
// them. All links must be hard.
std::vector<std::vector<std::int32_t>> coverByCliques(const Potts& potts);

} // namespace konstrain::linked
