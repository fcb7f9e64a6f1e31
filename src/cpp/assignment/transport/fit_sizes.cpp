#include "fit_sizes.h"

#include <cstddef>

namespace konstrain::transport {

namespace {

// Moves rows out of clusters that can give to the cheapest one that can take, until no cluster must give or
// must take any more.
template <typename CanGive, typename CanTake>
void sweep(std::span<const double> costs, std::span<std::int32_t> labels, std::span<std::int64_t> sizes,
           CanGive canGive, CanTake canTake) {
    const std::size_t nClusters = sizes.size();
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const auto from = static_cast<std::size_t>(labels[row]);
        if (!canGive(from))
            continue;
        const double* cost = costs.data() + row * nClusters;
        std::size_t best = nClusters;
        for (std::size_t j = 0; j != nClusters; ++j)
            if (j != from && canTake(j) && (best == nClusters || cost[j] < cost[best]))
                best = j;
        if (best == nClusters)
            return;
        --sizes[from];
        ++sizes[best];
        labels[row] = static_cast<std::int32_t>(best);
    }
}

} // namespace

void fitSizes(std::span<const double> costs, std::span<const std::int64_t> lower,
              std::span<const std::int64_t> upper, std::span<std::int32_t> labels,
              std::span<std::int64_t> sizes) {
    // Sums of bounds allow it, so while one cluster has too many rows another has capacity left, and the
    // same for too few.
    sweep(
        costs, labels, sizes, [&](std::size_t j) { return sizes[j] > upper[j]; },
        [&](std::size_t j) { return sizes[j] < upper[j]; });
    sweep(
        costs, labels, sizes, [&](std::size_t j) { return sizes[j] > lower[j]; },
        [&](std::size_t j) { return sizes[j] < lower[j]; });
}

} // namespace konstrain::transport
