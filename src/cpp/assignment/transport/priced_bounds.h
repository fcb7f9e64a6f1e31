#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::transport {

// What the bounds take off a sum of priced minima to make it a lower bound.
double boundTerm(std::span<const double> prices, std::span<const std::int64_t> lower,
                 std::span<const std::int64_t> upper);

// A price on a bound that cannot bind only weakens the lower bound. Returns whether there was one.
bool dropIdlePrices(std::span<double> prices, std::span<const std::int64_t> lower,
                    std::span<const std::int64_t> upper, std::size_t nRows);

struct SizeBounds {
    std::vector<std::int64_t> lower;
    std::vector<std::int64_t> upper;
};

// Bounds for a sample of the rows, rounded outwards, so that bounds that add up still do.
SizeBounds sampleBounds(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                        std::size_t nRows, std::size_t nSampled);

// One row of each stretch of `ratio`, at a place that looks random so that no period in the data is met.
inline std::size_t sampledRow(std::size_t number, std::size_t ratio) {
    const std::uint64_t scrambled = (number + 1) * 0x9E3779B97F4A7C15U;
    return number * ratio + (scrambled >> 61U) % ratio;
}

} // namespace konstrain::transport
