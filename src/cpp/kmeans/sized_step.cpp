#include "sized_step.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "chunks.h"
#include "own_costs.h"
#include "priced_bounds.h"

namespace konstrain::kmeans {

using namespace transport;

namespace {

// Sweeping over all rows is cheaper than picking out more than one in so many.
constexpr std::size_t rowsPerOpen = 2;
// Prices are expected to move apart by so many times what they did in the last step, and rows looked at for
// that.
constexpr double marginPerRise = 2.0;
// How often rows are looked at that prices moved further for.
constexpr int mostLooks = 3;
// Costs of so many rows at a time are one thread's work.
constexpr std::size_t chunkRows = 512;

// Whether comparing the moves of all pairs of centers is cheap beside a sweep.
template <typename Rows> bool isWorthWatching(const Rows& rows, std::size_t nClusters) {
    constexpr std::size_t entriesPerCell = 4;
    return nClusters * rows.nColumns <= rows.nEntries() / entriesPerCell;
}

// Costs of some rows, row-major.
template <typename Rows>
std::vector<double> costsOf(const Rows& rows, const double* weight, const Points& centers,
                            std::span<const std::int32_t> chosen, std::size_t nThreads) {
    const std::size_t k = centers.nRows;
    const Chunks chunks{chosen.size(), chunkRows};
    const std::size_t nWorkers = chunks.workers(nThreads);
    const auto source = costSource(rows, weight, centers, nWorkers);
    std::vector<double> costs(chosen.size() * k);
    std::vector<std::vector<double>> buffers(nWorkers, std::vector<double>(source->bufferSize()));
    forEachChunk(chunks, nWorkers, [&](std::size_t worker, std::size_t chunk) {
        const RowRange range = chunks.rows(chunk);
        for (std::size_t first = range.first; first < range.last; first += CostSource::mostRows) {
            const std::size_t count = std::min(CostSource::mostRows, range.last - first);
            const double* read = source->read(chosen.subspan(first, count), worker, buffers[worker].data());
            std::copy_n(read, count * k, costs.data() + first * k);
        }
    });
    return costs;
}

// What the bounds leave to some rows when the others stay; nothing if these are too many somewhere. A cluster
// that holds more than it must without them has a lower bound below zero.
std::optional<SizeBounds> roomFor(std::span<const std::int32_t> open, std::span<const std::int32_t> labels,
                                  const SizedQuestion& question) {
    const std::size_t k = question.lower.size();
    std::vector<std::int64_t> staying(k);
    for (const std::int32_t label : labels)
        ++staying[static_cast<std::size_t>(label)];
    for (const std::int32_t row : open)
        --staying[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])];
    SizeBounds room{std::vector<std::int64_t>(k), std::vector<std::int64_t>(k)};
    for (std::size_t j = 0; j != k; ++j) {
        room.lower[j] = question.lower[j] - staying[j];
        room.upper[j] = question.upper[j] - staying[j];
        if (room.upper[j] < 0)
            return std::nullopt;
    }
    return room;
}

// What became of the rows that may change, and how much the others could save by changing too.
struct Look {
    TransportResult result;
    double missing;
};

// Solves the problem of the rows that may change, in the room that the others leave. Nothing when they are
// too many.
template <typename Rows>
std::optional<Look> lookAtOpenRows(const Rows& rows, const double* weight, const Points& centers,
                                   const SizedQuestion& question, std::span<double> prices,
                                   WatchedRows& watched, std::span<std::int32_t> labels) {
    const double margin = marginPerRise * watched.usualRise();
    const std::vector<std::int32_t> open = watched.rowsWithin(margin);
    if (open.size() > rows.nRows / rowsPerOpen)
        return std::nullopt;
    const std::optional<SizeBounds> room = roomFor(open, labels, question);
    if (!room)
        return std::nullopt;
    const std::vector<double> costs = costsOf(rows, weight, centers, open, question.nThreads);
    std::vector<std::int32_t> openLabels(open.size());
    TransportOptions options;
    options.deadline = question.deadline;
    options.trustPrices = true;
    const TransportResult result =
        solveTransport(costs, room->lower, room->upper, prices, openLabels, options);
    for (std::size_t n = 0; n != open.size(); ++n)
        labels[static_cast<std::size_t>(open[n])] = openLabels[n];
    return Look{result, watched.settle(open, margin, costs, weight, prices, openLabels)};
}

// A step over rows that may change. Nothing when they are too many, or prices keep moving more and more rows.
template <typename Rows>
std::optional<TransportResult> stepOverOpenRows(const Rows& rows, const double* weight, const Points& centers,
                                                const SizedQuestion& question, std::span<double> prices,
                                                WatchedRows& watched, std::span<std::int32_t> labels,
                                                ClusterSums clusters) {
    std::ranges::copy(watched.labels(), labels.begin());
    const std::vector<std::int32_t> before(labels.begin(), labels.end());
    watched.moveTo(weight, centers, prices);
    for (int n = 0; n != mostLooks; ++n) {
        const auto look = lookAtOpenRows(rows, weight, centers, question, prices, watched, labels);
        if (!look)
            return std::nullopt;
        const auto& [result, missing] = *look;
        if (missing > 0.0 && result.finished)
            continue;
        const ClusterSums sums = watched.sums();
        moveRows(rows, weight, before, labels, question.nThreads, sums);
        std::copy_n(sums.sums, sums.nClusters * sums.nColumns, clusters.sums);
        std::copy_n(sums.weight, sums.nClusters, clusters.weight);
        double cost = watched.cost();
        if (cost < 0.0)
            cost = ownCosts(rows, weight, labels, centers, question.nThreads);
        return TransportResult{cost, cost - (result.cost - result.bound) - missing, result.finished};
    }
    return std::nullopt;
}

} // namespace

template <typename Rows>
TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                          const SizedQuestion& question, std::span<double> prices, WatchedRows& watched,
                          SweptCosts& swept, std::span<std::int32_t> labels, ClusterSums clusters) {
    dropIdlePrices(prices, question.lower, question.upper, rows.nRows);
    if (watched.isActive()) {
        const auto result =
            stepOverOpenRows(rows, weight, centers, question, prices, watched, labels, clusters);
        if (result)
            return *result;
        watched.giveUp();
        dropIdlePrices(prices, question.lower, question.upper, rows.nRows);
    }
    swept.areWritten = true;
    const std::vector<double> before(prices.begin(), prices.end());
    PricedRows priced{std::vector<float>(rows.nRows), std::vector<std::int64_t>(prices.size()), {}};
    priced.sums = pricedPass(rows, weight, centers, prices, question.nThreads,
                             {swept.costs, swept.columns, labels, priced.gaps, priced.sizes, clusters});
    const std::vector<std::int32_t> cheapest(labels.begin(), labels.end());
    TransportOptions options;
    options.deadline = question.deadline;
    const TransportResult result = solveTransport(swept.costs, question.lower, question.upper, prices, labels,
                                                  std::move(priced), options);
    moveRows(rows, weight, cheapest, labels, question.nThreads, clusters);
    if (isWorthWatching(rows, prices.size()))
        watched.take(swept.costs, result.cost, weight, centers, before, prices, labels, clusters);
    return result;
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template TransportResult sizedStep(const __VA_ARGS__&, const double*, const Points&,                     \
                                       const SizedQuestion&, std::span<double>, WatchedRows&, SweptCosts&,   \
                                       std::span<std::int32_t>, ClusterSums);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain::kmeans
