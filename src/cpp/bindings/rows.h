#pragma once

// Rows as Python hands them in: one array when they are dense, three when they are sparse.
#include "arrays.h"
#include "row_views.h"

template <typename Value>
konstrain::kmeans::DenseRows<Value> rowsOf(std::size_t nColumns, Matrix<Value> rows) {
    return {rows.values, rows.nRows, nColumns};
}

template <typename Value, typename Index>
konstrain::kmeans::SparseRows<Value, Index> rowsOf(std::size_t nColumns, Vector<Value> values,
                                                   Vector<Index> columns, Vector<Index> starts) {
    return {values.data(), columns.data(), starts.data(), starts.size() - 1, nColumns};
}

// Calls `bind.template operator()<Parts...>(names...)` for each kind of rows; `Parts` are the arrays that
// make up the rows.
template <typename Bind> void forEachKindOfRows(Bind bind) {
    bind.template operator()<Matrix<double>>("rows"_a);
    bind.template operator()<Matrix<float>>("rows"_a);
    const auto sparse = [&]<typename Value, typename Index>() {
        bind.template operator()<Vector<Value>, Vector<Index>, Vector<Index>>("values"_a, "columns"_a,
                                                                              "starts"_a);
    };
    sparse.template operator()<double, std::int32_t>();
    sparse.template operator()<double, std::int64_t>();
    sparse.template operator()<float, std::int32_t>();
    sparse.template operator()<float, std::int64_t>();
}
