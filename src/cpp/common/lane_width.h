#pragma once

#include <cstddef>

namespace konstrain {

// Arrays that kernels read eight values at a time are padded to this.
inline constexpr std::size_t laneCount = 8;

constexpr std::size_t paddedToLanes(std::size_t size) {
    return (size + laneCount - 1) / laneCount * laneCount;
}

} // namespace konstrain
