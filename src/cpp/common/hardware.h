#pragma once

#include <cstddef>

// Facts about the machines that kernels run on. Nothing here is tuned: other widths follow from these.
namespace konstrain {

// Doubles of the widest vector register (512 bits). Arrays that kernels read a register at a time are padded
// to this; narrower machines take two or four registers for it.
inline constexpr std::size_t laneCount = 8; // fact
// Bytes that move between memory and caches together.
inline constexpr std::size_t cacheLine = 64; // fact
// Bytes of the largest last-level caches in use; what is larger is in memory when it is read again.
inline constexpr std::size_t largestCache = 64'000'000; // fact

constexpr std::size_t paddedToLanes(std::size_t size) {
    return (size + laneCount - 1) / laneCount * laneCount;
}

} // namespace konstrain
