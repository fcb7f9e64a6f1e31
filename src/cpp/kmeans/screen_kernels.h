// Included by screened_centers.cpp once per instruction set; see for_each_fma_target.h.
//
// Scores of points in single precision: a number per center, less x.c, summed up over the columns. A tile of
// points lies side by side, single points are read one after the other; either side may be the centers.

#define KONSTRAIN_INLINE __attribute__((always_inline)) inline

namespace konstrain::kmeans::KONSTRAIN_TARGET {

using Floats = float __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));
using Counts = std::int32_t __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));

constexpr std::size_t nFloats = sizeof(Floats) / sizeof(float);
constexpr std::size_t tileVectors = screenTile / nFloats;
// As many as leave the sums of a tile in registers: 32 exist with AVX-512, 16 otherwise.
constexpr std::size_t pointsAtOnce = nFloats == 16 ? 8 : nFloats / 4;
static_assert(screenGroup % pointsAtOnce == 0);

KONSTRAIN_INLINE Floats loadFloats(const float* from) {
    Floats value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

using Doubles = double __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));
using Halves = float __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES / 2)));
constexpr std::size_t nDoubles = sizeof(Doubles) / sizeof(double);

KONSTRAIN_INLINE Doubles loadDoubles(const double* from) {
    Doubles value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

KONSTRAIN_INLINE Doubles loadDoubles(const float* from) {
    Halves value;
    std::memcpy(&value, from, sizeof value);
    return __builtin_convertvector(value, Doubles);
}

// Writes a row, less the middle and scaled, and returns its squared length.
template <typename Value>
inline double shiftRow(const Value* row, const double* middle, double scale, std::size_t nColumns,
                       float* to) {
    Doubles squares = {};
    std::size_t f = 0;
    for (; f + nDoubles <= nColumns; f += nDoubles) {
        const Doubles shifted = (loadDoubles(row + f) - loadDoubles(middle + f)) * scale;
        squares += shifted * shifted;
        const Halves halves = __builtin_convertvector(shifted, Halves);
        std::memcpy(to + f, &halves, sizeof halves);
    }
    double square = 0.0;
    for (std::size_t lane = 0; lane != nDoubles; ++lane)
        square += squares[lane];
    for (; f != nColumns; ++f) {
        const double shifted = (static_cast<double>(row[f]) - middle[f]) * scale;
        square += shifted * shifted;
        to[f] = static_cast<float>(shifted);
    }
    return square;
}

// Takes x.c off the sums.
KONSTRAIN_INLINE void takeProducts(const float* tile, const float* points, std::size_t nColumns,
                                   Floats (&sums)[pointsAtOnce][tileVectors]) {
    for (std::size_t f = 0; f != nColumns; ++f) {
        Floats across[tileVectors];
#pragma GCC unroll 8
        for (std::size_t v = 0; v != tileVectors; ++v)
            across[v] = loadFloats(tile + f * screenTile + v * nFloats);
#pragma GCC unroll 8
        for (std::size_t p = 0; p != pointsAtOnce; ++p) {
            const float point = points[p * nColumns + f];
#pragma GCC unroll 8
            for (std::size_t v = 0; v != tileVectors; ++v)
                sums[p][v] -= across[v] * point;
        }
    }
}

// The tile holds rows, the single points are centers: the two least scores of each row and the first center
// that has the least one. `nCenters` is a multiple of `screenGroup`.
inline void twoNearest(const float* tile, const float* centers, const float* offsets, std::size_t nCenters,
                       std::size_t nColumns, float* first, float* second, std::int32_t* nearest) {
    Floats least[tileVectors];
    Floats next[tileVectors];
    Counts center[tileVectors];
    for (std::size_t v = 0; v != tileVectors; ++v) {
        least[v] = next[v] = Floats{} + std::numeric_limits<float>::infinity();
        center[v] = Counts{};
    }
    for (std::size_t j = 0; j != nCenters; j += pointsAtOnce) {
        Floats sums[pointsAtOnce][tileVectors];
#pragma GCC unroll 8
        for (std::size_t p = 0; p != pointsAtOnce; ++p)
#pragma GCC unroll 8
            for (std::size_t v = 0; v != tileVectors; ++v)
                sums[p][v] = Floats{} + offsets[j + p];
        takeProducts(tile, centers + j * nColumns, nColumns, sums);
#pragma GCC unroll 8
        for (std::size_t p = 0; p != pointsAtOnce; ++p) {
            const Counts candidate = Counts{} + static_cast<std::int32_t>(j + p);
#pragma GCC unroll 8
            for (std::size_t v = 0; v != tileVectors; ++v) {
                const Floats score = sums[p][v];
                const Counts nearer = score < least[v];
                const Floats other = nearer ? least[v] : score;
                next[v] = other < next[v] ? other : next[v];
                least[v] = nearer ? score : least[v];
                center[v] = nearer ? candidate : center[v];
            }
        }
    }
    std::memcpy(first, least, sizeof least);
    std::memcpy(second, next, sizeof next);
    std::memcpy(nearest, center, sizeof center);
}

// The tile holds centers, the single points are rows, `nRows` of them, a multiple of `screenGroup`.
inline void scoreRows(const float* tile, const float* offsets, const float* rows, std::size_t nRows,
                      std::size_t nColumns, float* scores, std::size_t stride) {
    for (std::size_t row = 0; row != nRows; row += pointsAtOnce) {
        Floats sums[pointsAtOnce][tileVectors];
#pragma GCC unroll 8
        for (std::size_t p = 0; p != pointsAtOnce; ++p)
#pragma GCC unroll 8
            for (std::size_t v = 0; v != tileVectors; ++v)
                sums[p][v] = loadFloats(offsets + v * nFloats);
        takeProducts(tile, rows + row * nColumns, nColumns, sums);
        for (std::size_t p = 0; p != pointsAtOnce; ++p)
            std::memcpy(scores + (row + p) * stride, sums[p], sizeof sums[p]);
    }
}

// The least score. `nScores` is a multiple of the lanes.
inline float leastScore(const float* scores, std::size_t nScores) {
    constexpr std::size_t nVectors = screenLanes / nFloats;
    Floats least[nVectors];
    for (std::size_t v = 0; v != nVectors; ++v)
        least[v] = loadFloats(scores + v * nFloats);
    for (std::size_t j = screenLanes; j != nScores; j += screenLanes)
#pragma GCC unroll 4
        for (std::size_t v = 0; v != nVectors; ++v) {
            const Floats score = loadFloats(scores + j + v * nFloats);
            least[v] = score < least[v] ? score : least[v];
        }
    float result = least[0][0];
    for (std::size_t v = 0; v != nVectors; ++v)
        for (std::size_t lane = 0; lane != nFloats; ++lane)
            result = least[v][lane] < result ? least[v][lane] : result;
    return result;
}

// The second-least score that each of `screenLanes` lanes meets; of these the one with `rank` smaller ones.
// `nScores` is a multiple of the lanes.
inline float limitOfLanes(const float* scores, std::size_t nScores, std::int32_t rank) {
    constexpr std::size_t nVectors = screenLanes / nFloats;
    Floats least[nVectors];
    Floats next[nVectors];
    for (std::size_t v = 0; v != nVectors; ++v)
        least[v] = next[v] = Floats{} + std::numeric_limits<float>::infinity();
    for (std::size_t j = 0; j != nScores; j += screenLanes)
#pragma GCC unroll 4
        for (std::size_t v = 0; v != nVectors; ++v) {
            const Floats score = loadFloats(scores + j + v * nFloats);
            const Floats larger = score < least[v] ? least[v] : score;
            least[v] = score < least[v] ? score : least[v];
            next[v] = larger < next[v] ? larger : next[v];
        }
    float seconds[screenLanes];
    std::memcpy(seconds, next, sizeof seconds);
    Counts nSmaller[nVectors] = {};
    for (const float second : seconds)
        for (std::size_t v = 0; v != nVectors; ++v)
            nSmaller[v] -= Floats{} + second < next[v]; // a comparison that holds is minus one
    // Where several are equal, the largest with no more smaller ones is the same.
    float limit = -std::numeric_limits<float>::infinity();
    for (std::size_t lane = 0; lane != screenLanes; ++lane)
        if (nSmaller[lane / nFloats][lane % nFloats] <= rank && seconds[lane] > limit)
            limit = seconds[lane];
    return limit;
}

// Writes the places of the scores that are at most `limit` and returns how many there are. `nScores` is a
// multiple of `screenTile`; one may be written past the last place.
inline std::size_t scoresUpTo(const float* scores, std::size_t nScores, float limit, std::int32_t* places) {
    std::size_t count = 0;
// Not __AVX512F__: GCC 12 does not define it where it only preprocesses, as under ccache.
#if KONSTRAIN_VECTOR_BYTES == 64
    // Few scores are meant, so most vectors have none.
    for (std::size_t j = 0; j != nScores; j += 16) {
        unsigned hits = _mm512_cmp_ps_mask(_mm512_loadu_ps(scores + j), _mm512_set1_ps(limit), _CMP_LE_OQ);
        for (; hits != 0; hits &= hits - 1)
            places[count++] = static_cast<std::int32_t>(j) + __builtin_ctz(hits);
    }
#else
    for (std::size_t j = 0; j != nScores; ++j) {
        places[count] = static_cast<std::int32_t>(j);
        count += scores[j] <= limit ? 1U : 0U;
    }
#endif
    return count;
}

} // namespace konstrain::kmeans::KONSTRAIN_TARGET

#undef KONSTRAIN_INLINE
