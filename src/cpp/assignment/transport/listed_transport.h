#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "cost_source.h"
#include "deadline.h"
#include "transport.h"

namespace konstrain::transport {

struct ListedOptions {
    std::size_t listLength = 32; // clusters on the list of a row
    bool isWarm = false;         // duals come from a similar problem
    std::size_t nThreads = 1;
    TimePoint deadline = TimePoint::max();
};

// As `solveTransport`, for many clusters: duals by Newton steps over short lists of clusters per row, then
// cheapest paths on these lists. Reads the costs of all rows about once and keeps only the lists.
TransportResult solveListedTransport(CostSource& source, std::span<const std::int64_t> lower,
                                     std::span<const std::int64_t> upper, std::span<double> duals,
                                     std::span<std::int32_t> labels, const ListedOptions& options);

} // namespace konstrain::transport
