#include "distances.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <vector>

#include "chunks.h"
#include "infinity.h"
#include "packed_points.h"
#include "stream_out.h"

#define KONSTRAIN_KERNELS "distance_kernels.h"
#include "for_each_fma_target.h"

namespace konstrain {

namespace {

const auto costRows = KONSTRAIN_PICK(costRows);
const auto nearestOfTile = KONSTRAIN_PICK(nearestOfTile);
const auto distancesOfTile = KONSTRAIN_PICK(distancesOfTile);
template <typename Value, typename Index> const auto sparseTerms = KONSTRAIN_PICK(sparseTerms<Value, Index>);

constexpr std::size_t chunkRows = 2048;
// Rows whose costs are written together: they should stay in the nearest cache.
constexpr std::size_t stepRows = 32;
// Costs (64 MB) from which on none would still be in a cache when the caller reads them.
constexpr std::size_t leastStreamed = 8'000'000;

// Rows as doubles: those given, or a copy of a few when they are floats.
template <typename Value> class RowsAsDoubles {
public:
    RowsAsDoubles(std::size_t nRows, std::size_t nColumns)
        : buffer_(std::is_same_v<Value, double> ? 0 : nRows * nColumns) {}

    const double* get(const DenseRows<Value>& rows, RowRange range) {
        const Value* from = rows.values + range.first * rows.nColumns;
        if constexpr (std::is_same_v<Value, double>) {
            return from;
        } else {
            std::copy_n(from, (range.last - range.first) * rows.nColumns, buffer_.data());
            return buffer_.data();
        }
    }

private:
    AlignedDoubles buffer_;
};

// Costs of single sparse rows. One per worker: it keeps a row spread out.
template <typename Value, typename Index> class SparseCosts {
public:
    SparseCosts(const SparseRows<Value, Index>& rows, const PackedPoints& centers)
        : rows_(rows), centers_(centers), squares_(centers.nPoints()), row_(rows.nColumns, 0.0) {
        costRows(row_.data(), 1, nullptr, centers, squares_.data());
    }

    void write(std::size_t row, double weight, double* costs) {
        const std::size_t start = rows_.start(row);
        const std::size_t nEntries = rows_.start(row + 1) - start;
        if (2 * nEntries > rows_.nColumns)
            writeSpread(start, nEntries, costs);
        else
            writeTerms(start, nEntries, costs);
        for (std::size_t j = 0; j != centers_.nPoints(); ++j)
            costs[j] *= weight;
    }

private:
    void writeSpread(std::size_t start, std::size_t nEntries, double* costs) {
        std::fill(row_.begin(), row_.end(), 0.0);
        for (std::size_t e = start; e != start + nEntries; ++e)
            row_[static_cast<std::size_t>(rows_.columns[e])] = static_cast<double>(rows_.values[e]);
        costRows(row_.data(), 1, nullptr, centers_, costs);
    }

    void writeTerms(std::size_t start, std::size_t nEntries, double* costs) const {
        for (std::size_t first = 0; first < centers_.nPoints(); first += tileWidth) {
            double terms[tileWidth];
            sparseTerms<Value, Index>(rows_.values + start, rows_.columns + start, nEntries,
                                      centers_.tile(first), terms);
            const std::size_t nTaken = std::min(tileWidth, centers_.nPoints() - first);
            for (std::size_t j = 0; j != nTaken; ++j)
                costs[first + j] = std::max(0.0, squares_[first + j] + terms[j]);
        }
    }

    const SparseRows<Value, Index>& rows_;
    const PackedPoints& centers_;
    std::vector<double> squares_;
    std::vector<double> row_;
};

double weightOf(const double* weight, std::size_t row) {
    return weight == nullptr ? 1.0 : weight[row];
}

// Costs of a few rows at a time, straight to their place or, when there are more than caches hold, through a
// buffer and past the caches.
template <typename Value>
void writeCosts(const DenseRows<Value>& rows, const double* weight, const PackedPoints& centers,
                std::size_t nThreads, double* costs) {
    const std::size_t nCenters = centers.nPoints();
    const bool streams = rows.nRows * nCenters >= leastStreamed;
    const Chunks chunks{rows.nRows, chunkRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<RowsAsDoubles<Value>> doubles(nWorkers, RowsAsDoubles<Value>(stepRows, rows.nColumns));
    std::vector<AlignedDoubles> buffers(nWorkers, AlignedDoubles(streams ? stepRows * nCenters : 0));
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row < range.last; row += stepRows) {
            const RowRange step{row, std::min(range.last, row + stepRows)};
            const std::size_t nNext = std::min(stepRows, range.last - step.last);
            prefetch(std::span(rows.values + step.last * rows.nColumns, nNext * rows.nColumns));
            double* place = costs + row * nCenters;
            double* to = streams ? buffers[worker].data() : place;
            costRows(doubles[worker].get(rows, step), step.last - row,
                     weight == nullptr ? nullptr : weight + row, centers, to);
            if (streams)
                streamOut(to, (step.last - row) * nCenters, place);
        }
        finishStreams();
    });
}

template <typename Value, typename Index>
void writeCosts(const SparseRows<Value, Index>& rows, const double* weight, const PackedPoints& centers,
                std::size_t nThreads, double* costs) {
    const Chunks chunks{rows.nRows, chunkRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<SparseCosts<Value, Index>> workers(nWorkers, SparseCosts<Value, Index>(rows, centers));
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row)
            workers[worker].write(row, weightOf(weight, row), costs + row * centers.nPoints());
    });
}

// Packs the tile that starts at `row` and returns how many rows it has.
template <typename Value>
std::size_t packRows(const DenseRows<Value>& rows, std::size_t row, std::size_t last, double* tile) {
    const std::size_t nTaken = std::min(tileWidth, last - row);
    const std::size_t nNext = std::min(tileWidth, last - row - nTaken);
    packTile(rows.values + row * rows.nColumns, nTaken, rows.nColumns, tile);
    prefetch(std::span(rows.values + (row + nTaken) * rows.nColumns, nNext * rows.nColumns));
    return nTaken;
}

// Labels of the rows of one chunk and the sum of their costs.
template <typename Value>
double labelChunk(const DenseRows<Value>& rows, RowRange range, const double* weight, const Points& centers,
                  std::int32_t* labels, double* tile) {
    double inertia = 0.0;
    for (std::size_t row = range.first; row < range.last; row += tileWidth) {
        const std::size_t nTaken = packRows(rows, row, range.last, tile);
        double distance[tileWidth];
        std::int64_t center[tileWidth];
        nearestOfTile(tile, centers.values, centers.nRows, rows.nColumns, distance, center);
        for (std::size_t i = 0; i != nTaken; ++i) {
            labels[row + i] = static_cast<std::int32_t>(center[i]);
            inertia += weightOf(weight, row + i) * distance[i];
        }
    }
    return inertia;
}

template <typename Value>
double labelAndSum(const DenseRows<Value>& rows, const double* weight, const Points& centers,
                   std::size_t nThreads, std::span<std::int32_t> labels, ClusterSums total) {
    const Chunks chunks = chunksToSum(rows, centers.nRows);
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<PartialSums> partial(nWorkers, PartialSums(total.nClusters, total.nColumns));
    std::vector<AlignedDoubles> tiles(nWorkers, AlignedDoubles(tileWidth * rows.nColumns));
    double inertia = 0.0;
    Turns turns;
    std::fill_n(total.sums, total.nClusters * total.nColumns, 0.0);
    std::fill_n(total.weight, total.nClusters, 0.0);
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        partial[worker].clear();
        const double cost = labelChunk(rows, range, weight, centers, labels.data(), tiles[worker].data());
        addRows(rows, range, weight, labels.data(), partial[worker].view());
        turns.await(chunk);
        inertia += cost;
        partial[worker].addTo(total);
        turns.pass();
    });
    return inertia;
}

template <typename Value, typename Index>
double labelAndSum(const SparseRows<Value, Index>& rows, const double* weight, const Points& centers,
                   std::size_t nThreads, std::span<std::int32_t> labels, ClusterSums total) {
    const PackedPoints packed(centers.values, centers.nRows, centers.nColumns);
    const Chunks chunks{rows.nRows, chunkRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<SparseCosts<Value, Index>> workers(nWorkers, SparseCosts<Value, Index>(rows, packed));
    std::vector<std::vector<double>> costs(nWorkers, std::vector<double>(centers.nRows));
    double inertia = 0.0;
    Turns turns;
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        double cost = 0.0;
        for (std::size_t row = range.first; row != range.last; ++row) {
            workers[worker].write(row, 1.0, costs[worker].data());
            const auto least = std::ranges::min_element(costs[worker]);
            labels[row] = static_cast<std::int32_t>(least - costs[worker].begin());
            cost += weightOf(weight, row) * *least;
        }
        turns.await(chunk);
        inertia += cost;
        turns.pass();
    });
    // A second sweep: sums of a chunk are as wide as the centers, which sparse rows are far from filling.
    sumClusters(rows, weight, labels, nThreads, total);
    return inertia;
}

template <typename Value>
void measure(const DenseRows<Value>& rows, const Points& points, std::size_t nThreads, double* distances) {
    const Chunks chunks{rows.nRows, chunkRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<AlignedDoubles> tiles(nWorkers, AlignedDoubles(tileWidth * rows.nColumns));
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        double* tile = tiles[worker].data();
        for (std::size_t row = range.first; row < range.last; row += tileWidth) {
            const std::size_t nTaken = packRows(rows, row, range.last, tile);
            distancesOfTile(tile, nTaken, points.values, points.nRows, rows.nColumns, distances + row,
                            rows.nRows);
        }
    });
}

template <typename Value, typename Index>
void measure(const SparseRows<Value, Index>& rows, const Points& points, std::size_t nThreads,
             double* distances) {
    const PackedPoints packed(points.values, points.nRows, points.nColumns);
    const Chunks chunks{rows.nRows, chunkRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<SparseCosts<Value, Index>> workers(nWorkers, SparseCosts<Value, Index>(rows, packed));
    std::vector<std::vector<double>> costs(nWorkers, std::vector<double>(points.nRows));
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row) {
            workers[worker].write(row, 1.0, costs[worker].data());
            for (std::size_t i = 0; i != points.nRows; ++i)
                distances[i * rows.nRows + row] = costs[worker][i];
        }
    });
}

template <typename Value> class DenseCosts final : public CostSource {
public:
    DenseCosts(const DenseRows<Value>& rows, const double* weight, const Points& centers,
               std::size_t nWorkers)
        : CostSource(rows.nRows, centers.nRows), rows_(rows), weight_(weight),
          centers_(centers.values, centers.nRows, centers.nColumns),
          gathered_(nWorkers, AlignedDoubles(mostRows * rows.nColumns)) {}

    void write(std::span<const std::int32_t> rows, std::size_t worker, double* costs) override {
        double weights[mostRows];
        double* to = gathered_[worker].data();
        for (std::size_t n = 0; n != rows.size(); ++n) {
            const auto row = static_cast<std::size_t>(rows[n]);
            std::copy_n(rows_.values + row * rows_.nColumns, rows_.nColumns, to + n * rows_.nColumns);
            weights[n] = weightOf(weight_, row);
        }
        costRows(to, rows.size(), weight_ == nullptr ? nullptr : weights, centers_, costs);
    }

private:
    DenseRows<Value> rows_;
    const double* weight_;
    PackedPoints centers_;
    std::vector<AlignedDoubles> gathered_;
};

template <typename Value, typename Index> class SparseCostSource final : public CostSource {
public:
    SparseCostSource(const SparseRows<Value, Index>& rows, const double* weight, const Points& centers,
                     std::size_t nWorkers)
        : CostSource(rows.nRows, centers.nRows), rows_(rows), weight_(weight),
          centers_(centers.values, centers.nRows, centers.nColumns),
          workers_(nWorkers, SparseCosts<Value, Index>(rows_, centers_)) {}

    void write(std::span<const std::int32_t> rows, std::size_t worker, double* costs) override {
        for (const std::int32_t number : rows) {
            const auto row = static_cast<std::size_t>(number);
            workers_[worker].write(row, weightOf(weight_, row), costs);
            costs += nClusters();
        }
    }

private:
    SparseRows<Value, Index> rows_;
    const double* weight_;
    PackedPoints centers_;
    std::vector<SparseCosts<Value, Index>> workers_;
};

template <typename Value>
std::unique_ptr<CostSource> makeSource(const DenseRows<Value>& rows, const double* weight,
                                       const Points& centers, std::size_t nWorkers) {
    return std::make_unique<DenseCosts<Value>>(rows, weight, centers, nWorkers);
}

template <typename Value, typename Index>
std::unique_ptr<CostSource> makeSource(const SparseRows<Value, Index>& rows, const double* weight,
                                       const Points& centers, std::size_t nWorkers) {
    return std::make_unique<SparseCostSource<Value, Index>>(rows, weight, centers, nWorkers);
}

} // namespace

template <typename Rows>
std::unique_ptr<CostSource> costSource(const Rows& rows, const double* weight, const Points& centers,
                                       std::size_t nWorkers) {
    assert(rows.nColumns == centers.nColumns);
    return makeSource(rows, weight, centers, nWorkers);
}

template <typename Rows>
void blockCosts(const Rows& rows, const double* weight, const Points& centers, std::size_t nThreads,
                double* costs) {
    assert(rows.nColumns == centers.nColumns);
    writeCosts(rows, weight, PackedPoints(centers.values, centers.nRows, centers.nColumns), nThreads, costs);
}

template <typename Rows>
double nearestPass(const Rows& rows, const double* weight, const Points& centers, std::size_t nThreads,
                   std::span<std::int32_t> labels, ClusterSums total) {
    assert(rows.nColumns == centers.nColumns && centers.nRows > 0 && labels.size() == rows.nRows);
    return labelAndSum(rows, weight, centers, nThreads, labels, total);
}

template <typename Rows>
void candidateDistances(const Rows& rows, const Points& points, std::size_t nThreads, double* distances) {
    assert(rows.nColumns == points.nColumns);
    measure(rows, points, nThreads, distances);
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template std::unique_ptr<CostSource> costSource(const __VA_ARGS__&, const double*, const Points&,        \
                                                    std::size_t);                                            \
    template void blockCosts(const __VA_ARGS__&, const double*, const Points&, std::size_t, double*);        \
    template double nearestPass(const __VA_ARGS__&, const double*, const Points&, std::size_t,               \
                                std::span<std::int32_t>, ClusterSums);                                       \
    template void candidateDistances(const __VA_ARGS__&, const Points&, std::size_t, double*);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain
