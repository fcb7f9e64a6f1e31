#pragma once

#include <limits>

namespace konstrain {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace konstrain
