#include "own_costs.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <vector>

#include "block_means.h"
#include "chunks.h"

namespace konstrain::kmeans {

namespace {

// Squared distances of dense rows; `buffer_` holds a row of floats as doubles.
template <typename Value> class DenseSquares {
public:
    DenseSquares(const DenseRows<Value>& rows, const DenseRows<double>& centers)
        : rows_(rows), centers_(centers), buffer_(std::is_same_v<Value, double> ? 0 : rows.nColumns) {}

    double operator()(std::size_t row, std::size_t cluster) {
        const Value* values = rows_.values + row * rows_.nColumns;
        const double* center = centers_.values + cluster * rows_.nColumns;
        if constexpr (std::is_same_v<Value, double>) {
            return squaredDistance(values, center, rows_.nColumns);
        } else {
            std::copy_n(values, rows_.nColumns, buffer_.data());
            return squaredDistance(buffer_.data(), center, rows_.nColumns);
        }
    }

private:
    const DenseRows<Value>& rows_;
    const DenseRows<double>& centers_;
    std::vector<double> buffer_;
};

// Squared distances of sparse rows: |c|^2 and what the entries change about it.
template <typename Value, typename Index> class SparseSquares {
public:
    SparseSquares(const SparseRows<Value, Index>& rows, const DenseRows<double>& centers)
        : rows_(rows), centers_(centers), squares_(centers.nRows) {
        const std::vector<double> origin(rows.nColumns, 0.0);
        for (std::size_t j = 0; j != centers.nRows; ++j)
            squares_[j] = squaredDistance(origin.data(), center(j), rows.nColumns);
    }

    double operator()(std::size_t row, std::size_t cluster) const {
        double total = squares_[cluster];
        for (std::size_t e = rows_.start(row); e != rows_.start(row + 1); ++e) {
            const auto value = static_cast<double>(rows_.values[e]);
            total += value * (value - 2.0 * center(cluster)[static_cast<std::size_t>(rows_.columns[e])]);
        }
        return std::max(total, 0.0);
    }

private:
    const double* center(std::size_t cluster) const { return centers_.values + cluster * rows_.nColumns; }

    const SparseRows<Value, Index>& rows_;
    const DenseRows<double>& centers_;
    std::vector<double> squares_;
};

template <typename Value>
DenseSquares<Value> squaresOf(const DenseRows<Value>& rows, const DenseRows<double>& centers) {
    return {rows, centers};
}

template <typename Value, typename Index>
SparseSquares<Value, Index> squaresOf(const SparseRows<Value, Index>& rows,
                                      const DenseRows<double>& centers) {
    return {rows, centers};
}

} // namespace

template <typename Rows>
double ownCosts(const Rows& rows, const double* weight, std::span<const std::int32_t> labels,
                const DenseRows<double>& centers, std::size_t nThreads) {
    assert(labels.size() == rows.nRows);
    const Chunks chunks{rows.nRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector squares(nWorkers, squaresOf(rows, centers));
    std::vector<double> costs(chunks.count());
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row)
            costs[chunk] += (weight == nullptr ? 1.0 : weight[row]) *
                            squares[worker](row, static_cast<std::size_t>(labels[row]));
    });
    double total = 0.0;
    for (const double cost : costs)
        total += cost;
    return total;
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template double ownCosts(const __VA_ARGS__&, const double*, std::span<const std::int32_t>,               \
                             const DenseRows<double>&, std::size_t);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain::kmeans
