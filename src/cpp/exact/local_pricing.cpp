#include <algorithm>
#include <numeric>
#include <set>

#include "pricing.h"

namespace konstrain::exact {

PricingBlocks::PricingBlocks(std::span<const double> means, std::size_t nFeatures,
                             std::span<const double> weight, std::span<const std::int64_t> indptr,
                             std::span<const std::int32_t> indices, ClusterRules rules)
    : weight_(weight.begin(), weight.end()), distance_(weight.size() * weight.size()),
      conflict_(distance_.size(), 0), hasConflicts_(!indices.empty()), rules_(std::move(rules)) {
    const std::size_t n = size();
    for (std::size_t b = 0; b != n; ++b)
        for (std::size_t c = 0; c != b; ++c) {
            double sum = 0.0;
            for (std::size_t f = 0; f != nFeatures; ++f) {
                const double gap = means[b * nFeatures + f] - means[c * nFeatures + f];
                sum += gap * gap;
            }
            distance_[b * n + c] = distance_[c * n + b] = sum;
        }
    for (std::size_t b = 0; b + 1 < indptr.size(); ++b)
        for (auto i = static_cast<std::size_t>(indptr[b]); i != static_cast<std::size_t>(indptr[b + 1]); ++i)
            conflict_[b * n + static_cast<std::size_t>(indices[i])] = 1;
}

namespace {

// A set under construction with what its changes cost. The squares of a set S about its mean are the sum over
// pairs of w_b w_c |x_b - x_c|^2 over the weight of S (Koenig and Huygens), so no mean is needed: with the
// sums of weighted distances from each block to S (`reach_`), the value with one block more or less takes
// constant time, and an addition O(n) to update them.
class Descent {
public:
    Descent(const PricingBlocks& blocks, std::span<const double> profit, bool costless)
        : blocks_(blocks), profit_(profit), scale_(costless ? 0.0 : 1.0), reach_(blocks.size()),
          inside_(blocks.size()), order_(blocks.size()), merit_(blocks.size()) {}

    double value() const { return cost(pairs_, weight_) - gain_; }

    Column members() const {
        Column sorted(members_);
        std::ranges::sort(sorted);
        return sorted;
    }

    void reset(std::span<const std::int32_t> members) {
        members_.clear();
        std::ranges::fill(reach_, 0.0);
        std::ranges::fill(inside_, char{0});
        weight_ = gain_ = pairs_ = 0.0;
        for (const auto b : members)
            add(static_cast<std::size_t>(b));
    }

    // Alternates between the mean of the set and the blocks that pay at that mean.
    void alternate(std::int32_t first) {
        // After the first round the value falls in every one: no set comes twice, and few rounds are made.
        for (int round = 0; !members_.empty(); ++round) {
            const Column before = members();
            const double old = value();
            rebuild(round == 0 ? first : -1);
            if (members() == before)
                return;
            // Greedy choices under rules and conflicts may be worse than the set before.
            if (round > 0 && !(value() < old)) {
                reset(before);
                return;
            }
        }
    }

    // Additions, removals and exchanges with conflicting members, the best one each time, until none helps.
    // Each lowers the value by more than rounding, so it ends; the limit cuts rare long tails short.
    void polish(double tolerance) {
        const std::size_t maxMoves = 4 * blocks_.size() + 16;
        for (std::size_t move = 0; move != maxMoves && step(tolerance); ++move) {
        }
    }

private:
    double cost(double pairs, double weight) const { return weight > 0.0 ? scale_ * pairs / weight : 0.0; }

    void add(std::size_t b) {
        const double w = blocks_.weight(b);
        pairs_ += w * reach_[b];
        weight_ += w;
        gain_ += profit_[b];
        const double* row = blocks_.squaredDistances(b);
        for (std::size_t c = 0; c != reach_.size(); ++c)
            reach_[c] += w * row[c];
        inside_[b] = 1;
        members_.push_back(static_cast<std::int32_t>(b));
    }

    // Squared distance to the mean of the set: the weighted distances from b to its members sum to their
    // squares about the mean, pairs / weight, plus weight times this.
    double distance(std::size_t b) const {
        return weight_ > 0.0 ? (reach_[b] - pairs_ / weight_) / weight_ : 0.0;
    }

    bool fits(std::size_t b) const {
        for (const auto member : members_)
            if (blocks_.conflict(static_cast<std::size_t>(member), b))
                return false;
        return blocks_.rules().allow(members_, static_cast<std::int32_t>(b));
    }

    // The set again, from the blocks that pay at its mean, best first; `first` (if any) stays in any case.
    void rebuild(std::int32_t first) {
        std::size_t n = 0;
        for (std::size_t b = 0; b != blocks_.size(); ++b) {
            // What the block adds to the value while the mean stays.
            merit_[b] = scale_ * blocks_.weight(b) * distance(b) - profit_[b];
            if (merit_[b] < 0.0 && static_cast<std::int32_t>(b) != first)
                order_[n++] = static_cast<std::int32_t>(b);
        }
        const auto merit = [this](std::int32_t b) { return merit_[static_cast<std::size_t>(b)]; };
        std::ranges::sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(n), {}, merit);
        reset({});
        if (first >= 0)
            add(static_cast<std::size_t>(first));
        for (std::size_t i = 0; i != n; ++i)
            if (fits(static_cast<std::size_t>(order_[i])))
                add(static_cast<std::size_t>(order_[i]));
    }

    double valueWithout(std::size_t b) const {
        return cost(pairs_ - blocks_.weight(b) * reach_[b], weight_ - blocks_.weight(b)) - gain_ + profit_[b];
    }

    double valueWith(std::size_t b) const {
        return cost(pairs_ + blocks_.weight(b) * reach_[b], weight_ + blocks_.weight(b)) - gain_ - profit_[b];
    }

    // The set with `b` in place of all that conflict with it; its value, or that of the current set.
    Column exchanged(std::size_t b) const {
        Column result;
        for (const auto member : members_)
            if (!blocks_.conflict(static_cast<std::size_t>(member), b))
                result.push_back(member);
        if (!blocks_.rules().allow(result, static_cast<std::int32_t>(b)))
            return {};
        result.push_back(static_cast<std::int32_t>(b));
        return result;
    }

    double valueOf(const Column& members) const {
        double pairs = 0.0, weight = 0.0, gain = 0.0;
        for (std::size_t i = 0; i != members.size(); ++i) {
            const auto b = static_cast<std::size_t>(members[i]);
            for (std::size_t j = 0; j != i; ++j) {
                const auto c = static_cast<std::size_t>(members[j]);
                pairs += blocks_.weight(b) * blocks_.weight(c) * blocks_.squaredDistance(b, c);
            }
            weight += blocks_.weight(b);
            gain += profit_[b];
        }
        return cost(pairs, weight) - gain;
    }

    // The best change, each rated in constant time but for exchanges. A block without profit is never added:
    // an addition only raises the squares. An exchange is tried where the addition would pay without
    // conflicts; that is a filter, not a bound, and the descent remains a heuristic.
    bool step(double tolerance) {
        double best = value() - tolerance;
        Column next;
        for (std::size_t b = 0; b != blocks_.size(); ++b) {
            if (inside_[b]) {
                if (valueWithout(b) < best) {
                    best = valueWithout(b);
                    next = members_;
                    std::erase(next, static_cast<std::int32_t>(b));
                }
            } else if (profit_[b] > 0.0 && valueWith(b) < best) {
                Column candidate = exchanged(b);
                const double found =
                    candidate.size() == members_.size() + 1 ? valueWith(b) : valueOf(candidate);
                if (!candidate.empty() && found < best) {
                    best = found;
                    next = std::move(candidate);
                }
            }
        }
        if (next.empty())
            return false;
        reset(next);
        return true;
    }

    const PricingBlocks& blocks_;
    std::span<const double> profit_;
    double scale_;
    std::vector<double> reach_; // sum over the members of weight times squared distance
    std::vector<char> inside_;
    std::vector<std::int32_t> order_;
    std::vector<double> merit_;
    Column members_;
    double weight_ = 0.0;
    double gain_ = 0.0;
    double pairs_ = 0.0; // sum over pairs of members of both weights times squared distance
};

// Different sets found so far, cheapest first: descents from many starts end at few sets.
class Harvest {
public:
    Harvest(double threshold, std::size_t limit) : threshold_(threshold), limit_(limit) {}

    void offer(double value, Column members) {
        if (value >= threshold_ || !seen_.insert(members).second)
            return;
        found_.emplace_back(value, std::move(members));
    }

    std::vector<Column> take() {
        std::ranges::sort(found_);
        std::vector<Column> columns;
        for (auto& [value, members] : found_) {
            if (columns.size() == limit_)
                break;
            columns.push_back(std::move(members));
        }
        return columns;
    }

private:
    double threshold_;
    std::size_t limit_;
    std::set<Column> seen_;
    std::vector<std::pair<double, Column>> found_;
};

} // namespace

std::vector<Column> priceLocally(const PricingBlocks& blocks, std::span<const double> profit,
                                 std::span<const Column> starts, double threshold, std::size_t limit,
                                 bool costless) {
    Descent descent(blocks, profit, costless);
    Harvest harvest(threshold, limit);
    double tolerance = 0.0;
    for (const double p : profit)
        tolerance = std::max(tolerance, p);
    tolerance *= 1e-12; // moves that gain only rounding would never end
    for (const auto& start : starts) {
        // A lone block stays in the first set built around it: starts from all blocks reach every region.
        const std::int32_t first = start.size() == 1 ? start.front() : -1;
        if (first >= 0 && !blocks.rules().allow({}, first))
            continue;
        descent.reset(start);
        descent.alternate(first);
        descent.polish(tolerance);
        harvest.offer(descent.value(), descent.members());
    }
    return harvest.take();
}

} // namespace konstrain::exact
