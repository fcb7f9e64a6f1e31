#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace konstrain::baselines {

// Pairs of rows, flat: first, second, first, second, ...
struct PairView {
    std::span<const std::int32_t> mustLink;
    std::span<const std::int32_t> cannotLink;
};

// The assignment step of CVQE. `labels` come in as nearest centers. Each link that is broken when its turn
// comes, must-links first, moves both its rows to the two clusters of least cost, all pairs of clusters
// tried: squared distances `costs`, plus the squared distance `separation` of the two centers for a
// must-link across them, plus that of the nearest other center for a cannot-link within one.
void cvqePass(std::span<const double> costs, std::size_t nClusters, std::span<const double> separation,
              const PairView& links, std::span<std::int32_t> labels);

// The assignment step of LCVQE: a broken must-link stays, or one row joins the other; a broken cannot-link
// stays, or one of its rows goes to the nearest other center.
void lcvqePass(std::span<const double> costs, std::size_t nClusters, const PairView& links,
               std::span<std::int32_t> labels);

} // namespace konstrain::baselines
