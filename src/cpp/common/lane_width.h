#pragma once

#include <cstddef>
#include <limits>

namespace konstrain {

// Arrays that kernels read eight values at a time are padded to this.
inline constexpr std::size_t laneCount = 8;
inline constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::size_t paddedToLanes(std::size_t size) {
    return (size + laneCount - 1) / laneCount * laneCount;
}

} // namespace konstrain
