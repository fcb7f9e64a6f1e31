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

struct Params {
    // Attempts to solve a step over open rows, each with the rows that duals moved further for; larger: more
    // steps go without a sweep, and steps that end in one take longer.
    int maxAttempts = 3;
};
constexpr Params params;

// Whether comparing the moves of all pairs of centers is cheap beside a sweep.
template <typename Rows> bool isWorthWatching(const Rows& rows, std::size_t nClusters) {
    // All pairs of centers take k^2 d operations, a sweep k times the entries: half of it at most.
    return nClusters * rows.nColumns <= rows.nEntries() / 2;
}

// Costs of some rows, row-major.
template <typename Rows>
std::vector<double> costsOf(const Rows& rows, const double* weight, const Points& centers,
                            std::span<const std::int32_t> chosen, std::size_t nThreads) {
    const std::size_t k = centers.nRows;
    const Chunks chunks{chosen.size()};
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

// Remaining capacity for some rows when the others stay; nothing if these are too many somewhere. A cluster
// that holds more than it must without them has a lower bound below zero.
std::optional<SizeBounds> remainingFor(std::span<const std::int32_t> open,
                                       std::span<const std::int32_t> labels, const SizedProblem& problem) {
    const std::size_t k = problem.lower.size();
    std::vector<std::int64_t> staying(k);
    for (const std::int32_t label : labels)
        ++staying[static_cast<std::size_t>(label)];
    for (const std::int32_t row : open)
        --staying[static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])];
    SizeBounds remaining{std::vector<std::int64_t>(k), std::vector<std::int64_t>(k)};
    for (std::size_t j = 0; j != k; ++j) {
        remaining.lower[j] = problem.lower[j] - staying[j];
        remaining.upper[j] = problem.upper[j] - staying[j];
        if (remaining.upper[j] < 0)
            return std::nullopt;
    }
    return remaining;
}

// What became of the rows that may change, and how much the others could save by changing too.
struct OpenRowsStep {
    TransportResult result;
    double missing;
};

// Solves the problem of the rows that may change, within the capacity that the others leave. Nothing when
// they are too many.
template <typename Rows>
std::optional<OpenRowsStep> solveOpenRows(const Rows& rows, const double* weight, const Points& centers,
                                          const SizedProblem& problem, std::span<double> duals,
                                          WatchedRows& watched, std::span<std::int32_t> labels) {
    const double margin = watched.margin();
    const std::vector<std::int32_t> open = watched.rowsWithin(margin);
    // Picking out more than half of the rows is slower than a sweep over all of them.
    if (open.size() > rows.nRows / 2)
        return std::nullopt;
    const std::optional<SizeBounds> remaining = remainingFor(open, labels, problem);
    if (!remaining)
        return std::nullopt;
    const std::vector<double> costs = costsOf(rows, weight, centers, open, problem.nThreads);
    std::vector<std::int32_t> openLabels(open.size());
    TransportOptions options;
    options.deadline = problem.deadline;
    options.trustDuals = true;
    const TransportResult result =
        solveTransport(costs, remaining->lower, remaining->upper, duals, openLabels, options);
    for (std::size_t n = 0; n != open.size(); ++n)
        labels[static_cast<std::size_t>(open[n])] = openLabels[n];
    return OpenRowsStep{result, watched.update(open, margin, costs, weight, duals, openLabels)};
}

// Rows that are left out keep their cluster at the final duals as well if these moved apart by no more than
// the margin: their gap is larger. Then the labels solve the whole step, and cost minus bound is that of the
// open rows. Otherwise `missing` is what the others could save at most, and the step is repeated with more
// rows. A step over rows that may change. Nothing when they are too many, or duals keep moving more and more
// rows.
template <typename Rows>
std::optional<TransportResult> stepOverOpenRows(const Rows& rows, const double* weight, const Points& centers,
                                                const SizedProblem& problem, std::span<double> duals,
                                                WatchedRows& watched, std::span<std::int32_t> labels,
                                                ClusterSums clusters) {
    std::ranges::copy(watched.labels(), labels.begin());
    const std::vector<std::int32_t> before(labels.begin(), labels.end());
    watched.moveTo(weight, centers, duals);
    for (int n = 0; n != params.maxAttempts; ++n) {
        const auto step = solveOpenRows(rows, weight, centers, problem, duals, watched, labels);
        if (!step)
            return std::nullopt;
        const auto& [result, missing] = *step;
        if (missing > 0.0 && result.finished)
            continue;
        const ClusterSums sums = watched.sums();
        moveRows(rows, weight, before, labels, problem.nThreads, sums);
        std::copy_n(sums.sums, sums.nClusters * sums.nColumns, clusters.sums);
        std::copy_n(sums.weight, sums.nClusters, clusters.weight);
        double cost = watched.cost();
        if (cost < 0.0)
            cost = ownCosts(rows, weight, labels, centers, problem.nThreads);
        return TransportResult{cost, cost - (result.cost - result.bound) - missing, result.finished};
    }
    return std::nullopt;
}

} // namespace

template <typename Rows>
TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                          const SizedProblem& problem, std::span<double> duals, WatchedRows& watched,
                          SweptCosts& swept, std::span<std::int32_t> labels, ClusterSums clusters) {
    dropIdleDuals(duals, problem.lower, problem.upper, rows.nRows);
    if (watched.isActive()) {
        const auto result =
            stepOverOpenRows(rows, weight, centers, problem, duals, watched, labels, clusters);
        if (result)
            return *result;
        watched.giveUp();
        dropIdleDuals(duals, problem.lower, problem.upper, rows.nRows);
    }
    swept.areWritten = true;
    const std::vector<double> before(duals.begin(), duals.end());
    PricedRows priced{std::vector<float>(rows.nRows), std::vector<std::int64_t>(duals.size()), {}};
    priced.sums = pricedPass(rows, weight, centers, duals, problem.nThreads,
                             {swept.costs, swept.columns, labels, priced.gaps, priced.sizes, clusters});
    const std::vector<std::int32_t> cheapest(labels.begin(), labels.end());
    TransportOptions options;
    options.deadline = problem.deadline;
    const TransportResult result =
        solveTransport(swept.costs, problem.lower, problem.upper, duals, labels, std::move(priced), options);
    moveRows(rows, weight, cheapest, labels, problem.nThreads, clusters);
    if (isWorthWatching(rows, duals.size()))
        watched.take(swept.costs, result.cost, weight, centers, before, duals, labels, clusters);
    return result;
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template TransportResult sizedStep(const __VA_ARGS__&, const double*, const Points&,                     \
                                       const SizedProblem&, std::span<double>, WatchedRows&, SweptCosts&,    \
                                       std::span<std::int32_t>, ClusterSums);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain::kmeans
