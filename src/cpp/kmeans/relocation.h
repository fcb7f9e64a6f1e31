#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "block_means.h"

namespace konstrain {

// What it would take to remove a cluster and what splitting one would give, constraints left aside.
struct RelocationEstimates {
    std::vector<double> centres; // row-major; zero where a cluster has no weight
    std::vector<double>
        removal;                // rise of the objective when a cluster's blocks go to their next best centres
    std::vector<double> gain;   // fall of the objective when a cluster is cut in two
    std::vector<double> halves; // centres of the two halves of each cluster, two rows per cluster
};

// Looks at each block once against all centres, and at up to 1000 of each cluster some twenty times against
// two.
RelocationEstimates estimateRelocations(const BlockMeans& means, std::span<const double> weight,
                                        std::span<const std::int32_t> labels, std::size_t nClusters,
                                        std::uint64_t seed);

} // namespace konstrain
