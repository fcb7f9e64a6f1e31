#include "priced_bounds.h"

#include <algorithm>

namespace konstrain::transport {

double boundTerm(std::span<const double> prices, std::span<const std::int64_t> lower,
                 std::span<const std::int64_t> upper) {
    double sum = 0.0;
    for (std::size_t j = 0; j != prices.size(); ++j)
        sum += prices[j] * static_cast<double>(prices[j] > 0.0 ? upper[j] : lower[j]);
    return sum;
}

bool dropIdlePrices(std::span<double> prices, std::span<const std::int64_t> lower,
                    std::span<const std::int64_t> upper, std::size_t nRows) {
    bool dropped = false;
    for (std::size_t j = 0; j != prices.size(); ++j) {
        const bool idle = prices[j] > 0.0 ? upper[j] >= static_cast<std::int64_t>(nRows) : lower[j] <= 0;
        if (idle && prices[j] != 0.0) {
            prices[j] = 0.0;
            dropped = true;
        }
    }
    return dropped;
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
