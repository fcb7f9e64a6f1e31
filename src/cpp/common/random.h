#pragma once

#include <cstddef>
#include <random>
#include <utility>
#include <vector>

namespace konstrain {

// The distributions and std::shuffle differ between standard libraries; the same seed should give the same
// result everywhere.
using Random = std::mt19937_64;

inline std::size_t drawBelow(std::size_t n, Random& random) {
    return static_cast<std::size_t>(random() % n);
}

// Uniform in [0, 1).
inline double drawUnit(Random& random) {
    return static_cast<double>(random() >> 11) * 0x1.0p-53;
}

template <typename T> void shuffle(std::vector<T>& items, Random& random) {
    for (std::size_t i = items.size(); i > 1; --i)
        std::swap(items[i - 1], items[drawBelow(i, random)]);
}

} // namespace konstrain
