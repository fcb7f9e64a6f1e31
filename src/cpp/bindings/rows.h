#pragma once

// Rows as Python hands them in: one array when they are dense, three when they are sparse.
#include "arrays.h"
#include "row_views.h"

template <typename Value>
konstrain::kmeans::DenseRows<Value> rowsOf(std::size_t nColumns, const Matrix<Value>& rows) {
    return {rows.data(), rows.shape(0), nColumns};
}

template <typename Value, typename Index>
konstrain::kmeans::SparseRows<Value, Index> rowsOf(std::size_t nColumns, const Vector<Value>& values,
                                                   const Vector<Index>& columns,
                                                   const Vector<Index>& starts) {
    return {values.data(), columns.data(), starts.data(), starts.size() - 1, nColumns};
}

inline const double* dataOrNull(const std::optional<Vector<double>>& array) {
    return array ? array->data() : nullptr;
}
