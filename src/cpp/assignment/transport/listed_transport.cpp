#include "listed_transport.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "auction.h"
#include "candidate_lists.h"
#include "crowding.h"
#include "flow_search.h"
#include "listed_paths.h"
#include "priced_bounds.h"
#include "share_prices.h"

namespace konstrain {

namespace {

// A sample has this part of the rows.
constexpr std::size_t sampleRatio = 8;
// Below this many sampled rows per cluster a sample says too little about the prices.
constexpr std::size_t sampledPerCluster = 8;
// Temperatures, in median gaps between the two cheapest clusters of a row: the first, from nothing known and
// from the prices of a similar problem, how fast they fall, and how often.
constexpr double coldTemperature = 0.5;
constexpr double warmTemperature = 0.25;
constexpr double cooling = 4.0;
constexpr int nLevels = 4;
// Newton steps at one temperature: after these the prices are as good as the next temperature needs them.
constexpr int stepsPerLevel = 4;
// Paths are cheaper than a Newton step when there is one for so many rows.
constexpr std::int64_t rowsPerPath = 500;
// How far from a cluster its arcs are known at first, in median gaps, or in errors of prices that are known.
constexpr double firstRadius = 0.25;
constexpr double errorsPerRadius = 4.0;

// Some rows of another source.
class SampledCosts final : public CostSource {
public:
    explicit SampledCosts(CostSource& all)
        : CostSource(all.nRows() / sampleRatio, all.nClusters()), all_(all) {}

    void write(std::span<const std::int32_t> rows, std::size_t worker, double* costs) override {
        const Chosen chosen(rows);
        all_.write(chosen.rows(), worker, costs);
    }
    bool makesShortlists() const override { return all_.makesShortlists(); }
    void setPrices(std::span<const double> prices) override { all_.setPrices(prices); }
    void shortlist(std::span<const std::int32_t> rows, std::size_t worker,
                   std::span<Shortlist> lists) override {
        const Chosen chosen(rows);
        all_.shortlist(chosen.rows(), worker, lists);
    }

private:
    // Rows of the sample by their numbers among all.
    class Chosen {
    public:
        explicit Chosen(std::span<const std::int32_t> sampled) : count_(sampled.size()) {
            for (std::size_t n = 0; n != count_; ++n)
                rows_[n] =
                    static_cast<std::int32_t>(sampledRow(static_cast<std::size_t>(sampled[n]), sampleRatio));
        }
        std::span<const std::int32_t> rows() const { return {rows_, count_}; }

    private:
        std::int32_t rows_[mostRows];
        std::size_t count_;
    };

    CostSource& all_;
};

// One problem: all rows, or a sample of them with bounds to scale.
class ListedLevel {
public:
    ListedLevel(CostSource& source, std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                const ListedOptions& options)
        : lists_(source, options.listLength, options.nThreads), lower_(lower), upper_(upper),
          sizes_(lower.size()), options_(options) {}

    bool makeLists(std::span<const double> prices);
    // Brings prices near those that keep the sizes. False when time ran out.
    bool refinePrices(std::span<double> prices, double temperature, bool remakeOften);
    std::int64_t excessAt(std::span<const double> prices);
    TransportResult finish(std::span<double> prices, std::span<std::int32_t> labels);
    TransportResult giveUp(std::span<const double> prices, std::span<std::int32_t> labels, double bound);

private:
    void labelRows(std::span<const double> prices, std::span<std::int32_t> labels);
    void spreadTies(std::span<const double> prices, std::span<std::int32_t> labels);
    double firstReach(std::span<const double> prices) const;
    double boundAt(std::span<const double> prices) const;

    CandidateLists lists_;
    bool hasLists_ = false;
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::vector<std::int64_t> sizes_;
    const ListedOptions& options_;
};

bool ListedLevel::makeLists(std::span<const double> prices) {
    hasLists_ = lists_.makeAll(prices, options_.deadline);
    return hasLists_;
}

std::int64_t ListedLevel::excessAt(std::span<const double> prices) {
    if (!makeLists(prices))
        return 0;
    std::vector<std::int32_t> labels(lists_.nRows());
    labelRows(prices, labels);
    return totalExcess(prices, sizes_, lower_, upper_);
}

bool ListedLevel::refinePrices(std::span<double> prices, double temperature, bool remakeOften) {
    if (!makeLists(prices))
        return false;
    SharePrices shares(lists_, lower_, upper_);
    const std::int64_t enough = static_cast<std::int64_t>(lists_.nRows()) / rowsPerPath;
    const double hottest = temperature * shares.medianGap(prices);
    double heat = 1.0;
    for (int level = 0; level != nLevels && hottest > 0.0; ++level, heat /= cooling) {
        for (int step = 0; step != stepsPerLevel; ++step) {
            shares.measure(prices, heat * hottest, heat);
            if (shares.excess() <= enough)
                return lists_.rebase(prices, options_.deadline);
            shares.step(prices);
            if (isPast(options_.deadline) || (remakeOften && !lists_.rebase(prices, options_.deadline)))
                return false;
        }
        if (!lists_.rebase(prices, options_.deadline))
            return false;
    }
    return true;
}

// Gives each row the cheapest cluster of its list.
void ListedLevel::labelRows(std::span<const double> prices, std::span<std::int32_t> labels) {
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (std::size_t row = 0; row != labels.size(); ++row) {
        labels[row] = lists_.cheapest(row, prices);
        ++sizes_[static_cast<std::size_t>(labels[row])];
    }
}

// Rows that two clusters cost the same go to the one that lacks rows: equal rows would all take the first.
void ListedLevel::spreadTies(std::span<const double> prices, std::span<std::int32_t> labels) {
    std::vector<std::int64_t> excess(sizes_.size());
    for (std::size_t j = 0; j != sizes_.size(); ++j)
        excess[j] = sizes_[j] - startFlow(prices[j], sizes_[j], lower_[j], upper_[j]);
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const auto from = static_cast<std::size_t>(labels[row]);
        if (excess[from] <= 0)
            continue;
        const CandidateList list = lists_[row];
        const double least = lists_.leastOnList(row, prices);
        for (std::size_t e = 0; e != list.length; ++e) {
            const auto to = static_cast<std::size_t>(list.clusters[e]);
            if (excess[to] >= 0 || list.costs[e] + prices[to] != least)
                continue;
            --excess[from];
            ++excess[to];
            labels[row] = list.clusters[e];
            break;
        }
    }
}

double ListedLevel::boundAt(std::span<const double> prices) const {
    double priced = 0.0;
    for (std::size_t row = 0; row != lists_.nRows(); ++row)
        priced += std::min(lists_.leastOnList(row, prices), lists_.beyond(row));
    return priced - boundTerm(prices, lower_, upper_);
}

double ListedLevel::firstReach(std::span<const double> prices) const {
    if (options_.priceError > 0.0)
        return errorsPerRadius * options_.priceError;
    return firstRadius * SharePrices(lists_, lower_, upper_).medianGap(prices);
}

TransportResult ListedLevel::finish(std::span<double> prices, std::span<std::int32_t> labels) {
    labelRows(prices, labels);
    spreadTies(prices, labels);
    ListedPaths paths(lists_, prices, labels, lower_, upper_, firstReach(prices));
    const ListedPaths::Status status = paths.run(options_.deadline);
    if (status == ListedPaths::Status::LostItsWay)
        return giveUp(prices, labels, -infinity);
    // Prices were shifted as a whole: what is known of clusters off the lists shifts with them.
    lists_.shift(paths.shift());
    if (status == ListedPaths::Status::OutOfTime)
        return giveUp(prices, labels, boundAt(prices));
    double cost = 0.0;
    for (const double own : paths.ownCosts())
        cost += own;
    return {cost, boundAt(prices), true};
}

// Makes labels feasible in two sweeps, each row moved to the cheapest cluster of its list that has room (or
// needs rows), or to the next best in number when its list has none. Their cost is left to the caller.
TransportResult ListedLevel::giveUp(std::span<const double> prices, std::span<std::int32_t> labels,
                                    double bound) {
    const std::size_t nClusters = lower_.size();
    if (hasLists_)
        labelRows(prices, labels);
    else
        std::fill(labels.begin(), labels.end(), 0);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (const std::int32_t label : labels)
        ++sizes_[static_cast<std::size_t>(label)];
    const auto sweep = [&](const auto& canGive, const auto& canTake) {
        std::size_t next = 0;
        for (std::size_t row = 0; row != labels.size(); ++row) {
            const auto from = static_cast<std::size_t>(labels[row]);
            while (next != nClusters && !canTake(next))
                ++next;
            if (next == nClusters)
                return;
            if (!canGive(from))
                continue;
            std::size_t to = next;
            double least = infinity;
            const CandidateList list = hasLists_ ? lists_[row] : CandidateList{nullptr, nullptr, 0};
            for (std::size_t e = 0; e != list.length; ++e)
                if (const auto j = static_cast<std::size_t>(list.clusters[e]);
                    canTake(j) && list.costs[e] < least) {
                    least = list.costs[e];
                    to = j;
                }
            --sizes_[from];
            ++sizes_[to];
            labels[row] = static_cast<std::int32_t>(to);
        }
    };
    sweep([&](std::size_t j) { return sizes_[j] > upper_[j]; },
          [&](std::size_t j) { return sizes_[j] < upper_[j]; });
    sweep([&](std::size_t j) { return sizes_[j] > lower_[j]; },
          [&](std::size_t j) { return sizes_[j] < lower_[j]; });
    return {infinity, bound, false};
}

// Prices of a sample; those given serve only if they leave less to do than none at all.
void priceBySample(CostSource& source, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> upper, std::span<double> prices,
                   const ListedOptions& options, bool& isWarm) {
    SampledCosts sample(source);
    const SizeBounds bounds = sampleBounds(lower, upper, source.nRows(), sample.nRows());
    ListedLevel level(sample, bounds.lower, bounds.upper, options);
    if (isWarm) {
        const std::vector<double> none(prices.size(), 0.0);
        isWarm = level.excessAt(prices) <= level.excessAt(none);
        if (isWarm)
            return;
        std::fill(prices.begin(), prices.end(), 0.0);
    }
    level.refinePrices(prices, coldTemperature, true);
}

// Newton steps on a sample, then on all rows. False when time ran out.
bool refineFromSample(CostSource& source, ListedLevel& level, std::span<const std::int64_t> lower,
                      std::span<const std::int64_t> upper, std::span<double> prices,
                      const ListedOptions& options) {
    bool isWarm = options.isWarm;
    dropIdlePrices(prices, lower, upper, source.nRows());
    if (source.nRows() / sampleRatio >= sampledPerCluster * source.nClusters())
        priceBySample(source, lower, upper, prices, options, isWarm);
    dropIdlePrices(prices, lower, upper, source.nRows());
    return level.refinePrices(prices, isWarm ? warmTemperature : coldTemperature, false);
}

} // namespace

TransportResult solveListedTransport(CostSource& source, std::span<const std::int64_t> lower,
                                     std::span<const std::int64_t> upper, std::span<double> prices,
                                     std::span<std::int32_t> labels, const ListedOptions& options) {
    assert(labels.size() == source.nRows() && prices.size() == source.nClusters());
    ListedLevel level(source, lower, upper, options);
    const bool inTime = options.priceError > 0.0
                            ? level.makeLists(prices)
                            : refineFromSample(source, level, lower, upper, prices, options);
    return inTime ? level.finish(prices, labels) : level.giveUp(prices, labels, -infinity);
}

TransportResult solveListedTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                                     std::span<const std::int64_t> upper, std::span<double> prices,
                                     std::span<std::int32_t> labels, const ListedOptions& options) {
    MatrixCosts source(costs, prices.size());
    ListedOptions known = options;
    if (areNearlyFixed(lower, upper)) {
        known.priceError = auctionPrices(costs, lower, prices, options.isWarm, options.deadline).step;
        levelPrices(lower, upper, labels.size(), prices);
    }
    return solveListedTransport(source, lower, upper, prices, labels, known);
}

} // namespace konstrain
