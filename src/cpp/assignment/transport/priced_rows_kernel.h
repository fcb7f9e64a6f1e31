// Included by priced_rows.cpp once per instruction set; see for_each_target.h.

namespace konstrain::transport::KONSTRAIN_TARGET {

using namespace konstrain::KONSTRAIN_TARGET; // the lanes of this instruction set

// A row per lane; the caller gives a multiple of eight rows and sees to it that reading to a full chunk past
// each row is allowed. Sums run in the order of the rows, so they are the same on every machine.
inline PricedSums priceFullSteps(RowsView rows, const double* offsets, RowsOut out) {
    PricedSums sums;
    for (std::size_t row = 0; row + nLanes <= rows.nRows; row += nLanes) {
        const double* values = rows.costs + row * rows.stride;
        const Best best = bestOfRows(values, rows.stride, rows.nColumns, offsets);
        if (out.gaps != nullptr) {
            const Doubles most = all(static_cast<double>(std::numeric_limits<float>::max()));
            const Doubles exact = best.second - best.first;
            const Doubles gap = exact > most ? most : exact;
            for (std::size_t lane = 0; lane != nLanes; ++lane)
                out.gaps[row + lane] = static_cast<float>(gap[lane]);
        }
        for (std::size_t lane = 0; lane != nLanes; ++lane) {
            const auto column = best.column[lane];
            out.labels[row + lane] = static_cast<std::int32_t>(column);
            ++out.sizes[column];
            sums.priced += best.first[lane];
            sums.cost += values[lane * rows.stride + static_cast<std::size_t>(column)];
        }
    }
    return sums;
}

} // namespace konstrain::transport::KONSTRAIN_TARGET
