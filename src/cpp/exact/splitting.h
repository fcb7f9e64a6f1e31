#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "deadline.h"

namespace konstrain::exact {

// Rows (blocks) with what they count and the cluster each is in.
struct SplitRows {
    std::span<const double> points; // row by row
    std::size_t nFeatures;
    std::span<const double> weight;
    std::span<const std::int32_t> label;
    std::size_t nClusters;
};

struct SplitRules {
    std::size_t nParts;
    // How often each row tries partners to change places with, and among how many near ones.
    std::size_t nSweeps;
    std::size_t nPartners;
    std::uint64_t seed;
    // When rows stop changing places; all of them are in a part by then.
    TimePoint deadline = TimePoint::max();
};

// Partitions rows into parts whose clusters have the moments of the whole: `part` holds -1 for rows to deal,
// and the part of rows that are placed already.
//
// Each cluster is cut, at its widest feature, into strata of as many rows as there are parts, and every part
// gets one row of each stratum: parts have the shape of the cluster, which leaves them little to gain from
// clusters of their own. Then rows of one stratum change places while that lowers the sum over parts and
// clusters of |sum of weight * (row - center)|^2 / weight: what the clustering costs less when parts have
// their own means.
void dealRows(const SplitRows& rows, const SplitRules& rules, std::span<std::int32_t> part);

} // namespace konstrain::exact
