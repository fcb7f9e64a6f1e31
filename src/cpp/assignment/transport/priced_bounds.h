#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::transport {

// What the bounds take off a sum of priced minima to make it a lower bound.
double boundTerm(std::span<const double> duals, std::span<const std::int64_t> lower,
                 std::span<const std::int64_t> upper);

// A dual on a bound that cannot bind only weakens the lower bound: sets it to zero.
void dropIdleDuals(std::span<double> duals, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> upper, std::size_t nRows);

struct SizeBounds {
    std::vector<std::int64_t> lower;
    std::vector<std::int64_t> upper;
};

// Bounds for a sample of the rows, rounded outwards, so that bounds that add up still do.
SizeBounds sampleBounds(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                        std::size_t nRows, std::size_t nSampled);

// Growth factor of what proved too small: a reduced problem, a radius, a list. Larger: fewer rounds, each
// with more work than needed.
inline constexpr std::size_t growthFactor = 4;

// Rows per sampled row; larger: a sample is cheaper, and its duals are farther from those of all rows.
inline constexpr std::size_t sampleRatio = 8;

// Sampled rows per cluster below which no sample is taken; larger: fewer problems start with a sample.
inline constexpr std::size_t sampledPerCluster = 8;

// One row of each stretch of `ratio`, at a pseudo-random place in it, so that the sample
// does not resonate with a period in the data.
inline std::size_t sampledRow(std::size_t number, std::size_t ratio) {
    const std::uint64_t scrambled = (number + 1) * 0x9E3779B97F4A7C15U;
    return number * ratio + (scrambled >> 61U) % ratio;
}

} // namespace konstrain::transport
