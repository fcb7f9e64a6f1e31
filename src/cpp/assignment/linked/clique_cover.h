#pragma once

#include <cstdint>
#include <vector>

#include "potts.h"

namespace konstrain::linked {

// Cliques of the link graph such that every link lies in at least one of them: all maximal cliques where they
// are few enough, which gives far tighter bounds, else some that a greedy search makes large. All links must
// be hard.
std::vector<std::vector<std::int32_t>> coverByCliques(const Potts& potts);

} // namespace konstrain::linked
