#pragma once

#include <cstdint>
#include <limits>

// Values that stand for the lack of one.
namespace konstrain {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
// In place of the number of a row, a node or an entry.
inline constexpr std::int32_t none = -1; // fact

} // namespace konstrain
