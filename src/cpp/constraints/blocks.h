#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::constraints {

// Merges rows into blocks and writes the block of each row; blocks are numbered in the order of their first
// rows. `pairs` holds two rows after each other per must-link; `groups` and `labels` hold one code per row
// (-1: none) or nothing at all, and rows with equal codes are merged. Returns the number of blocks.
std::int32_t mergeBlocks(std::span<const std::int32_t> pairs, std::span<const std::int32_t> groups,
                         std::span<const std::int32_t> labels, std::span<std::int32_t> blockOf);

// Lists the rows of each block in ascending order; `indptr` has one element more than there are blocks.
void listRows(std::span<const std::int32_t> blockOf, std::span<std::int64_t> indptr,
              std::span<std::int32_t> rows);

// A symmetric graph in compressed rows, neighbours sorted within a row.
struct LinkArrays {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> weights; // empty when the edges came without weights
};

// Makes the graph from edges in any order and direction. Repeated edges are merged, their weights added in
// the order of the edges, the same in both directions; edges whose weights add up to zero are left out.
LinkArrays buildLinks(std::size_t nNodes, std::span<const std::int32_t> first,
                      std::span<const std::int32_t> second, std::span<const double> weights);

// A matrix that is looked at where it lies, whatever its order.
template <typename T> struct StridedRows {
    const T* data;
    std::ptrdiff_t rowStride;
    std::ptrdiff_t columnStride;
    std::size_t nColumns;
};

// Weighted mean of each block's rows (row-major into `means`) and their weighted squared distances to it.
// Sums are kept in double whatever T is. `weights` has one element per row or is empty (1 each); a block
// without weight gets its plain mean and no scatter.
template <typename T>
void averageBlocks(const StridedRows<T>& x, std::span<const std::int64_t> indptr,
                   std::span<const std::int32_t> rows, std::span<const double> weights, std::span<T> means,
                   std::span<double> scatter);

template <typename T> struct SparseMeans {
    std::vector<std::int64_t> indptr;
    std::vector<std::int32_t> indices;
    std::vector<T> data;
};

// The same for a matrix in compressed rows (no repeated entries); the means come back in compressed rows.
template <typename T, typename Index>
SparseMeans<T> averageBlocksSparse(std::span<const Index> xIndptr, std::span<const Index> xIndices,
                                   std::span<const T> xData, std::size_t nColumns,
                                   std::span<const std::int64_t> indptr, std::span<const std::int32_t> rows,
                                   std::span<const double> weights, std::span<double> scatter);

} // namespace konstrain::constraints
