#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "block_means.h"

namespace konstrain {

// What it would take to remove a cluster and what splitting one would give, constraints left aside.
struct RelocationEstimates {
    std::vector<double>
        removal;                // rise of the objective when a cluster's blocks go to their next best centers
    std::vector<double> gain;   // fall of the objective when a cluster is cut in two
    std::vector<double> halves; // centers of the two halves of each cluster, two rows per cluster
};

// A clustering whose centers may be relocated.
struct LabelledBlocks {
    const BlockMeans& means;
    std::span<const double> weight;
    std::span<const std::int32_t> labels;
    std::span<const double> centers; // row-major, the means of the clusters; anything where one has no weight
    std::span<const double> costs;   // row-major, of each block at each center: weight times squared distance
};

// Looks at the costs once, and at up to 1000 blocks of each cluster some twenty times against two centers:
// not where no cut could gain more than `leastGain` above the cheapest removal; gains are zero then.
RelocationEstimates estimateRelocations(const LabelledBlocks& blocks, std::size_t nClusters,
                                        std::uint64_t seed, double leastGain);

} // namespace konstrain
