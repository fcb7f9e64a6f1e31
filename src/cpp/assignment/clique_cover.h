#pragma once

#include <cstdint>
#include <vector>

#include "potts.h"

namespace konstrain {

// Cliques of the link graph such that every link lies in at least one of them, as large as a greedy search
// makes them. All links must be hard.
std::vector<std::vector<std::int32_t>> coverByCliques(const Potts& potts);

} // namespace konstrain
