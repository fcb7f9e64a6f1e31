#include "listed_transport.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "candidate_lists.h"
#include "crowding.h"
#include "flow_search.h"
#include "listed_paths.h"
#include "median_gap.h"
#include "priced_bounds.h"
#include "share_prices.h"

namespace konstrain::transport {

namespace {

// A sample has this part of the rows.
constexpr std::size_t sampleRatio = 8;
// Below this many sampled rows per cluster a sample says too little about the prices.
constexpr std::size_t sampledPerCluster = 8;
// Rows that say how far clusters are apart, in the median gap between the two cheapest of a row.
constexpr std::size_t probedRows = 512;
// Given prices that leave no more than one row in so many in the wrong cluster are better than none.
constexpr std::int64_t rowsPerMisplaced = 16;
// How far lists reach, in median gaps: where prices are nearly right, and where they are still far from it.
constexpr double warmReach = 2.0;
constexpr double coldReach = 3.0;
// Temperatures, in median gaps: the first and the last, how fast they fall, and for which part of all rows in
// the wrong cluster a temperature of one gap would be right. Newton steps leave about half of that there.
constexpr double hottest = 0.5;
constexpr double coldest = 0.004;
constexpr double cooling = 1.6;
constexpr double misplacedPerHeat = 0.12;
// Paths are cheaper than a Newton step when there is one for so many rows.
constexpr std::int64_t rowsPerPath = 1000;
// How far from a cluster its arcs are known at first, in median gaps.
constexpr double firstRadius = 0.25;

// Some rows of another source.
class SampledCosts final : public CostSource {
public:
    // One row of so many.
    SampledCosts(CostSource& all, std::size_t ratio)
        : CostSource(all.nRows() / ratio, all.nClusters()), all_(all), ratio_(ratio) {}

    const double* read(std::span<const std::int32_t> rows, std::size_t worker, double* buffer) override {
        const Chosen chosen(rows, ratio_);
        return all_.read(chosen.rows(), worker, buffer);
    }
    bool makesShortlists() const override { return all_.makesShortlists(); }
    void setPrices(std::span<const double> prices, double reach) override { all_.setPrices(prices, reach); }
    void shortlist(std::span<const std::int32_t> rows, std::size_t worker,
                   std::span<Shortlist> lists) override {
        const Chosen chosen(rows, ratio_);
        all_.shortlist(chosen.rows(), worker, lists);
    }

private:
    // Rows of the sample by their numbers among all.
    class Chosen {
    public:
        Chosen(std::span<const std::int32_t> sampled, std::size_t ratio) : count_(sampled.size()) {
            for (std::size_t n = 0; n != count_; ++n)
                rows_[n] = static_cast<std::int32_t>(sampledRow(static_cast<std::size_t>(sampled[n]), ratio));
        }
        std::span<const std::int32_t> rows() const { return {rows_, count_}; }

    private:
        std::int32_t rows_[mostRows];
        std::size_t count_;
    };

    CostSource& all_;
    std::size_t ratio_;
};

// The median of what the second-cheapest cluster costs a row more than the cheapest, where that is not zero;
// zero when it always is.
double probeGap(CostSource& source, std::span<const double> prices, kmeans::Team& team, TimePoint deadline) {
    SampledCosts sample(source, std::max<std::size_t>(1, source.nRows() / probedRows));
    CandidateLists lists(sample, 2, team);
    if (!lists.makeAll(prices, infinity, deadline))
        return 0.0;
    return medianGap(lists.nRows(), [&](std::size_t row) {
        LeastTwo least;
        const CandidateList list = lists[row];
        for (std::size_t e = 0; e != list.length; ++e)
            least.take(list.costs[e] + prices[static_cast<std::size_t>(list.clusters[e])], e);
        return least;
    });
}

// One problem: all rows, or a sample of them with bounds to scale.
class ListedLevel {
public:
    ListedLevel(CostSource& source, std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                kmeans::Team& team, const ListedOptions& options)
        : source_(source), lists_(source, options.listLength, team), lower_(lower), upper_(upper),
          sizes_(lower.size()), options_(options) {}

    // Makes lists that reach so many median gaps. False when time ran out.
    bool makeLists(std::span<const double> prices, double reach);
    // Rows in the wrong cluster when each takes its cheapest one, at the prices that lists were made for.
    std::int64_t excessAt(std::span<const double> prices);
    // Brings prices near those that keep the sizes. False when time ran out.
    bool refinePrices(std::span<double> prices, bool remakeOften);
    TransportResult finish(std::span<double> prices, std::span<std::int32_t> labels);
    TransportResult giveUp(std::span<const double> prices, std::span<std::int32_t> labels, double bound);

private:
    void labelRows(std::span<const double> prices, std::span<std::int32_t> labels);
    void spreadTies(std::span<const double> prices, std::span<std::int32_t> labels);
    double firstReach() const;
    double boundAt(std::span<const double> prices) const;

    CostSource& source_;
    CandidateLists lists_;
    bool hasLists_ = false;
    double gap_ = 0.0; // median gap between the two cheapest clusters of a row
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::vector<std::int64_t> sizes_;
    const ListedOptions& options_;
};

bool ListedLevel::makeLists(std::span<const double> prices, double reach) {
    gap_ = probeGap(source_, prices, lists_.team(), options_.deadline);
    hasLists_ = lists_.makeAll(prices, gap_ > 0.0 ? reach * gap_ : infinity, options_.deadline);
    return hasLists_;
}

std::int64_t ListedLevel::excessAt(std::span<const double> prices) {
    std::vector<std::int32_t> labels(lists_.nRows());
    labelRows(prices, labels);
    return totalExcess(prices, sizes_, lower_, upper_);
}

bool ListedLevel::refinePrices(std::span<double> prices, bool remakeOften) {
    const auto nRows = static_cast<double>(lists_.nRows());
    const std::int64_t enough = static_cast<std::int64_t>(lists_.nRows()) / rowsPerPath;
    std::int64_t excess = excessAt(prices);
    if (excess <= enough || !(gap_ > 0.0))
        return true;
    SharePrices shares(lists_, lower_, upper_);
    for (double heat = hottest; heat > coldest; heat /= cooling) {
        // Where few rows stand wrong, heat would only drive others from their places.
        heat = std::min(heat, static_cast<double>(excess) / nRows / misplacedPerHeat);
        shares.measure(prices, heat * gap_, heat / hottest);
        excess = shares.excess();
        if (excess <= enough)
            break;
        shares.step(prices);
        if (isPast(options_.deadline))
            return false;
        if ((remakeOften || lists_.areWornAt(prices)) && !lists_.rebase(prices, options_.deadline))
            return false;
    }
    return lists_.rebase(prices, options_.deadline);
}

// Gives each row the cheapest cluster of its list.
void ListedLevel::labelRows(std::span<const double> prices, std::span<std::int32_t> labels) {
    lists_.labelRows(prices, labels);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (const std::int32_t label : labels)
        ++sizes_[static_cast<std::size_t>(label)];
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

double ListedLevel::firstReach() const {
    return firstRadius * gap_;
}

TransportResult ListedLevel::finish(std::span<double> prices, std::span<std::int32_t> labels) {
    labelRows(prices, labels);
    spreadTies(prices, labels);
    ListedPaths paths(lists_, prices, labels, lower_, upper_, firstReach());
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

// Prices of a sample, from none at all.
void priceBySample(CostSource& source, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> upper, std::span<double> prices, kmeans::Team& team,
                   const ListedOptions& options) {
    SampledCosts sample(source, sampleRatio);
    const SizeBounds bounds = sampleBounds(lower, upper, source.nRows(), sample.nRows());
    ListedLevel level(sample, bounds.lower, bounds.upper, team, options);
    std::fill(prices.begin(), prices.end(), 0.0);
    if (level.makeLists(prices, infinity))
        level.refinePrices(prices, true);
}

// Newton steps from the prices given, if they are of use, or from those of a sample. False when time ran out.
bool findPrices(CostSource& source, ListedLevel& level, std::span<const std::int64_t> lower,
                std::span<const std::int64_t> upper, std::span<double> prices, kmeans::Team& team,
                const ListedOptions& options) {
    const auto nRows = static_cast<std::int64_t>(source.nRows());
    dropIdlePrices(prices, lower, upper, source.nRows());
    if (options.isWarm) {
        if (!level.makeLists(prices, warmReach))
            return false;
        if (level.excessAt(prices) <= nRows / rowsPerMisplaced)
            return level.refinePrices(prices, false);
    }
    if (source.nRows() / sampleRatio >= sampledPerCluster * source.nClusters())
        priceBySample(source, lower, upper, prices, team, options);
    dropIdlePrices(prices, lower, upper, source.nRows());
    return level.makeLists(prices, coldReach) && level.refinePrices(prices, false);
}

} // namespace

TransportResult solveListedTransport(CostSource& source, std::span<const std::int64_t> lower,
                                     std::span<const std::int64_t> upper, std::span<double> prices,
                                     std::span<std::int32_t> labels, const ListedOptions& options) {
    assert(labels.size() == source.nRows() && prices.size() == source.nClusters());
    kmeans::Team team(options.nThreads);
    ListedLevel level(source, lower, upper, team, options);
    const bool inTime = findPrices(source, level, lower, upper, prices, team, options);
    return inTime ? level.finish(prices, labels) : level.giveUp(prices, labels, -infinity);
}

} // namespace konstrain::transport
