#pragma once

#include <cstddef>
#include <cstdint>

namespace konstrain::kmeans {

// Rows of a C-ordered matrix, not owned.
template <typename Value> struct DenseRows {
    const Value* values;
    std::size_t nRows;
    std::size_t nColumns;

    std::size_t nEntries() const { return nRows * nColumns; }
};

// Rows in compressed form, not owned. Row `i` has the entries `starts[i]` to `starts[i + 1]`; no column comes
// twice in a row.
template <typename Value, typename Index> struct SparseRows {
    const Value* values;
    const Index* columns;
    const Index* starts;
    std::size_t nRows;
    std::size_t nColumns;

    std::size_t start(std::size_t row) const { return static_cast<std::size_t>(starts[row]); }
    std::size_t nEntries() const { return start(nRows) - start(0); }
};

// Half-open range of rows.
struct RowRange {
    std::size_t first;
    std::size_t last;
};

// The weight of a row; no weights at all mean 1 each.
inline double weightOf(const double* weight, std::size_t row) {
    return weight == nullptr ? 1.0 : weight[row];
}

} // namespace konstrain::kmeans

// Applies a macro to each kind of rows that Python may hand in.
#define KONSTRAIN_FOR_EACH_ROWS(MACRO)                                                                       \
    MACRO(DenseRows<double>)                                                                                 \
    MACRO(DenseRows<float>)                                                                                  \
    MACRO(SparseRows<double, std::int32_t>)                                                                  \
    MACRO(SparseRows<double, std::int64_t>)                                                                  \
    MACRO(SparseRows<float, std::int32_t>)                                                                   \
    MACRO(SparseRows<float, std::int64_t>)
