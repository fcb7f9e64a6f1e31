#pragma once

#include <cstdint>
#include <span>

#include "distances.h"
#include "transport.h"

namespace konstrain::kmeans {

// The bounds of a step, and when it is to end.
struct SizedProblem {
    std::span<const std::int64_t> lower;
    std::span<const std::int64_t> upper;
    std::size_t nThreads;
    TimePoint deadline;
};

// The costs of all rows: those in `columns` are written, those of centers that have not moved are there.
struct SweptCosts {
    std::span<double> costs;
    std::span<const std::int32_t> columns;
};

// One assignment step under sizes from the duals of a similar one: `solveTransport` at the costs of
// `blockCosts`, and `sumClusters` of its labels. One sweep over all rows finds most of them in their final
// cluster at these duals, and only costs of the few others are read after it.
template <typename Rows>
transport::TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                                     const SizedProblem& problem, std::span<double> duals,
                                     const SweptCosts& swept, std::span<std::int32_t> labels,
                                     ClusterSums clusters);

} // namespace konstrain::kmeans
