#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace konstrain::transport {

// Makes labels feasible in two sweeps: rows leave clusters with too many, then clusters that can give rows to
// those with too few. Fast and not optimal: for when time is over. `sizes` counts labels and is kept up to
// date. `choose(row, first, canTake)` returns a cluster that can take the row, of which `first` is the first.
template <typename Choose>
void fitSizes(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
              std::span<std::int32_t> labels, std::span<std::int64_t> sizes, Choose choose) {
    // Sums of bounds allow it, so while one cluster has too many rows another has capacity left, and the
    // same for too few.
    const auto sweep = [&](auto canGive, auto canTake) {
        std::size_t first = 0;
        for (std::size_t row = 0; row != labels.size(); ++row) {
            while (first != sizes.size() && !canTake(first))
                ++first;
            if (first == sizes.size())
                return;
            const auto from = static_cast<std::size_t>(labels[row]);
            if (!canGive(from))
                continue;
            const std::size_t to = choose(row, first, canTake);
            --sizes[from];
            ++sizes[to];
            labels[row] = static_cast<std::int32_t>(to);
        }
    };
    sweep([&](std::size_t j) { return sizes[j] > upper[j]; },
          [&](std::size_t j) { return sizes[j] < upper[j]; });
    sweep([&](std::size_t j) { return sizes[j] > lower[j]; },
          [&](std::size_t j) { return sizes[j] < lower[j]; });
}

} // namespace konstrain::transport
