// Included by priced_rows.cpp once per instruction set; see for_each_target.h.

namespace konstrain::transport::KONSTRAIN_TARGET {

using namespace konstrain::KONSTRAIN_TARGET; // the lanes of this instruction set

// Eight rows per step; the caller sees to it that reading to a full chunk past each row is allowed.
inline PricedSums priceFullSteps(RowsView rows, const double* offsets, RowsOut out) {
    PricedSums sums;
    Doubles priced = all(0.0);
    for (std::size_t row = 0; row + 8 <= rows.nRows; row += 8) {
        const double* values = rows.costs + row * rows.stride;
        const Best best = bestOfEightRows(values, rows.stride, rows.nColumns, offsets);
        priced += best.first;
        if (out.gaps != nullptr) {
            const Doubles most = all(static_cast<double>(std::numeric_limits<float>::max()));
            const Doubles exact = best.second - best.first;
            const Doubles gap = exact > most ? most : exact;
            for (std::size_t lane = 0; lane != 8; ++lane)
                out.gaps[row + lane] = static_cast<float>(gap[lane]);
        }
        for (std::size_t lane = 0; lane != 8; ++lane) {
            const auto column = best.column[lane];
            out.labels[row + lane] = static_cast<std::int32_t>(column);
            ++out.sizes[column];
            sums.cost += values[lane * rows.stride + static_cast<std::size_t>(column)];
        }
    }
    for (std::size_t lane = 0; lane != 8; ++lane)
        sums.priced += priced[lane];
    return sums;
}

} // namespace konstrain::transport::KONSTRAIN_TARGET
