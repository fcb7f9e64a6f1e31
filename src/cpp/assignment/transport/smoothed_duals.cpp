#include "smoothed_duals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "flow_search.h"
#include "median_gap.h"
#include "tolerances.h"

namespace konstrain::transport {

namespace {

struct Params {
    // Smallest product of two shares that couples two clusters; larger: sparser equations, rougher steps.
    double coupling = 0.03;
    // Rows per cluster that couplings are counted on at the first temperature; larger: better steps, slower.
    // The colder it is, the fewer rows stand between two clusters, and the more of them are counted.
    std::size_t coupledRows = 32;
    // A step moves no dual by more temperatures than this; larger: faster, and less safely.
    double longestStep = 3.0;
    // Relative accuracy of a step by conjugate gradients; larger: fewer iterations, rougher steps.
    double accuracy = 1e-2;
};
constexpr Params params;

// Shares are counted in units of 2^-32: sums of whole numbers do not depend on their order.
constexpr auto shareUnit = static_cast<double>(std::uint64_t{1} << 32U);

std::int64_t inUnits(double share) {
    return static_cast<std::int64_t>(share * shareUnit);
}

} // namespace

// Open addressing with Fibonacci hashing: at most half of the slots are in use, so a search ends after two on
// average. Sums are whole numbers, which makes the table's contents independent of the order of additions.
std::size_t PairSums::slotOf(std::uint64_t key) const {
    std::size_t slot = (key * 0x9E3779B97F4A7C15U) >> 20U;
    const std::size_t mask = keys_.size() - 1;
    for (slot &= mask; keys_[slot] != key && keys_[slot] != noKey; slot = (slot + 1) & mask) {
    }
    return slot;
}

void PairSums::add(std::size_t a, std::size_t b, std::int64_t amount) {
    addKey(static_cast<std::uint64_t>(std::min(a, b)) * nClusters_ + std::max(a, b), amount);
}

void PairSums::addKey(std::uint64_t key, std::int64_t amount) {
    const std::size_t slot = slotOf(key);
    if (keys_[slot] == noKey) {
        keys_[slot] = key;
        ++nUsed_;
    }
    sums_[slot] += amount;
    if (2 * nUsed_ > keys_.size())
        grow();
}

void PairSums::addAll(const PairSums& other) {
    for (std::size_t slot = 0; slot != other.keys_.size(); ++slot)
        if (other.keys_[slot] != noKey)
            addKey(other.keys_[slot], other.sums_[slot]);
}

void PairSums::clear() {
    std::fill(keys_.begin(), keys_.end(), noKey);
    std::fill(sums_.begin(), sums_.end(), 0);
    nUsed_ = 0;
}

void PairSums::grow() {
    PairSums larger(nClusters_);
    larger.keys_.assign(2 * keys_.size(), noKey);
    larger.sums_.assign(2 * keys_.size(), 0);
    larger.addAll(*this);
    *this = std::move(larger);
}

struct SmoothedDuals::Worker {
    Worker(std::size_t nClusters, std::size_t length)
        : shares(nClusters), curvature(nClusters), sizes(nClusters), pairs(nClusters), priced(length),
          near(length) {}

    std::vector<std::int64_t> shares;
    std::vector<std::int64_t> curvature; // how shares fall with the dual
    std::vector<std::int64_t> sizes;
    PairSums pairs;
    // Of one row:
    std::vector<double> priced;
    std::vector<std::pair<std::size_t, double>> near;
};

SmoothedDuals::SmoothedDuals(const CandidateLists& lists, std::span<const std::int64_t> lower,
                             std::span<const std::int64_t> upper)
    : lists_(lists), lower_(lower), upper_(upper),
      rowsPerCoupled_(static_cast<double>(lists.nRows()) /
                      static_cast<double>(params.coupledRows * lists.nClusters())),
      workers_(lists.nThreads(), Worker(lists.nClusters(), lists.length())), shares_(lists.nClusters()),
      sizes_(lists.nClusters()), starts_(lists.nClusters() + 1), degree_(lists.nClusters()),
      active_(lists.nClusters()), wanted_(lists.nClusters()), direction_(lists.nClusters()) {}

SmoothedDuals::~SmoothedDuals() = default;

void SmoothedDuals::measure(std::span<const double> duals, double temperature, double heat) {
    temperature_ = temperature;
    coupledStride_ = std::max<std::size_t>(1, static_cast<std::size_t>(heat * rowsPerCoupled_));
    for (Worker& worker : workers_) {
        std::fill(worker.shares.begin(), worker.shares.end(), 0);
        std::fill(worker.curvature.begin(), worker.curvature.end(), 0);
        std::fill(worker.sizes.begin(), worker.sizes.end(), 0);
        worker.pairs.clear();
    }
    const kmeans::Chunks chunks{lists_.nRows()};
    forEachChunk(chunks, chunks.workers(workers_.size()), [&](std::size_t worker, std::size_t chunk) {
        const kmeans::RowRange range = chunks.rows(chunk);
        for (std::size_t row = range.first; row != range.last; ++row)
            measureRow(row, duals, workers_[worker]);
    });
    for (std::size_t j = 0; j != shares_.size(); ++j) {
        std::int64_t share = 0;
        std::int64_t curvature = 0;
        sizes_[j] = 0;
        for (const Worker& worker : workers_) {
            share += worker.shares[j];
            curvature += worker.curvature[j];
            sizes_[j] += worker.sizes[j];
        }
        shares_[j] = static_cast<double>(share) / shareUnit;
        degree_[j] = static_cast<double>(curvature) / (shareUnit * temperature);
    }
    for (std::size_t w = 1; w < workers_.size(); ++w)
        workers_[0].pairs.addAll(workers_[w].pairs);
    excess_ = totalExcess(duals, sizes_, lower_, upper_);
}

void SmoothedDuals::measureRow(std::size_t row, std::span<const double> duals, Worker& worker) const {
    const auto [cost, cluster, length] = lists_[row];
    double* priced = worker.priced.data();
    double least = infinity;
    std::size_t best = 0;
    for (std::size_t e = 0; e != length; ++e) {
        priced[e] = cost[e] + duals[static_cast<std::size_t>(cluster[e])];
        best = priced[e] < least ? e : best;
        least = std::min(least, priced[e]);
    }
    ++worker.sizes[static_cast<std::size_t>(cluster[best])];
    std::size_t count = 0;
    double sum = 0.0;
    for (std::size_t e = 0; e != length; ++e) {
        if (priced[e] - least > shareCutoff * temperature_)
            continue;
        const double share = std::exp((least - priced[e]) / temperature_);
        worker.near[count++] = {static_cast<std::size_t>(cluster[e]), share};
        sum += share;
    }
    if (count == 1) {
        worker.shares[worker.near[0].first] += inUnits(1.0);
        return;
    }
    const bool couples = row % coupledStride_ == 0;
    for (std::size_t n = 0; n != count; ++n) {
        auto& [j, share] = worker.near[n];
        share /= sum;
        worker.shares[j] += inUnits(share);
        worker.curvature[j] += inUnits(share * (1.0 - share));
        if (!couples)
            continue;
        for (std::size_t m = 0; m != n; ++m)
            if (share * worker.near[m].second >= params.coupling)
                worker.pairs.add(worker.near[m].first, j, inUnits(share * worker.near[m].second));
    }
}

void SmoothedDuals::takeUpPairs() {
    const PairSums& pairs = workers_[0].pairs;
    std::fill(starts_.begin(), starts_.end(), 0);
    pairs.forEach([&](std::size_t a, std::size_t b, std::int64_t) {
        ++starts_[a + 1];
        ++starts_[b + 1];
    });
    std::partial_sum(starts_.begin(), starts_.end(), starts_.begin());
    std::vector<std::pair<std::int32_t, std::int64_t>> entries(starts_.back());
    std::vector<std::size_t> next(starts_.begin(), starts_.end() - 1);
    pairs.forEach([&](std::size_t a, std::size_t b, std::int64_t sum) {
        entries[next[a]++] = {static_cast<std::int32_t>(b), sum};
        entries[next[b]++] = {static_cast<std::int32_t>(a), sum};
    });
    neighbours_.resize(entries.size());
    weights_.resize(entries.size());
    const double scale = static_cast<double>(coupledStride_) / (shareUnit * temperature_);
    for (std::size_t j = 0; j != degree_.size(); ++j) {
        // How a table fills up depends on the number of threads; sums over a sorted row do not.
        std::sort(entries.begin() + static_cast<std::ptrdiff_t>(starts_[j]),
                  entries.begin() + static_cast<std::ptrdiff_t>(starts_[j + 1]));
        degree_[j] += tolerances::ridge * static_cast<double>(lists_.nRows()) /
                      (static_cast<double>(degree_.size()) * temperature_);
        for (std::size_t e = starts_[j]; e != starts_[j + 1]; ++e) {
            neighbours_[e] = entries[e].first;
            weights_[e] = scale * static_cast<double>(entries[e].second);
        }
    }
}

// Active-set step of a projected Newton method (Bertsekas 1982): a dual that is zero, or would return to zero
// because its size lies strictly between the bounds, is fixed there; the others solve the Newton equations.
void SmoothedDuals::chooseActive(std::span<const double> duals) {
    for (std::size_t j = 0; j != shares_.size(); ++j) {
        const double above = shares_[j] - static_cast<double>(upper_[j]);
        const double below = shares_[j] - static_cast<double>(lower_[j]);
        // What a dual changes per row, where few rows are in reach.
        const double unit = temperature_ / std::max(shares_[j], 1.0);
        const bool isFull = duals[j] + unit * above > 0.0;
        const bool isShort = lower_[j] > 0 && duals[j] + unit * below < 0.0;
        active_[j] = isFull || isShort;
        wanted_[j] = isFull ? above : below;
        direction_[j] = active_[j] != 0 ? 0.0 : -duals[j];
        // Where hardly a row is in reach the derivative is no guide: the step ends at its longest.
        if (active_[j] != 0)
            degree_[j] += std::abs(wanted_[j]) / (params.longestStep * temperature_);
    }
    for (std::size_t j = 0; j != shares_.size(); ++j)
        if (active_[j] != 0)
            for (std::size_t e = starts_[j]; e != starts_[j + 1]; ++e)
                if (const auto to = static_cast<std::size_t>(neighbours_[e]); active_[to] == 0)
                    wanted_[j] += weights_[e] * direction_[to];
}

void SmoothedDuals::applyActive(std::span<const double> direction, std::span<double> result) const {
    for (std::size_t j = 0; j != direction.size(); ++j) {
        if (active_[j] == 0)
            continue;
        double sum = degree_[j] * direction[j];
        for (std::size_t e = starts_[j]; e != starts_[j + 1]; ++e)
            sum -= weights_[e] * direction[static_cast<std::size_t>(neighbours_[e])];
        result[j] = sum;
    }
}

// Conjugate gradients with Jacobi preconditioning on the active clusters. The matrix is a weighted graph
// Laplacian plus a positive diagonal, so it is symmetric and positive definite, and neighbours only matter
// near the boundary of their clusters: a few iterations give the two digits that a step needs.
void SmoothedDuals::solve() {
    const std::size_t n = shares_.size();
    std::vector<double> residual(n, 0.0);
    std::vector<double> scaled(n, 0.0);
    std::vector<double> search(n, 0.0);
    std::vector<double> image(n, 0.0);
    double product = 0.0;
    for (std::size_t j = 0; j != n; ++j)
        if (active_[j] != 0) {
            residual[j] = wanted_[j];
            scaled[j] = search[j] = wanted_[j] / degree_[j];
            product += residual[j] * scaled[j];
        }
    const double enough = params.accuracy * params.accuracy * product;
    // In exact arithmetic n iterations solve n equations.
    for (std::size_t iteration = 0; iteration != n && product > enough; ++iteration) {
        applyActive(search, image);
        double curvature = 0.0;
        for (std::size_t j = 0; j != n; ++j)
            curvature += search[j] * image[j];
        if (!(curvature > 0.0))
            return;
        const double length = product / curvature;
        double next = 0.0;
        for (std::size_t j = 0; j != n; ++j)
            if (active_[j] != 0) {
                direction_[j] += length * search[j];
                residual[j] -= length * image[j];
                scaled[j] = residual[j] / degree_[j];
                next += residual[j] * scaled[j];
            }
        for (std::size_t j = 0; j != n; ++j)
            search[j] = scaled[j] + next / product * search[j];
        product = next;
    }
}

void SmoothedDuals::step(std::span<double> duals) {
    takeUpPairs();
    chooseActive(duals);
    solve();
    const double most = params.longestStep * temperature_;
    for (std::size_t j = 0; j != duals.size(); ++j) {
        const double dual = duals[j] + std::clamp(direction_[j], -most, most);
        // A dual that would change its sign stops where none is needed: from there on another bound counts.
        duals[j] = dual * duals[j] < 0.0 ? 0.0 : dual;
    }
}

} // namespace konstrain::transport
