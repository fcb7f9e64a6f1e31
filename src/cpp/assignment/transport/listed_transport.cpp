#include "listed_transport.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "candidate_lists.h"
#include "fit_sizes.h"
#include "flow_search.h"
#include "listed_paths.h"
#include "median_gap.h"
#include "priced_bounds.h"
#include "smoothed_duals.h"

namespace konstrain::transport {

namespace {

struct Params {
    // How far lists reach, in median gaps; larger: longer lists, of which fewer are made anew.
    double reach = 3.0;
    // The first temperature, in median gaps, and the factor by which temperatures fall. A higher or more
    // slowly falling one takes more Newton steps; a lower or faster one leaves more rows to paths.
    double hottest = 0.5;
    double cooling = 1.6;
    // Share of misplaced rows for which a temperature of one median gap is right; larger: colder starts.
    // Newton steps at a temperature leave about half of that misplaced.
    double misplacedPerHeat = 0.12;
    // Paths are cheaper than a Newton step from one misplaced row in this many on; larger: more steps.
    std::int64_t rowsPerPath = 1000;
};
constexpr Params params;

// Some rows of another source.
class SampledCosts final : public CostSource {
public:
    // One row of each `ratio`.
    SampledCosts(CostSource& all, std::size_t ratio)
        : CostSource(all.nRows() / ratio, all.nClusters()), all_(all), ratio_(ratio) {}

    const double* read(std::span<const std::int32_t> rows, std::size_t worker, double* buffer) override {
        const Chosen chosen(rows, ratio_);
        return all_.read(chosen.rows(), worker, buffer);
    }
    bool makesShortlists() const override { return all_.makesShortlists(); }
    void setDuals(std::span<const double> duals, double reach) override { all_.setDuals(duals, reach); }
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
double probeGap(CostSource& source, std::span<const double> duals, std::size_t nThreads, TimePoint deadline) {
    SampledCosts sample(source, std::max<std::size_t>(1, source.nRows() / sampleRows));
    CandidateLists lists(sample, 2, nThreads);
    if (!lists.makeAll(duals, infinity, deadline))
        return 0.0;
    return medianGap(lists.nRows(), [&](std::size_t row) {
        LeastTwo least;
        const CandidateList list = lists[row];
        for (std::size_t e = 0; e != list.length; ++e)
            least.take(list.costs[e] + duals[static_cast<std::size_t>(list.clusters[e])], e);
        return least;
    });
}

// One problem: all rows, or a sample of them with bounds to scale.
class ListedLevel {
public:
    ListedLevel(CostSource& source, std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                const ListedOptions& options)
        : source_(source), lists_(source, options.listLength, options.nThreads), lower_(lower), upper_(upper),
          sizes_(lower.size()), options_(options) {}

    // Makes lists that reach `reach` median gaps. False when time ran out.
    bool makeLists(std::span<const double> duals, double reach);
    // Rows in the wrong cluster when each takes its cheapest one, at the duals that lists were made for.
    std::int64_t excessAt(std::span<const double> duals);
    double heatFor(std::int64_t excess) const;
    // Brings duals near those that keep the sizes. False when time ran out.
    bool refineDuals(std::span<double> duals);
    TransportResult finish(std::span<double> duals, std::span<std::int32_t> labels, bool inTime);
    TransportResult giveUp(std::span<std::int32_t> labels, double bound);

private:
    void labelRows(std::span<const double> duals, std::span<std::int32_t> labels);
    void spreadTies(std::span<const double> duals, std::span<std::int32_t> labels);
    double boundAt(std::span<const double> duals) const;

    CostSource& source_;
    CandidateLists lists_;
    bool hasLists_ = false;
    double gap_ = 0.0; // median gap between the two cheapest clusters of a row
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::vector<std::int64_t> sizes_;
    const ListedOptions& options_;
};

bool ListedLevel::makeLists(std::span<const double> duals, double reach) {
    gap_ = probeGap(source_, duals, lists_.nThreads(), options_.deadline);
    hasLists_ = lists_.makeAll(duals, gap_ > 0.0 ? reach * gap_ : infinity, options_.deadline);
    return hasLists_;
}

std::int64_t ListedLevel::excessAt(std::span<const double> duals) {
    std::vector<std::int32_t> labels(lists_.nRows());
    labelRows(duals, labels);
    return totalExcess(duals, sizes_, lower_, upper_);
}

bool ListedLevel::refineDuals(std::span<double> duals) {
    const std::int64_t enough = static_cast<std::int64_t>(lists_.nRows()) / params.rowsPerPath;
    std::int64_t excess = excessAt(duals);
    if (excess <= enough || !(gap_ > 0.0))
        return true;
    SmoothedDuals shares(lists_, lower_, upper_);
    // Newton steps leave about half of what a temperature is right for: below half of the one that is right
    // where paths take over, there is nothing left to gain.
    const double coldest = 0.5 / static_cast<double>(params.rowsPerPath) / params.misplacedPerHeat;
    for (double heat = params.hottest; heat > coldest; heat /= params.cooling) {
        heat = std::min(heat, heatFor(excess));
        shares.measure(duals, heat * gap_, heat / params.hottest);
        excess = shares.excess();
        if (excess <= enough)
            break;
        shares.step(duals);
        if (!lists_.rebase(duals, options_.deadline))
            return false;
    }
    return true;
}

// Gives each row the cheapest cluster of its list.
void ListedLevel::labelRows(std::span<const double> duals, std::span<std::int32_t> labels) {
    lists_.labelRows(duals, labels);
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (const std::int32_t label : labels)
        ++sizes_[static_cast<std::size_t>(label)];
}

// Rows that two clusters cost the same go to the one that lacks rows: equal rows would all take the first.
void ListedLevel::spreadTies(std::span<const double> duals, std::span<std::int32_t> labels) {
    std::vector<std::int64_t> excess(sizes_.size());
    for (std::size_t j = 0; j != sizes_.size(); ++j)
        excess[j] = sizes_[j] - startFlow(duals[j], sizes_[j], lower_[j], upper_[j]);
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const auto from = static_cast<std::size_t>(labels[row]);
        if (excess[from] <= 0)
            continue;
        const CandidateList list = lists_[row];
        const double least = lists_.leastOnList(row, duals);
        for (std::size_t e = 0; e != list.length; ++e) {
            const auto to = static_cast<std::size_t>(list.clusters[e]);
            if (excess[to] >= 0 || list.costs[e] + duals[to] != least)
                continue;
            --excess[from];
            ++excess[to];
            labels[row] = list.clusters[e];
            break;
        }
    }
}

double ListedLevel::boundAt(std::span<const double> duals) const {
    double priced = 0.0;
    for (std::size_t row = 0; row != lists_.nRows(); ++row)
        priced += std::min(lists_.leastOnList(row, duals), lists_.beyond(row));
    return priced - boundTerm(duals, lower_, upper_);
}

// The temperature, in median gaps, at which Newton steps place this many misplaced rows best. Where few rows
// are misplaced, a higher one would only drive others from their clusters.
double ListedLevel::heatFor(std::int64_t excess) const {
    return static_cast<double>(excess) / static_cast<double>(lists_.nRows()) / params.misplacedPerHeat;
}

TransportResult ListedLevel::finish(std::span<double> duals, std::span<std::int32_t> labels, bool inTime) {
    if (hasLists_)
        labelRows(duals, labels);
    else
        std::fill(labels.begin(), labels.end(), 0);
    if (!inTime)
        return giveUp(labels, -infinity);
    spreadTies(duals, labels);
    // Most arcs of a cheapest path are shorter than the temperature at which duals were found.
    ListedPaths paths(lists_, duals, labels, lower_, upper_, params.hottest / 8.0 * gap_);
    const ListedPaths::Status status = paths.run(options_.deadline);
    if (status == ListedPaths::Status::LostItsWay)
        return giveUp(labels, -infinity);
    // Duals were shifted as a whole: what is known of clusters off the lists shifts with them.
    lists_.shift(paths.shift());
    if (status == ListedPaths::Status::OutOfTime)
        return giveUp(labels, boundAt(duals));
    double cost = 0.0;
    for (const double own : paths.ownCosts())
        cost += own;
    return {cost, boundAt(duals), true};
}

// Makes labels feasible in two sweeps, each row moved to the cheapest cluster of its list that has capacity
// left (or needs rows), or to the next best in number when its list has none. Labels that paths have led to
// change little. Their cost is left to the caller.
TransportResult ListedLevel::giveUp(std::span<std::int32_t> labels, double bound) {
    std::fill(sizes_.begin(), sizes_.end(), 0);
    for (const std::int32_t label : labels)
        ++sizes_[static_cast<std::size_t>(label)];
    fitSizes(lower_, upper_, labels, sizes_, [&](std::size_t row, std::size_t first, const auto& canTake) {
        std::size_t to = first;
        double least = infinity;
        const CandidateList list = hasLists_ ? lists_[row] : CandidateList{nullptr, nullptr, 0};
        for (std::size_t e = 0; e != list.length; ++e)
            if (const auto j = static_cast<std::size_t>(list.clusters[e]);
                list.costs[e] < least && canTake(j)) {
                least = list.costs[e];
                to = j;
            }
        return to;
    });
    return {infinity, bound, false};
}

// Duals of a sample, from none at all.
void priceBySample(CostSource& source, std::span<const std::int64_t> lower,
                   std::span<const std::int64_t> upper, std::span<double> duals,
                   const ListedOptions& options) {
    SampledCosts sample(source, sampleRatio);
    const SizeBounds bounds = sampleBounds(lower, upper, source.nRows(), sample.nRows());
    ListedLevel level(sample, bounds.lower, bounds.upper, options);
    std::fill(duals.begin(), duals.end(), 0.0);
    if (level.makeLists(duals, infinity))
        level.refineDuals(duals);
}

// Newton steps from the duals given, if they are of use, or from those of a sample. False when time ran out.
bool findDuals(CostSource& source, ListedLevel& level, std::span<const std::int64_t> lower,
               std::span<const std::int64_t> upper, std::span<double> duals, const ListedOptions& options) {
    dropIdleDuals(duals, lower, upper, source.nRows());
    if (options.isWarm) {
        if (!level.makeLists(duals, params.reach))
            return false;
        // Duals that misplace most rows are no better than none.
        if (2 * level.excessAt(duals) <= static_cast<std::int64_t>(source.nRows()))
            return level.refineDuals(duals);
    }
    if (source.nRows() / sampleRatio >= sampledPerCluster * source.nClusters())
        priceBySample(source, lower, upper, duals, options);
    dropIdleDuals(duals, lower, upper, source.nRows());
    return level.makeLists(duals, params.reach) && level.refineDuals(duals);
}

} // namespace

TransportResult solveListedTransport(CostSource& source, std::span<const std::int64_t> lower,
                                     std::span<const std::int64_t> upper, std::span<double> duals,
                                     std::span<std::int32_t> labels, const ListedOptions& options) {
    assert(labels.size() == source.nRows() && duals.size() == source.nClusters());
    ListedLevel level(source, lower, upper, options);
    const bool inTime = findDuals(source, level, lower, upper, duals, options);
    return level.finish(duals, labels, inTime);
}

} // namespace konstrain::transport
