#pragma once

#include <cstdint>
#include <vector>

#include "deadline.h"
#include "dils_fitness.h"

namespace konstrain::baselines {

struct DilsOptions {
    std::int64_t maxEvaluations; // fitness values computed, at least 2
    std::size_t segment;         // rows that a mutation labels anew
    std::int64_t maxNeighbours;  // evaluations of one local search
    double inheritance;          // chance that a row takes the better parent's label
    double restartGap;           // share by which a child must beat the better parent to send that one away
    std::uint64_t seed;
    TimePoint deadline;
};

struct DilsResult {
    std::vector<std::int32_t> labels;
    double fitness;
    std::int64_t nEvaluations;
    std::int64_t nGenerations;
    std::int64_t nRestarts;
};

// Dual iterated local search: two labelings; each generation crosses them, labels a segment of rows anew,
// improves the child by moves of single rows and keeps it if it beats the worse of the two. Ends when the
// evaluations are spent or the deadline has passed.
DilsResult searchDually(const PairDistances& distances, const SignedLinks& links, std::size_t nClusters,
                        const DilsOptions& options);

} // namespace konstrain::baselines
