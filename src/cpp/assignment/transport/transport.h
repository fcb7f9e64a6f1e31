#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "priced_rows.h"

namespace konstrain::transport {

// Zero means: choose by the size of the problem. Other values serve tests, which reach every path with small
// problems that way.
struct TransportOptions {
    std::size_t listLength = 0; // cheapest rows remembered per pair of clusters
    std::size_t coreRows = 0;   // rows in the first core
    std::size_t sampleRows = 0; // smallest sample the duals are estimated on
    bool trustDuals = false;    // start with these duals even where a sample might give better ones
    TimePoint deadline = TimePoint::max();
};

struct TransportResult {
    double cost = 0.0;
    double bound = 0.0; // no feasible labels cost less
    bool finished = true;
};

// What `priceRows` says about all rows, besides their labels.
struct PricedRows {
    std::vector<float> gaps;
    std::vector<std::int64_t> sizes;
    PricedSums sums;
};

// Labels of least total cost with between lower[j] and upper[j] rows in cluster j. Sums of bounds must allow
// it. A lower bound below zero is one that other rows, which are not asked about, more than fill.
//
// `costs` is row-major with one row per label. `duals` (one per cluster) is any start, best that of a
// similar problem; on return it proves the result: reduced costs are cost plus dual. When the deadline
// passes first, labels are feasible, `finished` is false and `bound` is what the duals had proved by then.
TransportResult solveTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                               std::span<const std::int64_t> upper, std::span<double> duals,
                               std::span<std::int32_t> labels, const TransportOptions& options);

// The same from labels that `priceRows` gave at these duals, which `dropIdleDuals` has seen; they are
// trusted, whatever the options say.
TransportResult solveTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                               std::span<const std::int64_t> upper, std::span<double> duals,
                               std::span<std::int32_t> labels, PricedRows priced, TransportOptions options);

} // namespace konstrain::transport
