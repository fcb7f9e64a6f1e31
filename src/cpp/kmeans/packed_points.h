#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "hardware.h"

namespace konstrain::kmeans {

// Points packed side by side, one column after the other: a kernel reads the same column of `tileWidth`
// points as vectors. Two registers of the widest vector unit hide the latency of one fused multiply-add.
inline constexpr std::size_t tileWidth = laneCount * 2;

constexpr std::size_t tileCount(std::size_t nPoints) {
    return (nPoints + tileWidth - 1) / tileWidth;
}

// Doubles that start at a cache line, so that no vector straddles two.
class AlignedDoubles {
public:
    explicit AlignedDoubles(std::size_t size) : lines_((size + lineSize - 1) / lineSize) {}
    double* data() { return lines_.empty() ? nullptr : lines_.front().values; }
    const double* data() const { return lines_.empty() ? nullptr : lines_.front().values; }

private:
    static constexpr std::size_t lineSize = cacheLine / sizeof(double);
    struct alignas(cacheLine) Line {
        double values[lineSize] = {};
    };
    std::vector<Line> lines_;
};

// `place[f * tileWidth]` becomes column `f` of a point.
template <typename Value> void packPoint(const Value* point, std::size_t nColumns, double* place) {
    for (std::size_t f = 0; f != nColumns; ++f)
        place[f * tileWidth] = static_cast<double>(point[f]);
}

// `tile[f * tileWidth + i]` becomes column `f` of point `i`. Places from `nPoints` on keep what they hold.
template <typename Value>
void packTile(const Value* points, std::size_t nPoints, std::size_t nColumns, double* tile) {
    for (std::size_t i = 0; i != nPoints; ++i)
        packPoint(points + i * nColumns, nColumns, tile + i);
}

// Asks for memory ahead of time. The sweeps read and write in bursts between which they compute, too short
// for the machine to foresee the next one.
template <typename Value> void prefetch(std::span<Value> values) {
    constexpr std::size_t line = cacheLine / sizeof(Value);
    for (std::size_t i = 0; i < values.size(); i += line)
        __builtin_prefetch(values.data() + i, std::is_const_v<Value> ? 0 : 1);
}

// All points in tiles, the last one filled up with zeros.
class PackedPoints {
public:
    PackedPoints(const double* points, std::size_t nPoints, std::size_t nColumns)
        : nPoints_(nPoints), nColumns_(nColumns), values_(tileCount(nPoints) * tileWidth * nColumns) {
        for (std::size_t first = 0; first < nPoints; first += tileWidth)
            packTile(points + first * nColumns, std::min(tileWidth, nPoints - first), nColumns,
                     values_.data() + first * nColumns);
    }

    std::size_t nPoints() const { return nPoints_; }
    std::size_t nColumns() const { return nColumns_; }
    // The tile that starts with point `first`, a multiple of `tileWidth`.
    const double* tile(std::size_t first) const { return values_.data() + first * nColumns_; }

private:
    std::size_t nPoints_;
    std::size_t nColumns_;
    AlignedDoubles values_;
};

} // namespace konstrain::kmeans
