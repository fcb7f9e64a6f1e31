#include "priced_bounds.h"

#include <algorithm>

namespace konstrain::transport {

// Lagrangian dual of min sum cost x subject to lower <= size <= upper: a cluster with a positive dual pays it
// for all rows up to `upper`, one with a negative dual for those down to `lower`.
double boundTerm(std::span<const double> duals, std::span<const std::int64_t> lower,
                 std::span<const std::int64_t> upper) {
    double sum = 0.0;
    for (std::size_t j = 0; j != duals.size(); ++j)
        sum += duals[j] * static_cast<double>(duals[j] > 0.0 ? upper[j] : lower[j]);
    return sum;
}

void dropIdleDuals(std::span<double> duals, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> upper, std::size_t nRows) {
    for (std::size_t j = 0; j != duals.size(); ++j) {
        const bool idle = duals[j] > 0.0 ? upper[j] >= static_cast<std::int64_t>(nRows) : lower[j] <= 0;
        if (idle)
            duals[j] = 0.0;
    }
}

SizeBounds sampleBounds(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                        std::size_t nRows, std::size_t nSampled) {
    const auto all = static_cast<std::int64_t>(nRows);
    const auto scaled = [&](std::int64_t bound) { return bound * static_cast<std::int64_t>(nSampled); };
    SizeBounds bounds{std::vector<std::int64_t>(lower.size()), std::vector<std::int64_t>(lower.size())};
    for (std::size_t j = 0; j != lower.size(); ++j) {
        bounds.lower[j] = scaled(lower[j]) / all;
        bounds.upper[j] = (scaled(std::min(upper[j], all)) + all - 1) / all;
    }
    return bounds;
}

} // namespace konstrain::transport
