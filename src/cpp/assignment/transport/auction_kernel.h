// Included by auction.cpp once per instruction set; see for_each_target.h.

namespace konstrain::KONSTRAIN_TARGET {

// The two cheapest clusters of a row. Reads both arrays in full vectors, past their ends; prices are infinite
// there.
inline LeastTwo cheapestTwo(const double* costs, const double* prices, std::size_t nColumns) {
    // Vectors in turn for two minima: one after the other, each comparison would wait for the last.
    Best even{load(costs) + load(prices), all(infinity), firstColumns()};
    Best odd{all(infinity), all(infinity), firstColumns()};
    std::size_t j = laneCount;
    for (; j + laneCount < nColumns; j += 2 * laneCount) {
        const Integers columns = firstColumns() + static_cast<std::int64_t>(j);
        take(odd, load(costs + j) + load(prices + j), columns);
        take(even, load(costs + j + laneCount) + load(prices + j + laneCount), columns + laneCount);
    }
    if (j < nColumns)
        take(odd, load(costs + j) + load(prices + j), firstColumns() + static_cast<std::int64_t>(j));
    Best best = merged(even, odd);
    best = pairLanes(best, best);
    best = pairPairs(best, best);
    best = pairHalves(best, best);
    return {best.first[0], best.second[0], static_cast<std::size_t>(best.column[0])};
}

} // namespace konstrain::KONSTRAIN_TARGET
