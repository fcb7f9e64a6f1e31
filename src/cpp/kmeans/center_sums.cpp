#include "center_sums.h"

#include <cassert>
#include <vector>

#include "multiversion.h"

namespace konstrain::kmeans {

namespace {

// A macro, because the compiler makes no clones of templates.
#define KONSTRAIN_ADD_DENSE_ROWS(Value)                                                                      \
    KONSTRAIN_MULTIVERSION                                                                                   \
    void addDenseRows(const Value* rows, RowRange range, const double* weight, const std::int32_t* labels,   \
                      double* sums, std::size_t nColumns) {                                                  \
        for (std::size_t row = range.first; row != range.last; ++row) {                                      \
            const Value* from = rows + row * nColumns;                                                       \
            double* to = sums + static_cast<std::size_t>(labels[row]) * nColumns;                            \
            const double w = weight == nullptr ? 1.0 : weight[row];                                          \
            for (std::size_t f = 0; f != nColumns; ++f)                                                      \
                to[f] += w * static_cast<double>(from[f]);                                                   \
        }                                                                                                    \
    }
KONSTRAIN_ADD_DENSE_ROWS(float)
KONSTRAIN_ADD_DENSE_ROWS(double)
#undef KONSTRAIN_ADD_DENSE_ROWS

template <typename Value>
void addEntries(const DenseRows<Value>& rows, RowRange range, const double* weight,
                const std::int32_t* labels, double* sums) {
    addDenseRows(rows.values, range, weight, labels, sums, rows.nColumns);
}

template <typename Value, typename Index>
void addEntries(const SparseRows<Value, Index>& rows, RowRange range, const double* weight,
                const std::int32_t* labels, double* sums) {
    for (std::size_t row = range.first; row != range.last; ++row) {
        double* to = sums + static_cast<std::size_t>(labels[row]) * rows.nColumns;
        const double w = weight == nullptr ? 1.0 : weight[row];
        for (std::size_t e = rows.start(row); e != rows.start(row + 1); ++e)
            to[static_cast<std::size_t>(rows.columns[e])] += w * static_cast<double>(rows.values[e]);
    }
}

// Adds a multiple of one row.
template <typename Value>
void addRow(const DenseRows<Value>& rows, std::size_t row, double factor, double* to) {
    const Value* from = rows.values + row * rows.nColumns;
    for (std::size_t f = 0; f != rows.nColumns; ++f)
        to[f] += factor * static_cast<double>(from[f]);
}

template <typename Value, typename Index>
void addRow(const SparseRows<Value, Index>& rows, std::size_t row, double factor, double* to) {
    for (std::size_t e = rows.start(row); e != rows.start(row + 1); ++e)
        to[static_cast<std::size_t>(rows.columns[e])] += factor * static_cast<double>(rows.values[e]);
}

} // namespace

PartialSums::PartialSums(std::size_t nClusters, std::size_t nColumns)
    : nClusters_(nClusters), nColumns_(nColumns), sums_(nClusters * nColumns), weight_(nClusters) {}

void PartialSums::clear() {
    std::fill_n(sums_.data(), nClusters_ * nColumns_, 0.0);
    std::fill_n(weight_.data(), nClusters_, 0.0);
}

void PartialSums::addTo(ClusterSums total) const {
    for (std::size_t i = 0; i != nClusters_ * nColumns_; ++i)
        total.sums[i] += sums_.data()[i];
    for (std::size_t j = 0; j != nClusters_; ++j)
        total.weight[j] += weight_.data()[j];
}

// A chunk clears and adds k x d sums in addition to the rows it reads: with 16 rows per cluster that is a
// sixteenth of its work. The size depends on the data alone, so the order of additions, and with it every bit
// of the sums, is the same for any number of threads.
template <typename Value> Chunks chunksToSum(const DenseRows<Value>& rows, std::size_t nClusters) {
    return {rows.nRows, std::max(rowsPerChunk, 16 * nClusters)};
}

template <typename Value, typename Index>
Chunks chunksToSum(const SparseRows<Value, Index>& rows, std::size_t nClusters) {
    const double perRow =
        static_cast<double>(rows.nEntries()) / static_cast<double>(std::max<std::size_t>(rows.nRows, 1));
    const double cells = static_cast<double>(nClusters) * static_cast<double>(rows.nColumns);
    const double enough = std::min(8.0 * cells / std::max(perRow, 1.0), static_cast<double>(rows.nRows));
    return {rows.nRows, std::max(rowsPerChunk, static_cast<std::size_t>(enough))};
}

template <typename Rows>
void addRows(const Rows& rows, RowRange range, const double* weight, const std::int32_t* labels,
             ClusterSums sums) {
    addEntries(rows, range, weight, labels, sums.sums);
    for (std::size_t row = range.first; row != range.last; ++row)
        sums.weight[labels[row]] += weight == nullptr ? 1.0 : weight[row];
}

template <typename Rows>
void sumClusters(const Rows& rows, const double* weight, std::span<const std::int32_t> labels,
                 std::size_t nThreads, ClusterSums total) {
    assert(labels.size() == rows.nRows);
    std::fill_n(total.sums, total.nClusters * total.nColumns, 0.0);
    std::fill_n(total.weight, total.nClusters, 0.0);
    const Chunks chunks = chunksToSum(rows, total.nClusters);
    if (chunks.count() <= 1) {
        addRows(rows, {0, rows.nRows}, weight, labels.data(), total);
        return;
    }
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<PartialSums> partial(nWorkers, PartialSums(total.nClusters, total.nColumns));
    Turns turns;
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        partial[worker].clear();
        addRows(rows, chunks.rows(chunk), weight, labels.data(), partial[worker].view());
        turns.await(chunk);
        partial[worker].addTo(total);
        turns.pass();
    });
}

template <typename Rows>
void moveRows(const Rows& rows, const double* weight, std::span<const std::int32_t> from,
              std::span<const std::int32_t> to, std::size_t nThreads, ClusterSums total) {
    assert(from.size() == rows.nRows && to.size() == rows.nRows);
    std::size_t nMoved = 0;
    for (std::size_t row = 0; row != rows.nRows; ++row)
        nMoved += from[row] != to[row] ? 1U : 0U;
    if (nMoved > rows.nRows / rowsPerChange) {
        sumClusters(rows, weight, to, nThreads, total);
        return;
    }
    for (std::size_t row = 0; nMoved != 0; ++row) {
        if (from[row] == to[row])
            continue;
        --nMoved;
        const double w = weight == nullptr ? 1.0 : weight[row];
        const auto left = static_cast<std::size_t>(from[row]);
        const auto joined = static_cast<std::size_t>(to[row]);
        addRow(rows, row, -w, total.sums + left * total.nColumns);
        addRow(rows, row, w, total.sums + joined * total.nColumns);
        total.weight[left] -= w;
        total.weight[joined] += w;
    }
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template Chunks chunksToSum(const __VA_ARGS__&, std::size_t);                                            \
    template void addRows(const __VA_ARGS__&, RowRange, const double*, const std::int32_t*, ClusterSums);    \
    template void sumClusters(const __VA_ARGS__&, const double*, std::span<const std::int32_t>, std::size_t, \
                              ClusterSums);                                                                  \
    template void moveRows(const __VA_ARGS__&, const double*, std::span<const std::int32_t>,                 \
                           std::span<const std::int32_t>, std::size_t, ClusterSums);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain::kmeans
