#include "candidate_lists.h"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <limits>
#include <numeric>

#include "deadline.h"
#include "priced_bounds.h"

#define KONSTRAIN_KERNELS "candidate_kernel.h"
#include "for_each_target.h"

namespace konstrain::transport {

namespace {

const auto leastOfLanes = KONSTRAIN_PICK(leastOfLanes);
const auto columnsUpTo = KONSTRAIN_PICK(columnsUpTo);

// Places past the last cluster never win.
std::vector<double> paddedDuals(std::span<const double> duals) {
    std::vector<double> padded(paddedToLanes(duals.size()), infinity);
    std::copy(duals.begin(), duals.end(), padded.begin());
    return padded;
}

} // namespace

CandidateLists::CandidateLists(CostSource& source, std::size_t length, std::size_t nThreads)
    : source_(source), length_(std::min(length, source.nClusters())), nThreads_(nThreads),
      scratch_(nThreads,
               {std::vector<double>(source.bufferSize()), std::vector<std::int32_t>(source.nClusters())}),
      costs_(std::make_unique_for_overwrite<double[]>(source.nRows() * length_)),
      clusters_(std::make_unique_for_overwrite<std::int32_t[]>(source.nRows() * length_)),
      counts_(source.nRows()), beyond_(source.nRows()), long_(source.nRows(), notLong),
      everyCluster_(source.nClusters()), basis_(source.nClusters()) {
    std::iota(everyCluster_.begin(), everyCluster_.end(), 0);
}

bool CandidateLists::makeAll(std::span<const double> duals, double reach, TimePoint deadline) {
    reach_ = reach;
    std::vector<std::int32_t> rows(nRows());
    std::iota(rows.begin(), rows.end(), 0);
    basis_.assign(duals.begin(), duals.end());
    std::fill(long_.begin(), long_.end(), notLong);
    longLists_.clear();
    nLongEntries_ = 0;
    return makeRows(rows, duals, deadline);
}

double CandidateLists::leastRise(std::span<const double> duals) const {
    double least = infinity;
    for (std::size_t j = 0; j != duals.size(); ++j)
        least = std::min(least, duals[j] - basis_[j]);
    return least;
}

// A cluster off the list had reduced cost at least `beyond` when the list was made. When duals change, that
// of any cluster falls by no more than the largest fall of a dual, so taking that fall off `beyond` keeps it
// a valid bound for all rows in O(k) time. Only rows whose best listed cluster no longer lies below their
// bound need a new list.
bool CandidateLists::rebase(std::span<const double> duals, TimePoint deadline) {
    const double rise = leastRise(duals);
    std::vector<std::uint8_t> isDoubtful(nRows());
    const kmeans::Chunks chunks{nRows()};
    forEachChunk(chunks, chunks.workers(nThreads_), [&](std::size_t, std::size_t chunk) {
        const kmeans::RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row) {
            beyond_[row] += rise;
            isDoubtful[row] = leastOnList(row, duals) > beyond_[row] ? 1 : 0;
        }
    });
    std::vector<std::int32_t> doubtful;
    for (std::size_t row = 0; row != nRows(); ++row)
        if (isDoubtful[row] != 0)
            doubtful.push_back(static_cast<std::int32_t>(row));
    basis_.assign(duals.begin(), duals.end());
    return makeRows(doubtful, duals, deadline);
}

double CandidateLists::leastOnList(std::size_t row, std::span<const double> duals) const {
    const CandidateList list = (*this)[row];
    double least = infinity;
    for (std::size_t e = 0; e != list.length; ++e)
        least = std::min(least, list.costs[e] + duals[static_cast<std::size_t>(list.clusters[e])]);
    return least;
}

std::int32_t CandidateLists::cheapest(std::size_t row, std::span<const double> duals) const {
    const CandidateList list = (*this)[row];
    double least = infinity;
    std::int32_t best = list.clusters[0];
    for (std::size_t e = 0; e != list.length; ++e) {
        const double priced = list.costs[e] + duals[static_cast<std::size_t>(list.clusters[e])];
        if (priced < least || (priced == least && list.clusters[e] < best)) {
            least = priced;
            best = list.clusters[e];
        }
    }
    return best;
}

void CandidateLists::labelRows(std::span<const double> duals, std::span<std::int32_t> labels) const {
    const kmeans::Chunks chunks{nRows()};
    forEachChunk(chunks, chunks.workers(nThreads_), [&](std::size_t, std::size_t chunk) {
        const kmeans::RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row)
            labels[row] = cheapest(row, duals);
    });
}

void CandidateLists::shift(double amount) {
    for (double& beyond : beyond_)
        beyond -= amount;
}

bool CandidateLists::makeRows(std::span<const std::int32_t> rows, std::span<const double> duals,
                              TimePoint deadline) {
    const std::vector<double> padded = paddedDuals(duals);
    const kmeans::Chunks chunks{rows.size()};
    std::atomic<bool> outOfTime{false};
    if (source_.makesShortlists())
        source_.setDuals(duals, reach_);
    forEachChunk(chunks, chunks.workers(nThreads_), [&](std::size_t worker, std::size_t chunk) {
        if (outOfTime || isPast(deadline)) {
            outOfTime = true;
            return;
        }
        const kmeans::RowRange range = chunks.rows(chunk);
        for (std::size_t first = range.first; first < range.last; first += CostSource::mostRows) {
            const auto some = rows.subspan(first, std::min(CostSource::mostRows, range.last - first));
            if (source_.makesShortlists())
                makeFromShort(some, padded.data(), reach_, worker);
            else
                makeFromAll(some, padded.data(), reach_, worker);
        }
    });
    return !outOfTime;
}

void CandidateLists::makeFromAll(std::span<const std::int32_t> rows, const double* duals, double reach,
                                 std::size_t worker) {
    Scratch& scratch = scratch_[worker];
    const double* costs = source_.read(rows, worker, scratch.costs.data());
    for (std::size_t n = 0; n != rows.size(); ++n)
        makeList(static_cast<std::size_t>(rows[n]), costs + n * nClusters(), duals, reach, scratch.places);
}

void CandidateLists::makeFromShort(std::span<const std::int32_t> rows, const double* duals, double reach,
                                   std::size_t worker) {
    Shortlist lists[CostSource::mostRows];
    source_.shortlist(rows, worker, std::span(lists).first(rows.size()));
    for (std::size_t n = 0; n != rows.size(); ++n)
        if (!takeShortlist(static_cast<std::size_t>(rows[n]), lists[n], duals, scratch_[worker].places))
            makeFromAll(rows.subspan(n, 1), duals, reach, worker);
}

void CandidateLists::makeList(std::size_t row, const double* costs, const double* duals, double reach,
                              std::vector<std::int32_t>& places) {
    std::size_t count = nClusters();
    beyond_[row] = infinity;
    if (length_ == nClusters()) {
        std::iota(places.begin(), places.end(), 0);
    } else {
        double least[laneCount];
        double fourth[laneCount];
        leastOfLanes(costs, duals, nClusters(), least, fourth);
        std::sort(std::begin(fourth), std::end(fourth));
        // The lane that comes here when lanes are sorted by their fourth-least cost has, with those before
        // it, about 30 clusters up to that cost for a list of 24.
        const std::size_t limitingLane = std::min(length_ / laneCount, laneCount - 1);
        const double limit =
            std::min(fourth[limitingLane], *std::min_element(std::begin(least), std::end(least)) + reach);
        // A lane with fewer clusters has no fourth; the places past the last cluster cost infinity, too.
        beyond_[row] = std::min(limit, std::numeric_limits<double>::max());
        count = columnsUpTo(costs, duals, nClusters(), beyond_[row], places.data());
    }
    keepCheapest(row, {costs, everyCluster_.data()}, duals, places, count);
}

// False when the cheapest cluster may be off the shortlist.
bool CandidateLists::takeShortlist(std::size_t row, const Shortlist& list, const double* duals,
                                   std::vector<std::int32_t>& places) {
    double least = infinity;
    for (std::size_t e = 0; e != list.count; ++e) {
        least = std::min(least, list.costs[e] + duals[list.clusters[e]]);
        places[e] = static_cast<std::int32_t>(e);
    }
    if (!(least < list.beyond))
        return false;
    beyond_[row] = list.beyond;
    keepCheapest(row, {list.costs, list.clusters}, duals, places, list.count);
    return true;
}

// Fills the list of a row with the cheapest of `count` clusters, which are in ascending order.
void CandidateLists::keepCheapest(std::size_t row, const RowCosts& costs, const double* duals,
                                  std::vector<std::int32_t>& places, std::size_t count) {
    if (count > length_) {
        const auto priced = [&](std::int32_t place) {
            return costs.values[place] + duals[costs.clusters[place]];
        };
        // Of equal costs the first clusters stay, so that lists do not depend on how they are cut.
        const auto isCheaper = [&](std::int32_t a, std::int32_t b) {
            return priced(a) < priced(b) || (priced(a) == priced(b) && a < b);
        };
        const auto cut = places.begin() + static_cast<std::ptrdiff_t>(length_);
        std::nth_element(places.begin(), cut, places.begin() + static_cast<std::ptrdiff_t>(count), isCheaper);
        beyond_[row] = std::min(beyond_[row], priced(*cut));
        count = length_;
    }
    double* toCost = costs_.get() + row * length_;
    std::int32_t* toCluster = clusters_.get() + row * length_;
    for (std::size_t e = 0; e != count; ++e) {
        toCost[e] = costs.values[places[e]];
        toCluster[e] = costs.clusters[places[e]];
    }
    counts_[row] = static_cast<std::uint32_t>(count);
}

void CandidateLists::extend(std::span<const std::int32_t> rows, std::span<const double> duals,
                            std::span<const double> floors) {
    const std::vector<double> padded = paddedDuals(duals);
    const bool makesShortlists = source_.makesShortlists();
    if (makesShortlists)
        source_.setDuals(duals, infinity);
    for (std::size_t first = 0; first < rows.size(); first += CostSource::mostRows) {
        const std::size_t count = std::min(CostSource::mostRows, rows.size() - first);
        if (makesShortlists)
            makeFromShort(rows.subspan(first, count), padded.data(), infinity, 0);
        else
            makeFromAll(rows.subspan(first, count), padded.data(), infinity, 0);
        std::int32_t tooShort[CostSource::mostRows];
        std::size_t place[CostSource::mostRows];
        std::size_t nTooShort = 0;
        for (std::size_t n = first; n != first + count; ++n)
            if (const auto row = static_cast<std::size_t>(rows[n]);
                long_[row] != notLong || beyond_[row] <= floors[n]) {
                place[nTooShort] = n;
                tooShort[nTooShort++] = rows[n];
            }
        if (nTooShort == 0)
            continue;
        const double* costs = source_.read(std::span(tooShort).first(nTooShort), 0, scratch_[0].costs.data());
        for (std::size_t n = 0; n != nTooShort; ++n)
            lengthen(static_cast<std::size_t>(tooShort[n]), costs + n * nClusters(), duals, floors[place[n]]);
    }
}

// A list grows by a factor, so that all its lengths together cost no more than the last one.
void CandidateLists::lengthen(std::size_t row, const double* costs, std::span<const double> duals,
                              double floor) {
    std::vector<std::int32_t>& places = scratch_[0].places;
    std::iota(places.begin(), places.end(), 0);
    const auto priced = [&](std::int32_t j) { return costs[j] + duals[static_cast<std::size_t>(j)]; };
    const auto isCheaper = [&](std::int32_t a, std::int32_t b) {
        return priced(a) < priced(b) || (priced(a) == priced(b) && a < b);
    };
    std::size_t count = (*this)[row].length;
    do {
        count = std::min(growthFactor * count, nClusters());
        const auto cut = places.begin() + static_cast<std::ptrdiff_t>(count);
        if (cut != places.end())
            std::nth_element(places.begin(), cut, places.end(), isCheaper);
        beyond_[row] = cut == places.end() ? infinity : priced(*cut);
    } while (beyond_[row] <= floor);
    if (long_[row] == notLong) {
        long_[row] = static_cast<std::uint32_t>(longLists_.size());
        longLists_.emplace_back();
    }
    LongList& list = longLists_[long_[row]];
    nLongEntries_ += count - list.costs.size();
    list.clusters.assign(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count));
    std::sort(list.clusters.begin(), list.clusters.end());
    list.costs.resize(count);
    for (std::size_t e = 0; e != count; ++e)
        list.costs[e] = costs[list.clusters[e]];
}

} // namespace konstrain::transport
