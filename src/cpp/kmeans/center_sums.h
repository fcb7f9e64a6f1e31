#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "chunks.h"
#include "packed_points.h"
#include "row_views.h"

namespace konstrain::kmeans {

// Weighted sum of the rows of each cluster (one row of `sums` per cluster), and its weight.
struct ClusterSums {
    double* sums;
    double* weight;
    std::size_t nClusters;
    std::size_t nColumns;
};

// Sums of one chunk, owned by one worker and added to the total when the chunk's turn comes.
class PartialSums {
public:
    PartialSums(std::size_t nClusters, std::size_t nColumns);
    ClusterSums view() { return {sums_.data(), weight_.data(), nClusters_, nColumns_}; }
    void clear();
    void addTo(ClusterSums total) const;

private:
    std::size_t nClusters_;
    std::size_t nColumns_;
    AlignedDoubles sums_;
    AlignedDoubles weight_;
};

// How rows are cut when each chunk has sums of its own: clearing and adding those must stay cheap compared
// with the rows.
template <typename Value> Chunks chunksToSum(const DenseRows<Value>& rows, std::size_t nClusters);
template <typename Value, typename Index>
Chunks chunksToSum(const SparseRows<Value, Index>& rows, std::size_t nClusters);

// Adds `rows` to the sums of their clusters. `weight` and `labels` belong to the whole matrix; `weight` may
// be null, which means 1 each.
template <typename Rows>
void addRows(const Rows& rows, RowRange range, const double* weight, const std::int32_t* labels,
             ClusterSums sums);

// Fills `total` from all rows. The result does not depend on `nThreads`.
template <typename Rows>
void sumClusters(const Rows& rows, const double* weight, std::span<const std::int32_t> labels,
                 std::size_t nThreads, ClusterSums total);

// Share of the rows, one in this many, up to which a change of labels is worth tracking row by row; larger:
// more often all rows are summed up anew, which leaves no rounding behind.
inline constexpr std::size_t rowsPerChange = 8;

// Brings `total`, filled for the labels `from`, up to date with the labels `to`.
template <typename Rows>
void moveRows(const Rows& rows, const double* weight, std::span<const std::int32_t> from,
              std::span<const std::int32_t> to, std::size_t nThreads, ClusterSums total);

} // namespace konstrain::kmeans
