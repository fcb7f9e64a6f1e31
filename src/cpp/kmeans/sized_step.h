#pragma once

#include <cstdint>
#include <span>

#include "distances.h"
#include "transport.h"
#include "watched_rows.h"

namespace konstrain::kmeans {

// The bounds of a step, and when it is to end.
struct SizedQuestion {
    std::span<const std::int64_t> lower;
    std::span<const std::int64_t> upper;
    std::size_t nThreads;
    TimePoint deadline;
};

// The costs of a sweep over all rows: those in `columns` are written, those of centers that have not moved
// are there.
struct SweptCosts {
    std::span<double> costs;
    std::span<const std::int32_t> columns;
    bool areWritten = false;
};

// One assignment step under sizes from the prices of a similar one: `solveTransport` at the costs of
// `blockCosts`, and `sumClusters` of its labels. Rows of which it is known that they stay where they are, are
// not looked at, and no costs are written where that leaves few of them. Else most rows are where they belong
// at these prices, and nothing but costs of the few others is looked at after the first sweep.
template <typename Rows>
transport::TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                                     const SizedQuestion& question, std::span<double> prices,
                                     WatchedRows& watched, SweptCosts& swept, std::span<std::int32_t> labels,
                                     ClusterSums clusters);

} // namespace konstrain::kmeans
