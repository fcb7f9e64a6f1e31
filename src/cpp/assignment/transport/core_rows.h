#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::transport {

// The rows nearest to a change of cluster, copied together so that the search stays in cache.
struct CoreRows {
    bool isEverything = false;
    double margin = 0.0; // rows outside prefer their label by more than this
    std::vector<std::int32_t> rows;
    std::vector<double> costs;
    std::vector<std::int32_t> labels;
};

// Takes about `nWanted` rows with the smallest gaps. When that is a good part of all rows, nothing is copied
// and `isEverything` is set.
CoreRows chooseCoreRows(std::span<const double> costs, std::size_t nClusters,
                        std::span<const std::int32_t> labels, std::span<const float> gaps,
                        std::size_t nWanted);

} // namespace konstrain::transport
