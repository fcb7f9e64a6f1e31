// As many doubles at a time as a register holds, written with the compilers' vector extensions. No include
// guard: for_each_target.h includes this file once per instruction set. (Cloning functions as multiversion.h
// does is not enough here: the compiler splits vectors it has no registers for before it makes the clones.
// Nor are vectors wider than the registers: GCC compares and selects those one number at a time.)
//
// A row of costs is read in chunks of `nLanes`; lane L sees columns L, L + nLanes, L + 2 nLanes, ... The last
// chunk reads past the end of the row (into the next one, or into padding) and the caller's offsets of
// +infinity there keep those lanes from winning.

#ifndef KONSTRAIN_WITHOUT_LANES
#define KONSTRAIN_INLINE __attribute__((always_inline)) inline

namespace konstrain::KONSTRAIN_TARGET {

using Doubles = double __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));
using Integers = std::int64_t __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));
constexpr std::size_t nLanes = sizeof(Doubles) / sizeof(double);
static_assert(laneCount % nLanes == 0);

KONSTRAIN_INLINE Doubles load(const double* from) {
    Doubles value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

KONSTRAIN_INLINE Integers load(const std::int64_t* from) {
    Integers value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

KONSTRAIN_INLINE void store(double* to, const Doubles& value) {
    std::memcpy(to, &value, sizeof value);
}
KONSTRAIN_INLINE void store(std::int64_t* to, const Integers& value) {
    std::memcpy(to, &value, sizeof value);
}

KONSTRAIN_INLINE Doubles all(double value) {
    return Doubles{} + value;
}
KONSTRAIN_INLINE Integers all(std::int64_t value) {
    return Integers{} + value;
}
KONSTRAIN_INLINE Integers firstColumns() {
    Integers columns;
    for (std::size_t lane = 0; lane != nLanes; ++lane)
        columns[lane] = static_cast<std::int64_t>(lane);
    return columns;
}

// The two smallest values seen by each lane, and the column of the smallest.
struct Best {
    Doubles first;
    Doubles second;
    Integers column;
};

KONSTRAIN_INLINE void take(Best& best, const Doubles& value, const Integers& column) {
    const Integers better = value < best.first;
    const Doubles loser = better ? best.first : value;
    best.second = loser < best.second ? loser : best.second;
    best.first = better ? value : best.first;
    best.column = better ? column : best.column;
}

// Of equal values the smaller column wins, whatever lane it came from.
KONSTRAIN_INLINE Best merged(const Best& a, const Best& b) {
    const Integers better = (b.first < a.first) | ((b.first == a.first) & (b.column < a.column));
    const Doubles loser = better ? a.first : b.first;
    Best result;
    result.second = b.second < a.second ? b.second : a.second;
    result.second = loser < result.second ? loser : result.second;
    result.first = better ? b.first : a.first;
    result.column = better ? b.column : a.column;
    return result;
}

// Halves the lanes of two rows and lays the rows side by side: a round per power of two turns as many rows as
// there are lanes into one vector with a row per lane, so the rows share the cost of reducing across lanes.
#define KONSTRAIN_SIDE_BY_SIDE(a, b, ...)                                                                    \
    Best {                                                                                                   \
        __builtin_shufflevector(a.first, b.first, __VA_ARGS__),                                              \
            __builtin_shufflevector(a.second, b.second, __VA_ARGS__),                                        \
            __builtin_shufflevector(a.column, b.column, __VA_ARGS__)                                         \
    }

#if KONSTRAIN_VECTOR_BYTES == 16

KONSTRAIN_INLINE Best rowPerLane(const Best (&row)[2]) {
    return merged(KONSTRAIN_SIDE_BY_SIDE(row[0], row[1], 0, 2), KONSTRAIN_SIDE_BY_SIDE(row[0], row[1], 1, 3));
}

#elif KONSTRAIN_VECTOR_BYTES == 32

KONSTRAIN_INLINE Best pairLanes(const Best& a, const Best& b) {
    return merged(KONSTRAIN_SIDE_BY_SIDE(a, b, 0, 4, 2, 6), KONSTRAIN_SIDE_BY_SIDE(a, b, 1, 5, 3, 7));
}
KONSTRAIN_INLINE Best pairHalves(const Best& a, const Best& b) {
    return merged(KONSTRAIN_SIDE_BY_SIDE(a, b, 0, 1, 4, 5), KONSTRAIN_SIDE_BY_SIDE(a, b, 2, 3, 6, 7));
}
KONSTRAIN_INLINE Best rowPerLane(const Best (&row)[4]) {
    return pairHalves(pairLanes(row[0], row[1]), pairLanes(row[2], row[3]));
}

#else

KONSTRAIN_INLINE Best pairLanes(const Best& a, const Best& b) {
    return merged(KONSTRAIN_SIDE_BY_SIDE(a, b, 0, 8, 2, 10, 4, 12, 6, 14),
                  KONSTRAIN_SIDE_BY_SIDE(a, b, 1, 9, 3, 11, 5, 13, 7, 15));
}
KONSTRAIN_INLINE Best pairPairs(const Best& a, const Best& b) {
    return merged(KONSTRAIN_SIDE_BY_SIDE(a, b, 0, 1, 8, 9, 4, 5, 12, 13),
                  KONSTRAIN_SIDE_BY_SIDE(a, b, 2, 3, 10, 11, 6, 7, 14, 15));
}
KONSTRAIN_INLINE Best pairHalves(const Best& a, const Best& b) {
    return merged(KONSTRAIN_SIDE_BY_SIDE(a, b, 0, 1, 2, 3, 8, 9, 10, 11),
                  KONSTRAIN_SIDE_BY_SIDE(a, b, 4, 5, 6, 7, 12, 13, 14, 15));
}
KONSTRAIN_INLINE Best rowPerLane(const Best (&row)[8]) {
    return pairHalves(pairPairs(pairLanes(row[0], row[1]), pairLanes(row[2], row[3])),
                      pairPairs(pairLanes(row[4], row[5]), pairLanes(row[6], row[7])));
}

#endif
#undef KONSTRAIN_SIDE_BY_SIDE

// Best of one row per lane. `rows` points to `nLanes` rows of `stride` values; `offsets` holds a value per
// column, +infinity from `nColumns` up to the next multiple of eight.
KONSTRAIN_INLINE Best bestOfRows(const double* rows, std::size_t stride, std::size_t nColumns,
                                 const double* offsets) {
    Best best[nLanes];
    for (std::size_t row = 0; row != nLanes; ++row) {
        const double* values = rows + row * stride;
        Best lanes{load(values) + load(offsets), all(infinity), firstColumns()};
        for (std::size_t j = nLanes; j < nColumns; j += nLanes)
            take(lanes, load(values + j) + load(offsets + j), firstColumns() + static_cast<std::int64_t>(j));
        best[row] = lanes;
    }
    return rowPerLane(best);
}

} // namespace konstrain::KONSTRAIN_TARGET

#undef KONSTRAIN_INLINE
#endif
