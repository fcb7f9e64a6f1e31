#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "potts.h"

namespace konstrain::linked {

// All maximal cliques of two nodes and more; none when they have more than `mostMembers` members together.
std::vector<std::vector<std::int32_t>> maximalCliques(const Potts& potts, std::size_t mostMembers);

} // namespace konstrain::linked
