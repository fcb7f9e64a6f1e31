#include "watched_rows.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>

#include "infinity.h"
#include "multiversion.h"
#include "priced_rows.h"
#include "tolerances.h"

namespace konstrain::kmeans {

using namespace transport;

namespace {

struct Params {
    // Duals are expected to move apart by this many times what they did in the last steps, whose moves count
    // less by this factor in every step after them; larger: more rows are open, and steps are repeated less.
    double margin = 2.0;
};
constexpr Params params;

// Rounding to floats, and of a few operations on doubles, never takes more than this share of a number.
constexpr double roundingShare = std::numeric_limits<float>::epsilon() * 8;

float below(double value) {
    return static_cast<float>(value - roundingShare * std::abs(value));
}

float above(double value) {
    return static_cast<float>(value + roundingShare * std::abs(value));
}

// What is taken off the gap of a row in one cluster: by moves of centers no more than `perDistance` times the
// row's distance to its old center, plus `always`, times its weight. `ownMove` is how far its own center
// moved.
struct Loss {
    double perDistance = 0.0;
    double always = -infinity;
    double byDuals = 0.0;
    double ownMove = 0.0;
};

// Brings gaps and distances up to date, each rounded to its safe side.
KONSTRAIN_MULTIVERSION
void widen(std::span<const Loss> losses, std::span<const std::int32_t> labels, const double* weight,
           std::span<float> gaps, std::span<float> radii) {
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const Loss& loss = losses[static_cast<std::size_t>(labels[row])];
        const double w = weightOf(weight, row);
        const double radius = radii[row];
        const double lost = w * (loss.perDistance * radius + loss.always) + loss.byDuals;
        const double gap = gaps[row] - lost;
        gaps[row] = static_cast<float>(gap - roundingShare * (std::abs(gap) + std::abs(lost)));
        radii[row] = static_cast<float>((radius + loss.ownMove) * (1.0 + roundingShare));
    }
}

// Cauchy and Schwarz bound the first term below by 2 |x - c_a| |d_j - d_a|; the others are the same for all
// rows of a cluster. So one loss per cluster, a factor for the row's radius and a constant, serves all its
// rows.
//
// With a row x in cluster a, old centers c and their moves d, the difference between |x - c_j|^2 and |x -
// c_a|^2 changes by -2 (x - c_a)(d_j - d_a) + 2 (c_j - c_a) d_j + |d_j|^2 - |d_a|^2.
Loss lossIn(std::size_t cluster, const Points& old, std::span<const double> moves) {
    const std::size_t d = old.nColumns;
    const double* ownCenter = old.values + cluster * d;
    const double* ownMove = moves.data() + cluster * d;
    Loss loss;
    for (std::size_t j = 0; j != old.nRows; ++j) {
        if (j == cluster)
            continue;
        const double* center = old.values + j * d;
        const double* move = moves.data() + j * d;
        double apart = 0.0;
        double change = 0.0;
        for (std::size_t f = 0; f != d; ++f) {
            const double difference = move[f] - ownMove[f];
            apart += difference * difference;
            change +=
                2.0 * (center[f] - ownCenter[f]) * move[f] + move[f] * move[f] - ownMove[f] * ownMove[f];
        }
        loss.perDistance = std::max(loss.perDistance, 2.0 * std::sqrt(apart));
        loss.always = std::max(loss.always, -change);
    }
    for (std::size_t f = 0; f != d; ++f)
        loss.ownMove += ownMove[f] * ownMove[f];
    loss.ownMove = std::sqrt(loss.ownMove);
    return loss;
}

// How much each dual rose against the one that rose least. Only differences between duals matter to a row,
// so its cluster has become more expensive by no more than this, compared with any other.
std::vector<double> rises(std::span<const double> before, std::span<const double> after) {
    std::vector<double> rise(after.size());
    for (std::size_t j = 0; j != after.size(); ++j)
        rise[j] = after[j] - before[j];
    const double least = *std::ranges::min_element(rise);
    for (double& value : rise)
        value -= least;
    return rise;
}

} // namespace

void WatchedRows::take(std::span<const double> costs, double cost, const double* weight,
                       const Points& centers, std::span<const double> before, std::span<const double> duals,
                       std::span<const std::int32_t> labels, ClusterSums clusters) {
    const std::size_t nRows = labels.size();
    const std::size_t k = duals.size();
    std::size_t nChanged = labels_.size() == nRows ? 0 : nRows;
    for (std::size_t row = 0; row != labels_.size() && nChanged < nRows; ++row)
        nChanged += labels_[row] != labels[row] ? 1U : 0U;
    labels_.assign(labels.begin(), labels.end());
    gaps_.clear();
    if (nToSkip_ > 0) {
        --nToSkip_;
        return;
    }
    if (nChanged > nRows / rowsPerChange || k < 2)
        return;
    nColumns_ = centers.nColumns;
    centers_.assign(centers.values, centers.values + k * nColumns_);
    duals_.assign(duals.begin(), duals.end());
    usualRise_ = std::ranges::max(rises(before, duals));

    gaps_.resize(nRows);
    radii_.resize(nRows);
    risen_.assign(k, 0.0);
    std::vector<std::int32_t> all(nRows);
    std::iota(all.begin(), all.end(), 0);
    takeRows(all, costs, weight, labels);

    sums_.assign(clusters.sums, clusters.sums + k * nColumns_);
    clusterWeights_.assign(clusters.weight, clusters.weight + k);
    origin_.assign(nColumns_, 0.0);
    double total = 0.0;
    for (std::size_t j = 0; j != k; ++j) {
        total += clusterWeights_[j];
        for (std::size_t f = 0; f != nColumns_; ++f)
            origin_[f] += sums_[j * nColumns_ + f];
    }
    for (double& value : origin_)
        value = total > 0.0 ? value / total : 0.0;
    moment_ = cost - shiftedSquares();
    largest_ = moment_;
    for (const double value : origin_)
        largest_ += total * value * value;
}

void WatchedRows::giveUp() {
    gaps_.clear();
    nToSkip_ = nLastSkipped_ = 2 * nLastSkipped_ + 1;
}

// Labels of rows with their costs at the centers; gaps are those at the duals.
void WatchedRows::takeRows(std::span<const std::int32_t> rows, std::span<const double> costs,
                           const double* weight, std::span<const std::int32_t> labels) {
    const std::size_t k = duals_.size();
    std::vector<std::int32_t> cheapest(rows.size());
    std::vector<float> gaps(rows.size());
    std::vector<std::int64_t> ignored(k);
    priceRows(costs, duals_, cheapest, gaps, ignored);
    for (std::size_t n = 0; n != rows.size(); ++n) {
        const auto row = static_cast<std::size_t>(rows[n]);
        const double w = weightOf(weight, row);
        const auto label = static_cast<std::size_t>(labels[n]);
        labels_[row] = labels[n];
        // What is still to be taken off all rows of the cluster does not concern this row.
        const double gap = cheapest[n] == labels[n] ? static_cast<double>(gaps[n]) : 0.0;
        gaps_[row] = below(gap + risen_[label]);
        radii_[row] = w > 0.0 ? above(std::sqrt(costs[n * k + label] / w)) : 0.0F;
    }
}

void WatchedRows::moveTo(const double* weight, const Points& centers, std::span<const double> duals) {
    assert(isActive() && centers.nColumns == nColumns_ && centers.nRows == duals_.size());
    const std::size_t k = duals.size();
    std::vector<double> moves(k * nColumns_);
    for (std::size_t i = 0; i != moves.size(); ++i)
        moves[i] = centers.values[i] - centers_[i];
    const Points old{centers_.data(), k, nColumns_};
    const std::vector<double> rise = rises(duals_, duals);
    std::vector<Loss> losses(k);
    for (std::size_t j = 0; j != k; ++j) {
        losses[j] = lossIn(j, old, moves);
        losses[j].byDuals = risen_[j] + rise[j];
    }
    widen(losses, labels_, weight, gaps_, radii_);
    std::ranges::fill(risen_, 0.0);
    centers_.assign(centers.values, centers.values + k * nColumns_);
    duals_.assign(duals.begin(), duals.end());
}

double WatchedRows::margin() const {
    return params.margin * usualRise_;
}

std::vector<std::int32_t> WatchedRows::rowsWithin(double margin) const {
    std::vector<float> limits(risen_.size());
    for (std::size_t j = 0; j != limits.size(); ++j)
        limits[j] = above(margin + risen_[j]);
    std::vector<std::int32_t> rows(gaps_.size());
    std::size_t count = 0;
    for (std::size_t row = 0; row != gaps_.size(); ++row) {
        rows[count] = static_cast<std::int32_t>(row);
        // Gaps too large for a float may have become no number: such a row is open.
        count += gaps_[row] > limits[static_cast<std::size_t>(labels_[row])] ? 0U : 1U;
    }
    rows.resize(count);
    addFirstOfOthers(rows);
    return rows;
}

// Without an open row, the bounds of a cluster could not bind in the problem of the open rows, and its dual
// would be dropped there.
void WatchedRows::addFirstOfOthers(std::vector<std::int32_t>& rows) const {
    std::vector<char> isThere(duals_.size(), 0);
    for (const std::int32_t row : rows)
        isThere[static_cast<std::size_t>(labels_[static_cast<std::size_t>(row)])] = 1;
    if (std::ranges::count(isThere, 0) == 0)
        return;
    std::vector<std::int32_t> first(duals_.size(), none);
    for (std::size_t row = 0; row != gaps_.size(); ++row) {
        const auto j = static_cast<std::size_t>(labels_[row]);
        if (isThere[j] == 0 && (first[j] == none || gaps_[row] < gaps_[static_cast<std::size_t>(first[j])]))
            first[j] = static_cast<std::int32_t>(row);
    }
    for (const std::int32_t row : first)
        if (row != none)
            rows.push_back(row);
}

double WatchedRows::update(std::span<const std::int32_t> rows, double margin, std::span<const double> costs,
                           const double* weight, std::span<const double> duals,
                           std::span<const std::int32_t> labels) {
    const std::vector<double> rise = rises(duals_, duals);
    const double furthest = std::ranges::max(rise);
    usualRise_ = std::max(furthest, usualRise_ / params.margin);
    for (std::size_t j = 0; j != rise.size(); ++j)
        risen_[j] += rise[j];
    duals_.assign(duals.begin(), duals.end());
    takeRows(rows, costs, weight, labels);
    if (furthest <= margin) {
        nLastSkipped_ = 0;
        return 0.0;
    }
    double saved = 0.0;
    for (std::size_t row = 0; row != gaps_.size(); ++row)
        saved +=
            std::max(0.0, risen_[static_cast<std::size_t>(labels_[row])] - static_cast<double>(gaps_[row]));
    return saved;
}

// Huygens and Steiner: sum w |x - c|^2 = sum w |x - o|^2 + W |c - o|^2 - 2 (c - o) . sum w (x - o). The first
// sum is a constant of the data, so the cost of all labels follows from the sums of the clusters in O(k d).
// Sum over the clusters of what a moment about the origin has more than one about their centers.
double WatchedRows::shiftedSquares() const {
    double sum = 0.0;
    for (std::size_t j = 0; j != duals_.size(); ++j) {
        const double weight = clusterWeights_[j];
        for (std::size_t f = 0; f != nColumns_; ++f) {
            const double center = centers_[j * nColumns_ + f] - origin_[f];
            const double total = sums_[j * nColumns_ + f] - weight * origin_[f];
            sum += center * (weight * center - 2.0 * total);
        }
    }
    return sum;
}

double WatchedRows::cost() const {
    const double cost = moment_ + shiftedSquares();
    return cost >= tolerances::cancellation * largest_ ? cost : -1.0;
}

} // namespace konstrain::kmeans
