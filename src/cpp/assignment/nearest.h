#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace konstrain {

// Writes the first cheapest column of each row of the row-major matrix `costs` into `labels` and returns the
// sum of the minima. `labels.size()` is the number of rows.
double nearest(std::span<const double> costs, std::size_t nClusters, std::span<std::int32_t> labels);

} // namespace konstrain
