#include "priced_rows.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <vector>

namespace konstrain::transport {

// What the kernels take and fill.
struct RowsView {
    const double* costs;
    std::size_t nRows;
    std::size_t nColumns;
    std::size_t stride;
};

struct RowsOut {
    std::int32_t* labels;
    float* gaps; // may be null
    std::int64_t* sizes;
};

} // namespace konstrain::transport

#define KONSTRAIN_KERNELS "priced_rows_kernel.h"
#include "for_each_target.h"

namespace konstrain::transport {

namespace {

const auto priceFullSteps = KONSTRAIN_PICK(priceFullSteps);

// Rows that may be left for the tail: fewer than a register has lanes, and as many again as a full step may
// read past.
constexpr std::size_t mostTailRows = laneCount * 2;

// The last rows of the matrix, copied so that reading past them is harmless. Missing rows repeat the first
// one and are dropped.
PricedSums priceTail(RowsView rows, const double* offsets, std::vector<double>& padded,
                     std::vector<std::int64_t>& ignored, RowsOut out) {
    const std::size_t stride = paddedToLanes(rows.nColumns);
    const std::size_t nSteps = (rows.nRows + 7) / 8;
    assert(nSteps * 8 <= mostTailRows);
    for (std::size_t row = 0; row != nSteps * 8; ++row)
        std::copy_n(rows.costs + (row < rows.nRows ? row : 0) * rows.stride, rows.nColumns,
                    padded.data() + row * stride);
    std::int32_t labels[mostTailRows];
    float gaps[mostTailRows];
    priceFullSteps({padded.data(), nSteps * 8, rows.nColumns, stride}, offsets,
                   {labels, gaps, ignored.data()});
    PricedSums sums;
    for (std::size_t row = 0; row != rows.nRows; ++row) {
        const auto column = static_cast<std::size_t>(labels[row]);
        out.labels[row] = labels[row];
        ++out.sizes[column];
        if (out.gaps != nullptr)
            out.gaps[row] = gaps[row];
        sums.cost += rows.costs[row * rows.stride + column];
        sums.priced += rows.costs[row * rows.stride + column] + offsets[column];
    }
    return sums;
}

// Kernels read rows in full vectors, past their ends: the next row's values meet an infinite offset and never
// win. Rows that may be read by full chunks: all but those whose last chunk would leave the matrix.
std::size_t rowsToReadInFull(std::size_t nRows, std::size_t nColumns) {
    const std::size_t overhang = paddedToLanes(nColumns) - nColumns;
    const std::size_t reserved = (overhang + nColumns - 1) / nColumns;
    return nRows > reserved ? (nRows - reserved) / 8 * 8 : 0;
}

} // namespace

RowPricer::RowPricer(std::span<const double> duals)
    : nColumns_(duals.size()), offsets_(paddedToLanes(nColumns_), infinity),
      padded_(mostTailRows * paddedToLanes(nColumns_), 0.0), ignored_(nColumns_) {
    std::copy(duals.begin(), duals.end(), offsets_.begin());
}

PricedSums RowPricer::dual(std::span<const double> costs, std::span<std::int32_t> labels,
                           std::span<float> gaps, std::span<std::int64_t> sizes) {
    assert(nColumns_ > 0 && costs.size() == labels.size() * nColumns_ && sizes.size() == nColumns_);
    assert(gaps.empty() || gaps.size() == labels.size());
    const std::size_t nFull = rowsToReadInFull(labels.size(), nColumns_);
    float* gap = gaps.empty() ? nullptr : gaps.data();
    PricedSums sums = priceFullSteps({costs.data(), nFull, nColumns_, nColumns_}, offsets_.data(),
                                     {labels.data(), gap, sizes.data()});
    if (nFull != labels.size()) {
        const PricedSums tail = priceTail(
            {costs.data() + nFull * nColumns_, labels.size() - nFull, nColumns_, nColumns_}, offsets_.data(),
            padded_, ignored_, {labels.data() + nFull, gap == nullptr ? nullptr : gap + nFull, sizes.data()});
        sums.cost += tail.cost;
        sums.priced += tail.priced;
    }
    return sums;
}

PricedSums priceRows(std::span<const double> costs, std::span<const double> duals,
                     std::span<std::int32_t> labels, std::span<float> gaps, std::span<std::int64_t> sizes) {
    std::fill(sizes.begin(), sizes.end(), 0);
    return RowPricer(duals).dual(costs, labels, gaps, sizes);
}

} // namespace konstrain::transport
