#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace konstrain {

// Blocks that would lower the sum of squares by moving alone, constraints left aside: Hartigan's test, with
// the weight of the heaviest block for all that join a cluster, so that where weights differ a few more
// blocks are named and none is missed.
//
// `costs` is row-major, one row per block: weighted squared distances to the means of the clusters, whose
// weights are `clusterWeight`.
std::vector<std::int32_t> gainingBlocks(std::span<const double> costs, std::span<const std::int32_t> labels,
                                        std::span<const double> weight,
                                        std::span<const double> clusterWeight);

} // namespace konstrain
