#include "transport.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "cluster_graph.h"
#include "core_rows.h"
#include "crowding.h"
#include "fit_sizes.h"
#include "flow_search.h"
#include "priced_bounds.h"
#include "priced_rows.h"

namespace konstrain::transport {

namespace {

// A sample has this part of the rows.
constexpr std::size_t sampleRatio = 8;
// Below this many rows per cluster a sample says too little about the prices to pay for itself.
constexpr std::size_t rowsPerClusterForSamples = 400;
// Looking at all rows again pays while it settles one row in so many.
constexpr std::int64_t rowsPerSettled = 64;
// A core that turned out too small grows by this factor: another look at all rows costs more than a larger
// core.
constexpr std::size_t coreGrowth = 4;
// Where that would be most of the rows, by this one; not at all if it settled all but one in so many of the
// rows that were too many or too few: another one of its size, around the new prices, may well settle the
// rest.
constexpr std::size_t slowGrowth = 2;
constexpr std::int64_t oneLeftOf = 2;

// One problem of the nested sequence: all rows, or a sample of them with bounds to scale.
class Level {
public:
    Level(std::span<const double> costs, std::span<const std::int64_t> lower,
          std::span<const std::int64_t> upper, std::span<std::int32_t> labels,
          const TransportOptions& options)
        : costs_(costs), lower_(lower), upper_(upper), labels_(labels), gaps_(labels.size()),
          sizes_(lower.size()), options_(options) {}

    // A level whose rows are in their cheapest clusters already.
    Level(std::span<const double> costs, std::span<const std::int64_t> lower,
          std::span<const std::int64_t> upper, std::span<std::int32_t> labels, PricedRows priced,
          const TransportOptions& options)
        : costs_(costs), lower_(lower), upper_(upper), labels_(labels), gaps_(std::move(priced.gaps)),
          sizes_(std::move(priced.sizes)), sums_(priced.sums), options_(options) {}

    TransportResult solve(std::span<double> prices);
    TransportResult solveLabelled(std::span<double> prices) { return settle(prices, spread(prices)); }

private:
    std::size_t nRows() const { return labels_.size(); }
    std::size_t nClusters() const { return lower_.size(); }

    bool isOutOfTime() const { return isPast(options_.deadline); }
    bool isLargeForSamples() const;
    void priceBySample(std::span<double> prices);
    std::int64_t label(std::span<const double> prices);
    std::int64_t spread(std::span<const double> prices);
    std::int64_t easeCrowding(std::span<double> prices, std::int64_t excess);
    std::size_t coreRows(std::int64_t excess) const;
    std::size_t growthAfter(std::size_t size, std::int64_t before, std::int64_t left) const;
    std::size_t listLength(std::size_t nCoreRows) const;
    TransportResult settle(std::span<double> prices, std::int64_t excess);
    TransportResult finish(std::span<double> prices, std::int64_t excess);
    FlowSearch::Status balance(const CoreRows& core, std::span<double> prices);
    TransportResult accept(const CoreRows& core, std::span<const std::int32_t> coreLabels,
                           std::span<const double> before, std::span<const double> prices);
    TransportResult giveUp(std::span<const double> prices);

    std::span<const double> costs_;
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::span<std::int32_t> labels_;
    std::vector<float> gaps_;
    std::vector<std::int64_t> sizes_;
    PricedSums sums_;
    TransportResult result_;
    const TransportOptions& options_;
};

// How much sizes miss their bounds at prices from a good sample: random fluctuation.
double usualExcess(std::size_t nRows, std::size_t nClusters) {
    return std::sqrt(static_cast<double>(nRows) * static_cast<double>(nClusters));
}

std::vector<double> sampleRows(std::span<const double> costs, std::size_t nClusters) {
    const std::size_t nSampled = costs.size() / nClusters / sampleRatio;
    std::vector<double> sample(nSampled * nClusters);
    for (std::size_t n = 0; n != nSampled; ++n) {
        const std::size_t row = sampledRow(n, sampleRatio);
        std::copy_n(costs.data() + row * nClusters, nClusters, sample.data() + n * nClusters);
    }
    return sample;
}

bool Level::isLargeForSamples() const {
    if (options_.sampleRows != 0)
        return nRows() / sampleRatio >= options_.sampleRows;
    return nRows() / nClusters() >= rowsPerClusterForSamples &&
           nRows() / sampleRatio >= std::max<std::size_t>(24 * nClusters(), 400);
}

void Level::priceBySample(std::span<double> prices) {
    const std::vector<double> sample = sampleRows(costs_, nClusters());
    const std::size_t nSampled = sample.size() / nClusters();
    const SizeBounds bounds = sampleBounds(lower_, upper_, nRows(), nSampled);
    std::vector<std::int32_t> labels(nSampled);
    TransportOptions options = options_;
    options.trustPrices = false;
    Level(sample, bounds.lower, bounds.upper, labels, options).solve(prices);
}

// Gives each row its cheapest label at these prices and returns by how much the sizes miss their bounds.
std::int64_t Level::label(std::span<const double> prices) {
    sums_ = priceRows(costs_, prices, labels_, gaps_, sizes_);
    return spread(prices);
}

// Lets rows that cost the same elsewhere go where there is room; returns by how much the sizes still miss.
std::int64_t Level::spread(std::span<const double> prices) {
    if (totalExcess(prices, sizes_, lower_, upper_) == 0)
        return 0;
    std::vector<std::int64_t> excess(nClusters());
    for (std::size_t j = 0; j != nClusters(); ++j)
        excess[j] = sizes_[j] - startFlow(prices[j], sizes_[j], lower_[j], upper_[j]);
    const std::vector<std::int64_t> before = excess;
    sums_.cost += spreadTies(costs_, prices, gaps_, excess, labels_);
    for (std::size_t j = 0; j != nClusters(); ++j)
        sizes_[j] += excess[j] - before[j];
    return totalExcess(prices, sizes_, lower_, upper_);
}

// Raises prices of crowded clusters as long as that is cheaper than moving rows one by one. Takes and returns
// the total excess.
std::int64_t Level::easeCrowding(std::span<double> prices, std::int64_t excess) {
    const std::int64_t worthwhile = static_cast<std::int64_t>(nRows()) / rowsPerSettled;
    std::int64_t crowded = countCrowded(sizes_, upper_);
    if (crowded <= worthwhile)
        return excess;
    for (std::int64_t before = 2 * crowded;
         crowded > worthwhile && before - crowded > worthwhile && !isOutOfTime();) {
        raiseCrowdedPrices(labels_, gaps_, sizes_, upper_, prices);
        label(prices);
        before = std::exchange(crowded, countCrowded(sizes_, upper_));
    }
    const double shift = levelPrices(lower_, upper_, nRows(), prices);
    sums_.priced -= shift * static_cast<double>(nRows());
    if (dropIdlePrices(prices, lower_, upper_, nRows()))
        return label(prices);
    return totalExcess(prices, sizes_, lower_, upper_);
}

std::size_t Level::coreRows(std::int64_t excess) const {
    if (options_.coreRows != 0)
        return options_.coreRows;
    return 3 * static_cast<std::size_t>(excess) + 16 * nClusters();
}

std::size_t Level::listLength(std::size_t nCoreRows) const {
    if (options_.listLength != 0)
        return options_.listLength;
    return std::clamp<std::size_t>(nCoreRows / nClusters() / 16, 1, 8);
}

TransportResult Level::solve(std::span<double> prices) {
    dropIdlePrices(prices, lower_, upper_, nRows());
    if (isLargeForSamples() && !options_.trustPrices) {
        priceBySample(prices);
        return finish(prices, label(prices));
    }
    return settle(prices, label(prices));
}

// Looks for better prices where these leave much to do, by the excess they leave, and then ends it.
TransportResult Level::settle(std::span<double> prices, std::int64_t excess) {
    if (isLargeForSamples()) {
        if (static_cast<double>(excess) > 2.0 * usualExcess(nRows(), nClusters())) {
            priceBySample(prices);
            excess = label(prices);
        }
    } else {
        excess = easeCrowding(prices, excess);
    }
    return finish(prices, excess);
}

// By how much a core of this size is to grow that left so much of the excess before it.
std::size_t Level::growthAfter(std::size_t size, std::int64_t before, std::int64_t left) const {
    if (coreGrowth * size < nRows() / 2)
        return coreGrowth;
    return oneLeftOf * left > before ? slowGrowth : 1;
}

// Moves rows along cheapest paths until the sizes are within bounds.
TransportResult Level::finish(std::span<double> prices, std::int64_t excess) {
    result_ = {sums_.cost, sums_.priced - boundTerm(prices, lower_, upper_), true};
    for (std::size_t growth = 1; excess != 0;) {
        const CoreRows core = chooseCoreRows(costs_, nClusters(), labels_, gaps_, growth * coreRows(excess));
        const FlowSearch::Status status = balance(core, prices);
        if (status == FlowSearch::Status::Balanced)
            break;
        if (status != FlowSearch::Status::LeftTheCore)
            return giveUp(prices);
        const std::int64_t before = std::exchange(excess, label(prices));
        growth *= growthAfter(growth * coreRows(excess), before, excess);
        result_ = {sums_.cost, sums_.priced - boundTerm(prices, lower_, upper_), true};
    }
    return result_;
}

FlowSearch::Status Level::balance(const CoreRows& core, std::span<double> prices) {
    const std::vector<double> before(prices.begin(), prices.end());
    const std::span<const double> costs = core.isEverything ? costs_ : std::span<const double>(core.costs);
    const std::span<const std::int32_t> labels = core.isEverything
                                                     ? std::span<const std::int32_t>(labels_)
                                                     : std::span<const std::int32_t>(core.labels);
    ClusterGraph graph({costs, labels, core.margin, before}, nClusters(), listLength(labels.size()));
    FlowSearch search(graph, prices, sizes_, lower_, upper_);
    const FlowSearch::Status status = search.run(options_.deadline);
    const std::vector<double> after = search.prices();
    std::copy(after.begin(), after.end(), prices.begin());
    if (status == FlowSearch::Status::Balanced)
        result_ = accept(core, graph.labels(), before, prices);
    return status;
}

// Takes over the labels of the core and proves their cost without another look at the rows outside: those
// keep their label as long as no two prices moved apart by more than the core's margin.
TransportResult Level::accept(const CoreRows& core, std::span<const std::int32_t> coreLabels,
                              std::span<const double> before, std::span<const double> prices) {
    const std::span<const double> costs = core.isEverything ? costs_ : std::span<const double>(core.costs);
    std::vector<std::int32_t> cheapest(coreLabels.size());
    std::vector<std::int64_t> ignored(nClusters());
    const PricedSums inside = priceRows(costs, prices, cheapest, {}, ignored);

    double costBefore = 0.0;
    double costAfter = 0.0;
    std::vector<std::int64_t> outside(sizes_);
    for (std::size_t n = 0; n != coreLabels.size(); ++n) {
        const std::size_t row = core.isEverything ? n : static_cast<std::size_t>(core.rows[n]);
        const double* cost = costs.data() + n * nClusters();
        costBefore += cost[labels_[row]];
        costAfter += cost[coreLabels[n]];
        --outside[static_cast<std::size_t>(labels_[row])];
        labels_[row] = coreLabels[n];
    }
    const double costOutside = core.isEverything ? 0.0 : sums_.cost - costBefore;
    double bound = costOutside + inside.priced - boundTerm(prices, lower_, upper_);
    double leastRise = prices[0] - before[0];
    for (std::size_t j = 1; j != nClusters(); ++j)
        leastRise = std::min(leastRise, prices[j] - before[j]);
    for (std::size_t j = 0; j != nClusters(); ++j) {
        const double apart = prices[j] - before[j] - leastRise;
        bound += static_cast<double>(outside[j]) * (prices[j] - std::max(0.0, apart - core.margin));
    }
    return {costOutside + costAfter, bound, true};
}

TransportResult Level::giveUp(std::span<const double> prices) {
    label(prices);
    const double bound = sums_.priced - boundTerm(prices, lower_, upper_);
    fitSizes(costs_, lower_, upper_, labels_, sizes_);
    double cost = 0.0;
    for (std::size_t row = 0; row != nRows(); ++row)
        cost += costs_[row * nClusters() + static_cast<std::size_t>(labels_[row])];
    return {cost, bound, false};
}

} // namespace

TransportResult solveTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                               std::span<const std::int64_t> upper, std::span<double> prices,
                               std::span<std::int32_t> labels, const TransportOptions& options) {
    assert(!prices.empty() && lower.size() == prices.size() && upper.size() == prices.size());
    assert(costs.size() == labels.size() * prices.size());
    return Level(costs, lower, upper, labels, options).solve(prices);
}

TransportResult solveTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                               std::span<const std::int64_t> upper, std::span<double> prices,
                               std::span<std::int32_t> labels, PricedRows priced, TransportOptions options) {
    assert(priced.gaps.size() == labels.size() && priced.sizes.size() == prices.size());
    options.trustPrices = true;
    return Level(costs, lower, upper, labels, std::move(priced), options).solveLabelled(prices);
}

} // namespace konstrain::transport
