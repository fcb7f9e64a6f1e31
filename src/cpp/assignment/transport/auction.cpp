#include "auction.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <numeric>
#include <utility>
#include <vector>

#include "infinity.h"
#include "lane_width.h"
#include "median_gap.h"
#include "priced_bounds.h"

#define KONSTRAIN_KERNELS "auction_kernel.h"
#include "for_each_target.h"

namespace konstrain {

namespace {

const auto cheapestTwo = KONSTRAIN_PICK(cheapestTwo);

// Steps, in median gaps between the two cheapest clusters of a row: the first, from nothing known and from
// the prices of a similar problem, the last, and how fast they fall.
constexpr double coldStep = 20.0;
constexpr double warmStep = 0.8;
constexpr double lastStep = 0.03;
constexpr double stepFall = 5.0;
// Down to this step a sample says as much as all rows, if it has so many rows per cluster.
constexpr double sampledStep = 0.8;
constexpr std::size_t sampleRatio = 8;
constexpr std::size_t sampledPerCluster = 8;
// An auction with more bids per row than this is given up.
constexpr std::size_t mostBidsPerRow = 32;
constexpr std::size_t bidsPerClockReading = 1024;
constexpr std::int32_t noRow = -1;

// Some or all rows of a cost matrix, each of which may be read in full vectors.
class ReadableRows {
public:
    ReadableRows(std::span<const double> costs, std::size_t nClusters, std::size_t ratio)
        : costs_(costs), nClusters_(nClusters), ratio_(ratio), nRows_(costs.size() / nClusters / ratio),
          copy_(paddedToLanes(nClusters)) {}

    std::size_t count() const { return nRows_; }
    std::size_t nClusters() const { return nClusters_; }

    const double* operator[](std::size_t number) {
        const std::size_t first = place(number) * nClusters_;
        if (first + copy_.size() <= costs_.size())
            return costs_.data() + first;
        std::copy_n(costs_.data() + first, nClusters_, copy_.data());
        return copy_.data();
    }
    // The row will be asked for soon: rows come in no order that a processor could foresee.
    void fetch(std::size_t number) const {
        constexpr std::size_t perLine = 8;
        const double* row = costs_.data() + place(number) * nClusters_;
        for (std::size_t j = 0; j < nClusters_; j += perLine)
            __builtin_prefetch(row + j);
    }

private:
    std::size_t place(std::size_t number) const { return ratio_ == 1 ? number : sampledRow(number, ratio_); }

    std::span<const double> costs_;
    std::size_t nClusters_;
    std::size_t ratio_; // one row in so many
    std::size_t nRows_;
    std::vector<double> copy_; // of a row that ends the matrix
};

class Auction {
public:
    // `prices` are rounded up to full vectors, the last of which are infinite.
    Auction(ReadableRows& rows, std::span<const std::int64_t> places, std::span<double> prices)
        : rows_(rows), places_(places), prices_(prices), kept_(places.size()) {}

    // Lets every row bid until each has a place. False when it was given up.
    bool run(double step, TimePoint deadline);

private:
    using Bid = std::pair<double, std::int32_t>; // what is bid, and by which row

    // Returns the row that is left without a place, or none.
    std::int32_t place(std::size_t cluster, Bid bid);

    ReadableRows& rows_;
    std::span<const std::int64_t> places_;
    std::span<double> prices_;
    std::vector<std::vector<Bid>> kept_; // per cluster, the lowest on top
    std::vector<std::int32_t> waiting_;
};

bool Auction::run(double step, TimePoint deadline) {
    for (auto& kept : kept_)
        kept.clear();
    waiting_.resize(rows_.count());
    std::iota(waiting_.begin(), waiting_.end(), 0);
    const std::size_t mostBids = mostBidsPerRow * rows_.count();
    for (std::size_t n = 0; n != waiting_.size(); ++n) {
        if (n == mostBids || (n % bidsPerClockReading == 0 && isPast(deadline)))
            return false;
        if (n + 1 != waiting_.size())
            rows_.fetch(static_cast<std::size_t>(waiting_[n + 1]));
        const std::int32_t row = waiting_[n];
        const LeastTwo two =
            cheapestTwo(rows_[static_cast<std::size_t>(row)], prices_.data(), rows_.nClusters());
        // With one cluster there is no second one to leave for.
        const double worth = two.second < infinity ? two.second - two.first : 0.0;
        const std::int32_t outbid = place(two.best, {prices_[two.best] + worth + step, row});
        if (outbid != noRow)
            waiting_.push_back(outbid);
    }
    return true;
}

std::int32_t Auction::place(std::size_t cluster, Bid bid) {
    auto& kept = kept_[cluster];
    kept.push_back(bid);
    std::push_heap(kept.begin(), kept.end(), std::greater<>());
    std::int32_t outbid = noRow;
    const auto nPlaces = static_cast<std::size_t>(places_[cluster]);
    if (kept.size() > nPlaces) {
        std::pop_heap(kept.begin(), kept.end(), std::greater<>());
        outbid = kept.back().second;
        kept.pop_back();
    }
    if (kept.size() == nPlaces)
        prices_[cluster] = std::max(prices_[cluster], nPlaces == 0 ? bid.first : kept.front().first);
    return outbid;
}

// Places for `nRows` rows, as many in proportion as bounds allow at least, and in sum exactly so many.
std::vector<std::int64_t> sharedPlaces(std::span<const std::int64_t> lower, std::size_t nRows,
                                       std::size_t nAll) {
    const auto all = static_cast<std::int64_t>(nAll);
    const auto nClusters = static_cast<std::int64_t>(lower.size());
    const std::int64_t left = all - std::accumulate(lower.begin(), lower.end(), std::int64_t{0});
    std::vector<std::int64_t> places(lower.size());
    std::int64_t below = 0;
    std::int64_t sum = 0;
    for (std::size_t j = 0; j != places.size(); ++j) {
        sum += lower[j];
        const auto number = static_cast<std::int64_t>(j) + 1;
        const std::int64_t upTo = (sum + left * number / nClusters) * static_cast<std::int64_t>(nRows) / all;
        places[j] = upTo - below;
        below = upTo;
    }
    return places;
}

} // namespace

bool areNearlyFixed(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper) {
    for (std::size_t j = 0; j != lower.size(); ++j)
        if (upper[j] - lower[j] > 1 || lower[j] < 0)
            return false;
    return true;
}

AuctionResult auctionPrices(std::span<const double> costs, std::span<const std::int64_t> lower,
                            std::span<double> prices, bool isWarm, TimePoint deadline) {
    const std::size_t nClusters = prices.size();
    std::vector<double> raised(paddedToLanes(nClusters), infinity);
    std::copy(prices.begin(), prices.end(), raised.begin());
    ReadableRows all(costs, nClusters, 1);
    ReadableRows sample(costs, nClusters, sampleRatio);
    const std::vector<std::int64_t> places = sharedPlaces(lower, all.count(), all.count());
    const std::vector<std::int64_t> sampledPlaces = sharedPlaces(lower, sample.count(), all.count());
    Auction amongAll(all, places, raised);
    Auction amongSampled(sample, sampledPlaces, raised);
    const bool maySample = sample.count() >= sampledPerCluster * nClusters;
    const double gap = medianGap(
        all.count(), [&](std::size_t row) { return cheapestTwo(all[row], raised.data(), nClusters); });
    if (!(gap > 0.0))
        return {};
    AuctionResult result;
    for (double step = isWarm ? warmStep : coldStep; step >= lastStep; step /= stepFall) {
        const bool isSampled = maySample && step > sampledStep;
        if (!(isSampled ? amongSampled : amongAll).run(step * gap, deadline))
            return {};
        result = {step * gap, true};
    }
    std::copy_n(raised.begin(), nClusters, prices.begin());
    return result;
}

} // namespace konstrain
