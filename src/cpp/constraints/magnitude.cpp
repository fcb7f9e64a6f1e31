#include "magnitude.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "multiversion.h"

namespace konstrain::constraints {

namespace {

// Without its sign, a number read as a whole number is the larger the larger its magnitude, and those that
// are not finite are larger than all others: one comparison per value, whatever the values are.
KONSTRAIN_MULTIVERSION
std::int64_t largestBits(const double* values, std::size_t size) {
    std::int64_t largest = 0;
    for (std::size_t i = 0; i != size; ++i)
        largest = std::max(largest, std::bit_cast<std::int64_t>(values[i]) & INT64_MAX);
    return largest;
}

KONSTRAIN_MULTIVERSION
std::int32_t largestBits(const float* values, std::size_t size) {
    std::int32_t largest = 0;
    for (std::size_t i = 0; i != size; ++i)
        largest = std::max(largest, std::bit_cast<std::int32_t>(values[i]) & INT32_MAX);
    return largest;
}

} // namespace

double largestMagnitude(std::span<const double> values) {
    return std::bit_cast<double>(largestBits(values.data(), values.size()));
}

double largestMagnitude(std::span<const float> values) {
    return static_cast<double>(std::bit_cast<float>(largestBits(values.data(), values.size())));
}

} // namespace konstrain::constraints
