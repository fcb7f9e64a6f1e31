#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "row_views.h"

namespace konstrain::kmeans {

// Sum of `weight[row] * |row - center of its cluster|^2`; `weight` may be null, which means 1 each. Rounds as
// `distances.h` says. The result does not depend on `nThreads`.
template <typename Rows>
double ownCosts(const Rows& rows, const double* weight, std::span<const std::int32_t> labels,
                const DenseRows<double>& centers, std::size_t nThreads);

} // namespace konstrain::kmeans
