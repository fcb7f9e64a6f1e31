// Eight doubles at a time, written with the compilers' vector extensions. No include guard: for_each_target.h
// includes this file once per instruction set. (Cloning functions as multiversion.h does is not enough here:
// the compiler splits vectors it has no registers for before it makes the clones.)
//
// A row of costs is read in chunks of eight; lane L sees columns L, L + 8, L + 16, ... The last chunk reads
// past the end of the row (into the next one, or into padding) and the caller's offsets of +infinity there
// keep those lanes from winning.

#define KONSTRAIN_INLINE __attribute__((always_inline)) inline

namespace konstrain::KONSTRAIN_TARGET {

using Doubles = double __attribute__((vector_size(64)));
using Integers = std::int64_t __attribute__((vector_size(64)));

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
    return Integers{0, 1, 2, 3, 4, 5, 6, 7};
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

// Halves the lanes of two rows and lays the rows side by side: three rounds turn eight rows of eight lanes
// into one vector with a row per lane, so the cost of reducing across lanes is shared by eight rows.
#define KONSTRAIN_PAIR_ROWS(name, e0, e1, e2, e3, e4, e5, e6, e7, o0, o1, o2, o3, o4, o5, o6, o7)            \
    KONSTRAIN_INLINE Best name(const Best& a, const Best& b) {                                               \
        const Best even{__builtin_shufflevector(a.first, b.first, e0, e1, e2, e3, e4, e5, e6, e7),           \
                        __builtin_shufflevector(a.second, b.second, e0, e1, e2, e3, e4, e5, e6, e7),         \
                        __builtin_shufflevector(a.column, b.column, e0, e1, e2, e3, e4, e5, e6, e7)};        \
        const Best odd{__builtin_shufflevector(a.first, b.first, o0, o1, o2, o3, o4, o5, o6, o7),            \
                       __builtin_shufflevector(a.second, b.second, o0, o1, o2, o3, o4, o5, o6, o7),          \
                       __builtin_shufflevector(a.column, b.column, o0, o1, o2, o3, o4, o5, o6, o7)};         \
        return merged(even, odd);                                                                            \
    }
KONSTRAIN_PAIR_ROWS(pairLanes, 0, 8, 2, 10, 4, 12, 6, 14, 1, 9, 3, 11, 5, 13, 7, 15)
KONSTRAIN_PAIR_ROWS(pairPairs, 0, 1, 8, 9, 4, 5, 12, 13, 2, 3, 10, 11, 6, 7, 14, 15)
KONSTRAIN_PAIR_ROWS(pairHalves, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7, 12, 13, 14, 15)
#undef KONSTRAIN_PAIR_ROWS

// Best of one row per lane. `rows` points to eight rows of `stride` values; `offsets` holds a value per
// column, +infinity from `nColumns` up to the next multiple of eight.
KONSTRAIN_INLINE Best bestOfEightRows(const double* rows, std::size_t stride, std::size_t nColumns,
                                      const double* offsets) {
    Best best[8];
    for (std::size_t row = 0; row != 8; ++row) {
        const double* values = rows + row * stride;
        Best lane{load(values) + load(offsets), all(infinity), firstColumns()};
        for (std::size_t j = laneCount; j < nColumns; j += laneCount)
            take(lane, load(values + j) + load(offsets + j), firstColumns() + static_cast<std::int64_t>(j));
        best[row] = lane;
    }
    return pairHalves(pairPairs(pairLanes(best[0], best[1]), pairLanes(best[2], best[3])),
                      pairPairs(pairLanes(best[4], best[5]), pairLanes(best[6], best[7])));
}

} // namespace konstrain::KONSTRAIN_TARGET

#undef KONSTRAIN_INLINE
