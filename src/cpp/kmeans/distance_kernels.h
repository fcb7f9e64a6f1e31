// Included by distances.cpp once per instruction set; see for_each_fma_target.h.
//
// One step computes the squared distances between a tile of points, packed side by side, and a few single
// points. Differences are squared as they are: the shorter form |x|^2 - 2xc + |c|^2 cancels when points lie
// far from the origin and can turn negative, and here it would not be faster (subtractions fill the adders
// that products leave idle). Each sum runs over the columns in order, so it does not depend on where in a
// tile a point lies, and both uses below give the same bits.

#define KONSTRAIN_INLINE __attribute__((always_inline)) inline

namespace konstrain::kmeans::KONSTRAIN_TARGET {

using Lanes = double __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));
using Indices = std::int64_t __attribute__((vector_size(KONSTRAIN_VECTOR_BYTES)));

constexpr std::size_t nLanes = sizeof(Lanes) / sizeof(double);
constexpr std::size_t fullTile = tileWidth / nLanes;
constexpr std::size_t halfTile = fullTile / 2;
// As many as leave the sums of a full tile in registers: 32 exist with AVX-512, 16 otherwise.
constexpr std::size_t mostPoints = nLanes == 8 ? 8 : nLanes / 2;

KONSTRAIN_INLINE Lanes load(const double* from) {
    Lanes value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

KONSTRAIN_INLINE void store(double* to, const Lanes& value) {
    std::memcpy(to, &value, sizeof value);
}

// Squared distances of `nPoints` rows to a tile of `nVectors`.
template <std::size_t nVectors, std::size_t nPoints>
KONSTRAIN_INLINE void squaredDistances(const double* tile, const double* points, std::size_t nColumns,
                                       Lanes (&sums)[nPoints][nVectors]) {
    for (auto& sum : sums)
        for (auto& lanes : sum)
            lanes = Lanes{};
    for (std::size_t f = 0; f != nColumns; ++f) {
        Lanes across[nVectors];
#pragma GCC unroll 8
        for (std::size_t v = 0; v != nVectors; ++v)
            across[v] = load(tile + f * tileWidth + v * nLanes);
#pragma GCC unroll 8
        for (std::size_t p = 0; p != nPoints; ++p) {
            const double point = points[p * nColumns + f];
#pragma GCC unroll 8
            for (std::size_t v = 0; v != nVectors; ++v) {
                const Lanes difference = across[v] - point;
                sums[p][v] += difference * difference;
            }
        }
    }
}

// Hands the distances of `nPoints` rows from `first` on to `take`, one row at a time and in order.
template <std::size_t nVectors, std::size_t nPoints, typename Take>
KONSTRAIN_INLINE void takePoints(const double* tile, const double* points, std::size_t nColumns,
                                 std::size_t first, Take& take) {
    Lanes sums[nPoints][nVectors];
    squaredDistances<nVectors, nPoints>(tile, points + first * nColumns, nColumns, sums);
#pragma GCC unroll 8
    for (std::size_t p = 0; p != nPoints; ++p)
        take(first + p, sums[p]);
}

template <std::size_t nVectors, typename Take>
KONSTRAIN_INLINE void takeAllPoints(const double* tile, const double* points, std::size_t nPoints,
                                    std::size_t nColumns, Take& take) {
    std::size_t first = 0;
    for (; first + mostPoints <= nPoints; first += mostPoints)
        takePoints<nVectors, mostPoints>(tile, points, nColumns, first, take);
    if constexpr (mostPoints > 4)
        if (first + 4 <= nPoints) {
            takePoints<nVectors, 4>(tile, points, nColumns, first, take);
            first += 4;
        }
    if constexpr (mostPoints > 2)
        if (first + 2 <= nPoints) {
            takePoints<nVectors, 2>(tile, points, nColumns, first, take);
            first += 2;
        }
    if constexpr (mostPoints > 1)
        if (first < nPoints)
            takePoints<nVectors, 1>(tile, points, nColumns, first, take);
}

// Writes rows of costs: the tile holds centers, the single points are rows of data. Vectors are stored whole
// where that stays within the costs: what they spill into the next row is written after them.
template <std::size_t nVectors> struct WriteCosts {
    double* costs;     // of the tile's first center
    const double* end; // of all costs
    std::size_t nCenters;
    std::size_t nTaken;   // centers in this tile
    const double* weight; // may be null

    KONSTRAIN_INLINE void operator()(std::size_t row, const Lanes (&distances)[nVectors]) const {
        double* to = costs + row * nCenters;
        const double w = weight == nullptr ? 1.0 : weight[row];
        if (static_cast<std::size_t>(end - to) >= nVectors * nLanes) {
            for (std::size_t v = 0; v != nVectors; ++v)
                store(to + v * nLanes, distances[v] * w);
            return;
        }
        double values[nVectors * nLanes];
        for (std::size_t v = 0; v != nVectors; ++v)
            store(values + v * nLanes, distances[v] * w);
        std::memcpy(to, values, nTaken * sizeof(double));
    }
};

inline void costRows(const double* rows, std::size_t nRows, const double* weight, const PackedPoints& centers,
                     double* costs) {
    const std::size_t nCenters = centers.nPoints();
    const std::size_t nColumns = centers.nColumns();
    const double* end = costs + nRows * nCenters;
    // The last tile first: it alone may be partly filled, and spill.
    for (std::size_t first = tileCount(nCenters) * tileWidth; first != 0;) {
        first -= tileWidth;
        const std::size_t nTaken = nCenters - first < tileWidth ? nCenters - first : tileWidth;
        if (nTaken <= tileWidth / 2) {
            const WriteCosts<halfTile> write{costs + first, end, nCenters, nTaken, weight};
            takeAllPoints<halfTile>(centers.tile(first), rows, nRows, nColumns, write);
        } else {
            const WriteCosts<fullTile> write{costs + first, end, nCenters, nTaken, weight};
            takeAllPoints<fullTile>(centers.tile(first), rows, nRows, nColumns, write);
        }
    }
}

// Keeps the first nearest center of each row: the tile holds rows of data, the single points are centers.
struct KeepNearest {
    Lanes distance[fullTile];
    Indices center[fullTile];

    KONSTRAIN_INLINE void operator()(std::size_t index, const Lanes (&distances)[fullTile]) {
        const Indices candidate = Indices{} + static_cast<std::int64_t>(index);
#pragma GCC unroll 8
        for (std::size_t v = 0; v != fullTile; ++v) {
            const Indices nearer = distances[v] < distance[v];
            distance[v] = nearer ? distances[v] : distance[v];
            center[v] = nearer ? candidate : center[v];
        }
    }
};

inline void nearestOfTile(const double* tile, const double* centers, std::size_t nCenters,
                          std::size_t nColumns, double* distance, std::int64_t* center) {
    KeepNearest keep;
    for (std::size_t v = 0; v != fullTile; ++v) {
        keep.distance[v] = Lanes{} + infinity;
        keep.center[v] = Indices{};
    }
    takeAllPoints<fullTile>(tile, centers, nCenters, nColumns, keep);
    std::memcpy(distance, keep.distance, sizeof keep.distance);
    std::memcpy(center, keep.center, sizeof keep.center);
}

// Squared distances of a tile of points to as many others, one by one.
inline void distancesOfPairs(const double* tile, const double* others, std::size_t nColumns,
                             double* distances) {
    Lanes sums[fullTile] = {};
    for (std::size_t f = 0; f != nColumns; ++f)
#pragma GCC unroll 8
        for (std::size_t v = 0; v != fullTile; ++v) {
            const Lanes difference =
                load(tile + f * tileWidth + v * nLanes) - load(others + f * tileWidth + v * nLanes);
            sums[v] += difference * difference;
        }
    std::memcpy(distances, sums, sizeof sums);
}

// Squared distances of a point to some others, of which `chosen` says the places.
inline void distancesToSome(const double* point, const double* others, std::size_t nColumns,
                            const std::int32_t* chosen, std::size_t nChosen, double* distances) {
    constexpr std::size_t atOnce = laneCount; // independent sums, one per center
    for (std::size_t first = 0; first < nChosen; first += atOnce) {
        const std::size_t count = nChosen - first < atOnce ? nChosen - first : atOnce;
        const double* other[atOnce];
        double sums[atOnce] = {};
        for (std::size_t n = 0; n != atOnce; ++n)
            other[n] = others + static_cast<std::size_t>(chosen[first + (n < count ? n : 0)]) * nColumns;
        for (std::size_t f = 0; f != nColumns; ++f)
#pragma GCC unroll 8
            for (std::size_t n = 0; n != atOnce; ++n) {
                const double difference = point[f] - other[n][f];
                sums[n] += difference * difference;
            }
        std::memcpy(distances + first, sums, count * sizeof(double));
    }
}

// One row of output per single point; the tile holds rows of data.
struct WriteAcross {
    double* distances; // of the tile's first row
    std::size_t stride;
    std::size_t nTaken;

    KONSTRAIN_INLINE void operator()(std::size_t index, const Lanes (&values)[fullTile]) const {
        double* to = distances + index * stride;
        if (nTaken == tileWidth) {
            for (std::size_t v = 0; v != fullTile; ++v)
                store(to + v * nLanes, values[v]);
            return;
        }
        std::memcpy(to, values, nTaken * sizeof(double));
    }
};

inline void distancesOfTile(const double* tile, std::size_t nTaken, const double* points, std::size_t nPoints,
                            std::size_t nColumns, double* distances, std::size_t stride) {
    const WriteAcross write{distances, stride, nTaken};
    takeAllPoints<fullTile>(tile, points, nPoints, nColumns, write);
}

// What the entries of a sparse row add to |c|^2: the sum of x (x - 2c), for a tile of centers.
template <typename Value, typename Index>
inline void sparseTerms(const Value* values, const Index* columns, std::size_t nEntries, const double* tile,
                        double* terms) {
    Lanes sums[fullTile] = {};
    for (std::size_t e = 0; e != nEntries; ++e) {
        const double* centers = tile + static_cast<std::size_t>(columns[e]) * tileWidth;
        const auto value = static_cast<double>(values[e]);
        for (std::size_t v = 0; v != fullTile; ++v)
            sums[v] += value * (value - 2.0 * load(centers + v * nLanes));
    }
    std::memcpy(terms, sums, sizeof sums);
}

} // namespace konstrain::kmeans::KONSTRAIN_TARGET

#undef KONSTRAIN_INLINE
