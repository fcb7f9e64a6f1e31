#pragma once

#include <cstdint>
#include <span>

namespace konstrain::transport {

// Makes labels feasible in one sweep over the rows, each moved to the cheapest cluster with remaining
// capacity (or with too few rows). Fast and not optimal: for when time is over. `sizes` counts labels and is
// kept up to date.
void fitSizes(std::span<const double> costs, std::span<const std::int64_t> lower,
              std::span<const std::int64_t> upper, std::span<std::int32_t> labels,
              std::span<std::int64_t> sizes);

} // namespace konstrain::transport
