#pragma once

#include <cstdint>
#include <span>

#include "distances.h"
#include "transport.h"

namespace konstrain {

// One assignment step under sizes from the prices of a similar one: `solveTransport` at the costs of
// `blockCosts`, and `sumClusters` of its labels. Most rows are where they belong at these prices, and nothing
// but costs of the few others is looked at after the first sweep. Costs are written in `columns` only: those
// of centers that have not moved are there.
template <typename Rows>
TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                          std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                          std::span<double> prices, std::size_t nThreads, TimePoint deadline,
                          std::span<double> costs, std::span<const std::int32_t> columns,
                          std::span<std::int32_t> labels, ClusterSums clusters);

} // namespace konstrain
