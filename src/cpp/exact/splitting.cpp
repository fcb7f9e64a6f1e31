#include "splitting.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>
#include <vector>

#include "random.h"

namespace konstrain::exact {

namespace {

struct Params {
    // Rows that are near each other change places first: parts keep the shape of the cluster. Where more than
    // this share of the cost stays unbalanced, as under heavy tails, partners are sought further away;
    // larger: less balanced parts, faster.
    double unbalancedShare = 1e-4;
    // Neighbours that a row may change places with at last, at first as many as partners are tried; larger:
    // more balanced, slower.
    std::size_t lastReach = 128;
};
constexpr Params params;

// The rows of one cluster: their sums in each part, and the rows that may still change places.
class ClusterDeal {
public:
    ClusterDeal(const SplitRows& rows, const SplitRules& rules, const std::vector<std::size_t>& members,
                std::span<std::int32_t> part, std::vector<std::size_t>& rowsIn, Random& random)
        : rows_(rows), rules_(rules), d_(rows.nFeatures), part_(part), rowsIn_(rowsIn), random_(random),
          center_(d_, 0.0), sums_(rules.nParts * d_, 0.0), weights_(rules.nParts, 0.0) {
        findCenter(members);
        for (const auto row : members) {
            if (part_[row] < 0)
                free_.push_back(row);
            else
                addFixed(row);
        }
    }

    void run() {
        stratify(0, free_.size());
        deal();
        copyMoments();
        for (std::size_t reach = rules_.nPartners; reach <= params.lastReach; reach *= 4) {
            if (unbalanced() <= params.unbalancedShare * scatter_)
                break;
            for (std::size_t sweep = 0; sweep != rules_.nSweeps; ++sweep)
                for (std::size_t at = 0; at != free_.size(); ++at) {
                    if (isPast(rules_.deadline))
                        return;
                    exchange(at, reach);
                }
        }
    }

private:
    const double* point(std::size_t row) const { return rows_.points.data() + row * d_; }
    double* sum(std::size_t part) { return sums_.data() + part * d_; }
    std::size_t partOf(std::size_t at) const { return static_cast<std::size_t>(part_[free_[at]]); }

    void findCenter(const std::vector<std::size_t>& members) {
        double total = 0.0;
        for (const auto row : members) {
            total += rows_.weight[row];
            for (std::size_t f = 0; f != d_; ++f)
                center_[f] += rows_.weight[row] * point(row)[f];
        }
        if (total > 0.0)
            for (auto& value : center_)
                value /= total;
    }

    void addFixed(std::size_t row) {
        const auto part = static_cast<std::size_t>(part_[row]);
        weights_[part] += rows_.weight[row];
        for (std::size_t f = 0; f != d_; ++f)
            sum(part)[f] += rows_.weight[row] * (point(row)[f] - center_[f]);
    }

    // Orders the free rows so that each run of nParts of them is a stratum, and rows near each other in it
    // follow each other.
    void stratify(std::size_t begin, std::size_t end) {
        const std::size_t size = end - begin;
        if (size <= rules_.nPartners)
            return;
        const std::size_t whole = size > rules_.nParts ? rules_.nParts : 1;
        const std::size_t middle = begin + std::max<std::size_t>(1, size / whole / 2) * whole;
        const std::size_t feature = widestFeature(begin, end);
        const auto at = [&](std::size_t i) { return free_.begin() + static_cast<std::ptrdiff_t>(i); };
        std::nth_element(at(begin), at(middle), at(end), [&](std::size_t a, std::size_t b) {
            const double left = point(a)[feature], right = point(b)[feature];
            return left < right || (left == right && a < b);
        });
        stratify(begin, middle);
        stratify(middle, end);
    }

    std::size_t widestFeature(std::size_t begin, std::size_t end) {
        std::vector<double> first(d_, 0.0), second(d_, 0.0);
        for (std::size_t i = begin; i != end; ++i)
            for (std::size_t f = 0; f != d_; ++f) {
                const double value = point(free_[i])[f] - center_[f];
                first[f] += value;
                second[f] += value * value;
            }
        const auto count = static_cast<double>(end - begin);
        std::size_t widest = 0;
        for (std::size_t f = 0; f != d_; ++f) {
            second[f] -= first[f] * first[f] / count;
            if (second[f] > second[widest])
                widest = f;
        }
        return widest;
    }

    void deal() {
        std::vector<std::size_t> parts(rules_.nParts);
        std::iota(parts.begin(), parts.end(), std::size_t{0});
        for (std::size_t begin = 0; begin < free_.size(); begin += rules_.nParts) {
            shuffle(parts, random_);
            const std::size_t count = std::min(rules_.nParts, free_.size() - begin);
            // The rows left over go to the smallest parts.
            if (count < rules_.nParts)
                std::ranges::stable_sort(parts, {}, [&](std::size_t part) { return rowsIn_[part]; });
            for (std::size_t i = 0; i != count; ++i) {
                part_[free_[begin + i]] = static_cast<std::int32_t>(parts[i]);
                ++rowsIn_[parts[i]];
            }
        }
    }

    // What each free row adds to the sum of its part, side by side in the order of the strata.
    void copyMoments() {
        moments_.resize(free_.size() * d_);
        for (std::size_t at = 0; at != free_.size(); ++at) {
            const double weight = rows_.weight[free_[at]];
            for (std::size_t f = 0; f != d_; ++f) {
                const double away = point(free_[at])[f] - center_[f];
                moments_[at * d_ + f] = weight * away;
                sum(partOf(at))[f] += weight * away;
                scatter_ += weight * away * away;
            }
            weights_[partOf(at)] += weight;
        }
    }

    // With moments taken from the cluster's center, the mean of a part is its sum over its weight, and by
    // Huygens and Steiner |sum|^2 / weight is what the part's own center saves against that of the cluster.
    // Parts whose sums vanish have the cluster's center and lose nothing: the sum of all losses is minimised.
    // What a part loses, given its sum and the moments that leave and join it.
    double loss(std::size_t part, const double* leaves, const double* joins, double weight) {
        if (weight <= 0.0)
            return 0.0;
        double square = 0.0;
        for (std::size_t f = 0; f != d_; ++f) {
            const double value = sum(part)[f] - leaves[f] + joins[f];
            square += value * value;
        }
        return square / weight;
    }

    // What an exchange of two rows gains, in O(d): it changes the sums of two parts only.
    double gain(std::size_t a, std::size_t b) {
        const double* first = moments_.data() + a * d_;
        const double* second = moments_.data() + b * d_;
        const std::size_t p = partOf(a), q = partOf(b);
        const double more = rows_.weight[free_[b]] - rows_.weight[free_[a]];
        return loss(p, first, first, weights_[p]) + loss(q, second, second, weights_[q]) -
               loss(p, first, second, weights_[p] + more) - loss(q, second, first, weights_[q] - more);
    }

    void exchange(std::size_t at, std::size_t reach) {
        const std::size_t begin = at / reach * reach;
        const std::size_t count = std::min(reach, free_.size() - begin);
        const bool all = count <= rules_.nPartners;
        double most = 0.0;
        std::size_t partner = at;
        for (std::size_t trial = 0; trial != std::min(count, rules_.nPartners); ++trial) {
            const std::size_t other = begin + (all ? trial : drawBelow(count, random_));
            const double found = other == at ? 0.0 : gain(at, other);
            if (found > most) {
                most = found;
                partner = other;
            }
        }
        if (partner != at)
            swapParts(at, partner);
    }

    double unbalanced() {
        const std::vector<double> nothing(d_, 0.0);
        double total = 0.0;
        for (std::size_t part = 0; part != rules_.nParts; ++part)
            total += loss(part, nothing.data(), nothing.data(), weights_[part]);
        return total;
    }

    void swapParts(std::size_t a, std::size_t b) {
        const std::size_t p = partOf(a), q = partOf(b);
        for (std::size_t f = 0; f != d_; ++f) {
            const double more = moments_[b * d_ + f] - moments_[a * d_ + f];
            sum(p)[f] += more;
            sum(q)[f] -= more;
        }
        const double more = rows_.weight[free_[b]] - rows_.weight[free_[a]];
        weights_[p] += more;
        weights_[q] -= more;
        std::swap(part_[free_[a]], part_[free_[b]]);
    }

    const SplitRows& rows_;
    const SplitRules& rules_;
    std::size_t d_;
    std::span<std::int32_t> part_;
    std::vector<std::size_t>& rowsIn_;
    Random& random_;
    std::vector<double> center_;
    std::vector<double> sums_;
    std::vector<double> weights_;
    std::vector<std::size_t> free_;
    std::vector<double> moments_;
    double scatter_ = 0.0;
};

} // namespace

void dealRows(const SplitRows& rows, const SplitRules& rules, std::span<std::int32_t> part) {
    assert(rules.nParts > 0 && part.size() == rows.label.size());
    std::vector<std::vector<std::size_t>> members(rows.nClusters);
    std::vector<std::size_t> rowsIn(rules.nParts, 0);
    for (std::size_t row = 0; row != part.size(); ++row) {
        members[static_cast<std::size_t>(rows.label[row])].push_back(row);
        if (part[row] >= 0)
            ++rowsIn[static_cast<std::size_t>(part[row])];
    }
    Random random(rules.seed);
    for (const auto& cluster : members)
        ClusterDeal(rows, rules, cluster, part, rowsIn, random).run();
}

} // namespace konstrain::exact
