#include "distances.h"

#include <algorithm>
#include <cassert>
#include <type_traits>
#include <vector>

#include "chunks.h"
#include "infinity.h"
#include "packed_points.h"
#include "screened_centers.h"
#include "stream_out.h"

#define KONSTRAIN_KERNELS "distance_kernels.h"
#include "for_each_fma_target.h"

namespace konstrain::kmeans {

using namespace transport;

namespace {

const auto costRows = KONSTRAIN_PICK(costRows);
const auto nearestOfTile = KONSTRAIN_PICK(nearestOfTile);
const auto distancesOfTile = KONSTRAIN_PICK(distancesOfTile);
const auto distancesOfPairs = KONSTRAIN_PICK(distancesOfPairs);
const auto distancesToSome = KONSTRAIN_PICK(distancesToSome);
template <typename Value, typename Index> const auto sparseTerms = KONSTRAIN_PICK(sparseTerms<Value, Index>);

// Rows whose costs are written together: they should stay in the nearest cache.
constexpr std::size_t stepRows = tileWidth * 2;
// Costs from which on none would still be in a cache when the caller reads them.
constexpr std::size_t leastStreamed = largestCache / sizeof(double);

// All sweeps share three rules. Rows are handled in tiles, so that coordinates of several rows fill a vector
// register while a center is read once. Chunks of rows go to workers as these get free, but sums of chunks
// are added in the order of chunks (`Turns`): results do not depend on the number of threads. A distance is
// the sum of squared differences, in double precision, wherever a result depends on it; |x|^2 - 2 x c + |c|^2
// loses its digits far from the origin, and serves sparse rows only, which stay sparse by it.

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

// Costs of single sparse rows. One per worker: it keeps a row spread out. |x - c|^2 is |c|^2 plus the sum of
// x (x - 2 c) over the entries of the row: O(entries) per center instead of O(columns). Rounding may take a
// distance of zero below zero. A row with entries in more than half of its columns is spread out instead: the
// dense kernel reads whole vectors, which is faster from there on, and loses no digits.
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

// Writes costs of a few rows at a time, straight to their place or, when there are more than caches hold,
// through a buffer and past the caches: a line that is written whole need not be read first, and the rows
// stay in the caches. One per worker.
template <typename Value> class CostWriter {
public:
    CostWriter(const DenseRows<Value>& rows, const double* weight, const PackedPoints& centers, bool streams,
               double* costs)
        : rows_(rows), weight_(weight), centers_(centers), costs_(costs), stride_(centers.nPoints()),
          doubles_(stepRows, rows.nColumns), buffer_(streams ? stepRows * stride_ : 0) {}

    // `centers` are those of some `columns` of costs, which have `stride` of them; the others stay as they
    // are.
    CostWriter(const DenseRows<Value>& rows, const double* weight, const PackedPoints& centers,
               std::span<const std::int32_t> columns, std::size_t stride, double* costs)
        : rows_(rows), weight_(weight), centers_(centers), costs_(costs), columns_(columns), stride_(stride),
          doubles_(stepRows, rows.nColumns), buffer_(stepRows * centers.nPoints()) {}

    void write(RowRange range) {
        for (std::size_t row = range.first; row < range.last; row += stepRows) {
            const RowRange step{row, std::min(range.last, row + stepRows)};
            const std::size_t nRows = step.last - row;
            const std::size_t nNext = std::min(stepRows, range.last - step.last);
            prefetch(std::span(rows_.values + step.last * rows_.nColumns, nNext * rows_.nColumns));
            double* place = costs_ + row * stride_;
            double* buffer = buffer_.data();
            costRows(doubles_.get(rows_, step), nRows, weight_ == nullptr ? nullptr : weight_ + row, centers_,
                     buffer == nullptr ? place : buffer);
            if (!columns_.empty())
                scatter(nRows, place);
            else if (buffer != nullptr)
                streamOut(buffer, nRows * stride_, place);
        }
        finishStreams();
    }

private:
    void scatter(std::size_t nRows, double* place) {
        const double* from = buffer_.data();
        for (std::size_t row = 0; row != nRows; ++row, place += stride_)
            for (const std::int32_t column : columns_)
                place[column] = *from++;
    }

    const DenseRows<Value>& rows_;
    const double* weight_;
    const PackedPoints& centers_;
    double* costs_;
    std::span<const std::int32_t> columns_; // none: all of them
    std::size_t stride_;
    RowsAsDoubles<Value> doubles_;
    AlignedDoubles buffer_; // none: costs stay in the caches
};

template <typename Value>
void writeCosts(const DenseRows<Value>& rows, const double* weight, const PackedPoints& centers,
                std::size_t nThreads, double* costs) {
    const bool streams = rows.nRows * centers.nPoints() >= leastStreamed;
    const Chunks chunks{rows.nRows};
    std::vector writers(chunks.workers(nThreads), CostWriter<Value>(rows, weight, centers, streams, costs));
    forEachChunk(chunks, writers.size(),
                 [&](std::size_t worker, std::size_t chunk) { writers[worker].write(chunks.rows(chunk)); });
}

template <typename Value, typename Index>
void writeCosts(const SparseRows<Value, Index>& rows, const double* weight, const PackedPoints& centers,
                std::size_t nThreads, double* costs) {
    const Chunks chunks{rows.nRows};
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

// Finds the nearest centers of chunks of rows. One per worker.
template <typename Value> class NearestCenters {
public:
    NearestCenters(const DenseRows<Value>& rows, const double* weight, const Points& centers,
                   const ScreenedCenters* screen, std::size_t mostRows)
        : rows_(rows), weight_(weight), centers_(centers), screen_(screen), tile_(tileWidth * rows.nColumns),
          own_(screen == nullptr ? 0 : tileWidth * rows.nColumns),
          shifted_(screen == nullptr ? 0 : rows.nColumns),
          screenTile_(screen == nullptr ? 0 : screenTile * rows.nColumns),
          doubtful_(screen == nullptr ? 0 : mostRows) {}

    // Labels of the rows of one chunk and the sum of their costs; the distances too, unless that is null.
    double label(RowRange range, std::int32_t* labels, double* distances) {
        if (screen_ == nullptr)
            return labelAll(range, labels, distances);
        screenRows(range, labels);
        decideDoubts(labels);
        return sumOwn(range, labels, distances);
    }

private:
    double labelAll(RowRange range, std::int32_t* labels, double* distances) {
        double inertia = 0.0;
        for (std::size_t row = range.first; row < range.last; row += tileWidth) {
            const std::size_t nTaken = packRows(rows_, row, range.last, tile_.data());
            double distance[tileWidth];
            std::int64_t center[tileWidth];
            nearestOfTile(tile_.data(), centers_.values, centers_.nRows, rows_.nColumns, distance, center);
            for (std::size_t i = 0; i != nTaken; ++i) {
                labels[row + i] = static_cast<std::int32_t>(center[i]);
                inertia += weightOf(weight_, row + i) * distance[i];
            }
            if (distances != nullptr)
                std::copy_n(distance, nTaken, distances + row);
        }
        return inertia;
    }

    // Labels rows whose nearest center single precision can tell; the others become doubtful.
    // Each score is off by at most `error`, so a lead of more than twice that is one in exact terms as well:
    // labels are those of double precision, ties included, which always are doubtful.
    void screenRows(RowRange range, std::int32_t* labels) {
        nDoubtful_ = 0;
        for (std::size_t row = range.first; row < range.last; row += screenTile) {
            const std::size_t nTaken = std::min(screenTile, range.last - row);
            double error[screenTile];
            for (std::size_t i = 0; i != nTaken; ++i) {
                const double square =
                    screen_->shift(rows_.values + (row + i) * rows_.nColumns, shifted_.data());
                error[i] = screen_->error(square);
                for (std::size_t f = 0; f != rows_.nColumns; ++f)
                    screenTile_[f * screenTile + i] = shifted_[f];
            }
            float first[screenTile];
            float second[screenTile];
            screen_->twoNearest(screenTile_.data(), first, second, nearest_);
            for (std::size_t i = 0; i != nTaken; ++i) {
                labels[row + i] = nearest_[i];
                // Not a number where a row is beyond single precision: that is a doubt, too.
                if (!(static_cast<double>(second[i]) - static_cast<double>(first[i]) > 2.0 * error[i]))
                    doubtful_[nDoubtful_++] = row + i;
            }
        }
    }

    void decideDoubts(std::int32_t* labels) {
        for (std::size_t n = 0; n < nDoubtful_; n += tileWidth) {
            const std::size_t nTaken = std::min(tileWidth, nDoubtful_ - n);
            for (std::size_t i = 0; i != nTaken; ++i)
                packPoint(rows_.values + doubtful_[n + i] * rows_.nColumns, rows_.nColumns, tile_.data() + i);
            double distance[tileWidth];
            std::int64_t center[tileWidth];
            nearestOfTile(tile_.data(), centers_.values, centers_.nRows, rows_.nColumns, distance, center);
            for (std::size_t i = 0; i != nTaken; ++i)
                labels[doubtful_[n + i]] = static_cast<std::int32_t>(center[i]);
        }
    }

    double sumOwn(RowRange range, const std::int32_t* labels, double* distances) {
        double inertia = 0.0;
        for (std::size_t row = range.first; row < range.last; row += tileWidth) {
            const std::size_t nTaken = packRows(rows_, row, range.last, tile_.data());
            for (std::size_t i = 0; i != nTaken; ++i)
                packPoint(centers_.values + static_cast<std::size_t>(labels[row + i]) * rows_.nColumns,
                          rows_.nColumns, own_.data() + i);
            double distance[tileWidth];
            distancesOfPairs(tile_.data(), own_.data(), rows_.nColumns, distance);
            for (std::size_t i = 0; i != nTaken; ++i)
                inertia += weightOf(weight_, row + i) * distance[i];
            if (distances != nullptr)
                std::copy_n(distance, nTaken, distances + row);
        }
        return inertia;
    }

    const DenseRows<Value>& rows_;
    const double* weight_;
    const Points& centers_;
    const ScreenedCenters* screen_; // null: centers are few
    AlignedDoubles tile_;
    AlignedDoubles own_; // the centers of a tile's rows
    std::vector<float> shifted_;
    std::vector<float> screenTile_;
    std::int32_t nearest_[screenTile] = {};
    std::vector<std::size_t> doubtful_;
    std::size_t nDoubtful_ = 0;
};

// Centers in single precision where that pays: null where they are few, or single precision cannot separate
// them. Their preparation costs as much as some rows: fewer rows than centers would not repay it.
std::unique_ptr<ScreenedCenters> screenFor(const Points& centers, std::size_t nRows) {
    if (centers.nRows < ScreenedCenters::fewest || nRows < centers.nRows)
        return nullptr;
    auto screen = std::make_unique<ScreenedCenters>(centers);
    return screen->isUsable() ? std::move(screen) : nullptr;
}

template <typename Value>
double labelAndSum(const DenseRows<Value>& rows, const double* weight, const Points& centers,
                   std::size_t nThreads, std::span<std::int32_t> labels, ClusterSums total) {
    const Chunks chunks = chunksToSum(rows, centers.nRows);
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<PartialSums> partial(nWorkers, PartialSums(total.nClusters, total.nColumns));
    const auto screen = screenFor(centers, rows.nRows);
    std::vector nearest(nWorkers,
                        NearestCenters<Value>(rows, weight, centers, screen.get(), chunks.chunkRows));
    double inertia = 0.0;
    Turns turns;
    std::fill_n(total.sums, total.nClusters * total.nColumns, 0.0);
    std::fill_n(total.weight, total.nClusters, 0.0);
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        partial[worker].clear();
        const double cost = nearest[worker].label(range, labels.data(), nullptr);
        addRows(rows, range, weight, labels.data(), partial[worker].view());
        // Sums of floating-point numbers depend on their order: that of chunks, whichever worker has them.
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
    const Chunks chunks{rows.nRows};
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

// Rows that are read again, for their cheapest cluster and its sums, while they are in a near cache.
constexpr std::size_t pieceRows = rowsPerChunk / laneCount;

std::vector<double> pointsAt(const Points& points, std::span<const std::int32_t> chosen) {
    std::vector<double> values(chosen.size() * points.nColumns);
    double* to = values.data();
    for (const std::int32_t point : chosen)
        to = std::copy_n(points.values + static_cast<std::size_t>(point) * points.nColumns, points.nColumns,
                         to);
    return values;
}

// What a chunk's rows add to the sums over all of them. One per worker.
struct PricedChunk {
    PricedChunk(std::span<const double> duals, std::size_t nColumns)
        : pricer(duals), clusters(duals.size(), nColumns), sizes(duals.size()) {}

    void clear() {
        sums = {};
        clusters.clear();
        std::fill(sizes.begin(), sizes.end(), 0);
    }

    RowPricer pricer;
    PricedSums sums;
    PartialSums clusters;
    std::vector<std::int64_t> sizes;
};

// Costs, cheapest clusters at the duals and sums of clusters in one sweep: a piece of rows is read from
// memory once, and again from a near cache where its labels are known. Only costs of centers that have moved
// (`columns`) are computed; the others are those of the last sweep.
template <typename Value>
PricedSums priceAndSum(const DenseRows<Value>& rows, const double* weight, const Points& centers,
                       std::span<const double> duals, std::size_t nThreads, const PricedPass& out) {
    const std::size_t k = duals.size();
    const std::vector<double> moved = pointsAt(centers, out.columns);
    const PackedPoints packed(moved.data(), out.columns.size(), centers.nColumns);
    const Chunks chunks = chunksToSum(rows, k);
    const std::size_t nWorkers = chunks.workers(nThreads);
    const CostWriter<Value> writer =
        out.columns.size() == k ? CostWriter<Value>(rows, weight, packed, false, out.costs.data())
                                : CostWriter<Value>(rows, weight, packed, out.columns, k, out.costs.data());
    std::vector writers(nWorkers, writer);
    std::vector parts(nWorkers, PricedChunk(duals, rows.nColumns));
    PricedSums total;
    Turns turns;
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        PricedChunk& part = parts[worker];
        part.clear();
        const RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row < range.last; row += pieceRows) {
            const RowRange piece{row, std::min(range.last, row + pieceRows)};
            const std::size_t n = piece.last - row;
            if (!out.columns.empty())
                writers[worker].write(piece);
            const PricedSums sums =
                part.pricer.dual(out.costs.subspan(row * k, n * k), out.labels.subspan(row, n),
                                 out.gaps.subspan(row, n), part.sizes);
            part.sums.cost += sums.cost;
            part.sums.priced += sums.priced;
            addRows(rows, piece, weight, out.labels.data(), part.clusters.view());
        }
        turns.await(chunk);
        total.cost += part.sums.cost;
        total.priced += part.sums.priced;
        part.clusters.addTo(out.clusters);
        for (std::size_t j = 0; j != k; ++j)
            out.sizes[j] += part.sizes[j];
        turns.pass();
    });
    return total;
}

// Sums of sparse rows are a sweep of their own; see `labelAndSum`.
template <typename Value, typename Index>
PricedSums priceAndSum(const SparseRows<Value, Index>& rows, const double* weight, const Points& centers,
                       std::span<const double> duals, std::size_t nThreads, const PricedPass& out) {
    blockCosts(rows, weight, centers, nThreads, out.costs.data());
    const PricedSums sums = priceRows(out.costs, duals, out.labels, out.gaps, out.sizes);
    sumClusters(rows, weight, out.labels, nThreads, out.clusters);
    return sums;
}

template <typename Value>
void measureNearest(const DenseRows<Value>& rows, const Points& centers, std::size_t nThreads,
                    std::int32_t* labels, double* distances) {
    const Chunks chunks{rows.nRows};
    const auto screen = screenFor(centers, rows.nRows);
    std::vector nearest(chunks.workers(nThreads),
                        NearestCenters<Value>(rows, nullptr, centers, screen.get(), rowsPerChunk));
    forEachChunk(chunks, nearest.size(), [&](std::size_t worker, std::size_t chunk) {
        nearest[worker].label(chunks.rows(chunk), labels, distances);
    });
}

// Visits each row with its squared distances to the points; rows are divided among workers.
template <typename Value, typename Index, typename Visit>
void forEachSparseRow(const SparseRows<Value, Index>& rows, const Points& points, std::size_t nThreads,
                      Visit visit) {
    const PackedPoints packed(points.values, points.nRows, points.nColumns);
    const Chunks chunks{rows.nRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    std::vector<SparseCosts<Value, Index>> workers(nWorkers, SparseCosts<Value, Index>(rows, packed));
    std::vector<std::vector<double>> costs(nWorkers, std::vector<double>(points.nRows));
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row) {
            workers[worker].write(row, 1.0, costs[worker].data());
            visit(row, costs[worker]);
        }
    });
}

template <typename Value, typename Index>
void measureNearest(const SparseRows<Value, Index>& rows, const Points& centers, std::size_t nThreads,
                    std::int32_t* labels, double* distances) {
    forEachSparseRow(rows, centers, nThreads, [&](std::size_t row, const std::vector<double>& costs) {
        const auto least = std::ranges::min_element(costs);
        labels[row] = static_cast<std::int32_t>(least - costs.begin());
        distances[row] = *least;
    });
}

template <typename Value>
void measure(const DenseRows<Value>& rows, const Points& points, std::size_t nThreads, double* distances) {
    const Chunks chunks{rows.nRows};
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
    forEachSparseRow(rows, points, nThreads, [&](std::size_t row, const std::vector<double>& costs) {
        for (std::size_t i = 0; i != points.nRows; ++i)
            distances[i * rows.nRows + row] = costs[i];
    });
}

template <typename Value> class DenseCosts final : public CostSource {
public:
    DenseCosts(const DenseRows<Value>& rows, const double* weight, const Points& centers,
               std::size_t nWorkers)
        : CostSource(rows.nRows, centers.nRows), rows_(rows), weight_(weight), centers_(centers),
          packed_(centers.values, centers.nRows, centers.nColumns),
          // Duals would weigh differently for rows of different weight.
          screen_(weight == nullptr ? screenFor(centers, rows.nRows) : nullptr),
          workers_(nWorkers, Worker(rows.nColumns, screen_.get())) {}

    const double* read(std::span<const std::int32_t> rows, std::size_t worker, double* buffer) override {
        double weights[mostRows];
        double* to = workers_[worker].rows.data();
        for (std::size_t n = 0; n != rows.size(); ++n) {
            const auto row = static_cast<std::size_t>(rows[n]);
            std::copy_n(values(rows[n]), rows_.nColumns, to + n * rows_.nColumns);
            weights[n] = weightOf(weight_, row);
        }
        costRows(to, rows.size(), weight_ == nullptr ? nullptr : weights, packed_, buffer);
        return buffer;
    }

    bool makesShortlists() const override { return screen_ != nullptr; }
    void setDuals(std::span<const double> duals, double reach) override {
        screen_->setDuals(duals);
        reach_ = screen_->scoreOf(reach);
    }

    void shortlist(std::span<const std::int32_t> rows, std::size_t worker,
                   std::span<Shortlist> lists) override {
        Worker& own = workers_[worker];
        double squares[mostRows];
        for (std::size_t n = 0; n != rows.size(); ++n)
            squares[n] = screen_->shift(values(rows[n]), own.shifted.data() + n * rows_.nColumns);
        const std::size_t nScored = (rows.size() + screenGroup - 1) / screenGroup * screenGroup;
        screen_->score(own.shifted.data(), nScored, own.scores.data());
        for (std::size_t n = 0; n != rows.size(); ++n) {
            std::int32_t* kept = own.kept.data() + n * nClusters();
            double* costs = own.costs.data() + n * nClusters();
            float limit = 0.0F;
            const double error = screen_->error(squares[n]);
            // Two scores are off by an error each, so the order of two centers is certain beyond twice the
            // error. Twice that again, so that a list never ends before its cheapest cluster is certain.
            const std::size_t count = screen_->keepLeast(own.scores.data() + n * screen_->nScores(),
                                                         reach_ + 4.0 * error, kept, limit);
            std::copy_n(values(rows[n]), rows_.nColumns, own.rows.data());
            distancesToSome(own.rows.data(), centers_.values, rows_.nColumns, kept, count, costs);
            const double beyond = static_cast<double>(limit) - error;
            lists[n] = {costs, kept, count, screen_->cost(squares[n], beyond)};
        }
    }

private:
    struct Worker {
        Worker(std::size_t nColumns, const ScreenedCenters* screen)
            : rows(mostRows * nColumns), shifted(screen == nullptr ? 0 : mostRows * nColumns),
              scores(screen == nullptr ? 0 : mostRows * screen->nScores()), kept(scores.size() + screenTile),
              costs(scores.size()) {}

        AlignedDoubles rows;
        std::vector<float> shifted;
        std::vector<float> scores;
        std::vector<std::int32_t> kept;
        std::vector<double> costs;
    };

    const Value* values(std::int32_t row) const {
        return rows_.values + static_cast<std::size_t>(row) * rows_.nColumns;
    }

    DenseRows<Value> rows_;
    const double* weight_;
    Points centers_;
    PackedPoints packed_;
    std::unique_ptr<ScreenedCenters> screen_;
    double reach_ = infinity; // in units of scores
    std::vector<Worker> workers_;
};

template <typename Value, typename Index> class SparseCostSource final : public CostSource {
public:
    SparseCostSource(const SparseRows<Value, Index>& rows, const double* weight, const Points& centers,
                     std::size_t nWorkers)
        : CostSource(rows.nRows, centers.nRows), rows_(rows), weight_(weight),
          centers_(centers.values, centers.nRows, centers.nColumns),
          workers_(nWorkers, SparseCosts<Value, Index>(rows_, centers_)) {}

    const double* read(std::span<const std::int32_t> rows, std::size_t worker, double* buffer) override {
        for (std::size_t n = 0; n != rows.size(); ++n) {
            const auto row = static_cast<std::size_t>(rows[n]);
            workers_[worker].write(row, weightOf(weight_, row), buffer + n * nClusters());
        }
        return buffer;
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
PricedSums pricedPass(const Rows& rows, const double* weight, const Points& centers,
                      std::span<const double> duals, std::size_t nThreads, const PricedPass& out) {
    assert(rows.nColumns == centers.nColumns && centers.nRows > 0 && duals.size() == centers.nRows);
    assert(out.labels.size() == rows.nRows && out.gaps.size() == rows.nRows);
    assert(out.costs.size() == rows.nRows * centers.nRows && out.sizes.size() == centers.nRows);
    std::ranges::fill(out.sizes, 0);
    std::fill_n(out.clusters.sums, out.clusters.nClusters * out.clusters.nColumns, 0.0);
    std::fill_n(out.clusters.weight, out.clusters.nClusters, 0.0);
    return priceAndSum(rows, weight, centers, duals, nThreads, out);
}

template <typename Rows>
void nearestDistances(const Rows& rows, const Points& centers, std::size_t nThreads,
                      std::span<std::int32_t> labels, std::span<double> distances) {
    assert(rows.nColumns == centers.nColumns && centers.nRows > 0);
    assert(labels.size() == rows.nRows && distances.size() == rows.nRows);
    measureNearest(rows, centers, nThreads, labels.data(), distances.data());
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
    template PricedSums pricedPass(const __VA_ARGS__&, const double*, const Points&,                         \
                                   std::span<const double>, std::size_t, const PricedPass&);                 \
    template void nearestDistances(const __VA_ARGS__&, const Points&, std::size_t, std::span<std::int32_t>,  \
                                   std::span<double>);                                                       \
    template void candidateDistances(const __VA_ARGS__&, const Points&, std::size_t, double*);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain::kmeans
