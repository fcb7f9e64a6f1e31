#include "rule_repair.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "infinity.h"
#include "median_gap.h"
#include "repair_params.h"
#include "tolerances.h"

namespace konstrain::priced {

namespace {

struct Params {
    // Cost of any move in addition to its reduced cost, in mean gaps; larger: fewer moves, each with more
    // effect.
    double moveCost = 1e-2;
};
constexpr Params params;

} // namespace

RuleRepair::RuleRepair(const RepairProblem& problem, std::span<std::int32_t> labels)
    : problem_(problem), labels_(labels), members_(problem.nClusters), nothing_(problem.nRules),
      together_(problem.nRules) {}

bool RuleRepair::run(TimePoint deadline) {
    const std::size_t all = problem_.movable.size();
    const std::size_t few = std::min(all, sampleRows);
    for (const std::size_t most : {few, all}) {
        choose(most);
        if (repair(deadline)) {
            polish(deadline);
            return true;
        }
        if (few == all)
            break;
    }
    return false;
}

// Takes the rows that lose least by another cluster, at most `most`.
void RuleRepair::choose(std::size_t most) {
    const std::size_t k = problem_.nClusters;
    std::vector<double> reduced(problem_.movable.size() * k);
    std::vector<std::pair<double, std::size_t>> gaps;
    for (std::size_t m = 0; m != problem_.movable.size(); ++m) {
        const auto row = static_cast<std::size_t>(problem_.movable[m]);
        double* priced = reduced.data() + m * k;
        std::copy_n(problem_.cost(row), k, priced);
        for (std::size_t j = 0; j != k; ++j)
            for (std::size_t r = 0; r != problem_.nRules; ++r)
                priced[j] += problem_.duals[j * problem_.nRules + r] * problem_.amount(row)[r];
        const auto home = static_cast<std::size_t>(labels_[row]);
        double least = infinity;
        for (std::size_t j = 0; j != k; ++j)
            if (j != home)
                least = std::min(least, priced[j] - priced[home]);
        gaps.emplace_back(least, m);
    }
    if (most < gaps.size()) {
        std::ranges::nth_element(gaps, gaps.begin() + static_cast<std::ptrdiff_t>(most));
        gaps.resize(most);
    }
    std::ranges::sort(gaps, {}, &std::pair<double, std::size_t>::second);
    movers_.clear();
    reduced_.clear();
    double sum = 0.0;
    for (const auto& [gap, m] : gaps) {
        movers_.push_back({static_cast<std::size_t>(problem_.movable[m])});
        const auto first = reduced.begin() + static_cast<std::ptrdiff_t>(m * k);
        reduced_.insert(reduced_.end(), first, first + static_cast<std::ptrdiff_t>(k));
        sum += gap < infinity ? std::abs(gap) : 0.0;
    }
    leastCost_ = params.moveCost * sum / static_cast<double>(std::max<std::size_t>(1, movers_.size()));
    sumUp();
}

void RuleRepair::sumUp() {
    values_.assign(problem_.nClusters * problem_.nRules, 0.0);
    for (std::size_t row = 0; row != labels_.size(); ++row)
        for (std::size_t r = 0; r != problem_.nRules; ++r)
            values_[static_cast<std::size_t>(labels_[row]) * problem_.nRules + r] += problem_.amount(row)[r];
    violation_.resize(problem_.nClusters);
    for (std::size_t j = 0; j != problem_.nClusters; ++j)
        violation_[j] = violationWith(j, nothing_.data(), nothing_.data());
    total_ = std::accumulate(violation_.begin(), violation_.end(), 0.0);
}

double RuleRepair::violationWith(std::size_t cluster, const double* in, const double* out) const {
    const std::size_t first = cluster * problem_.nRules;
    double total = 0.0;
    for (std::size_t r = 0; r != problem_.nRules; ++r) {
        const double value = values_[first + r] + in[r] - out[r];
        const double missed = std::max(problem_.low[first + r] - value, value - problem_.high[first + r]);
        total += missed > tolerances::bound ? missed : 0.0;
    }
    return total;
}

double RuleRepair::changeOf(std::size_t from, std::size_t to, const double* going,
                            const double* coming) const {
    return violationWith(from, coming, going) + violationWith(to, going, coming) - violation_[from] -
           violation_[to];
}

void RuleRepair::move(std::size_t mover, std::size_t to) {
    const std::size_t from = label(mover);
    for (std::size_t r = 0; r != problem_.nRules; ++r) {
        values_[from * problem_.nRules + r] -= amount(mover)[r];
        values_[to * problem_.nRules + r] += amount(mover)[r];
    }
    labels_[movers_[mover].row] = static_cast<std::int32_t>(to);
    for (const std::size_t j : {from, to})
        violation_[j] = violationWith(j, nothing_.data(), nothing_.data());
    total_ = std::accumulate(violation_.begin(), violation_.end(), 0.0);
}

void RuleRepair::apply(const MoverPair& pair) {
    const std::size_t back = label(pair.first);
    move(pair.first, pair.to);
    move(pair.second, pair.isExchange ? back : pair.to);
}

// Every move or pair lowers the total violation, so those steps alone must end; random moves may raise it and
// are counted. Finding labels that keep several rules is NP-hard (multi-dimensional knapsack): no success is
// no proof that there are none.
bool RuleRepair::repair(TimePoint deadline) {
    nKicks_ = 0;
    const std::size_t mostSteps = 100 + movers_.size();
    for (step_ = 0; total_ > 0.0 && step_ != mostSteps && !isPast(deadline); ++step_) {
        if (moveSome() || movePair())
            continue;
        if (++nKicks_ > repairParams.maxKicks)
            return false;
        kick();
    }
    return total_ == 0.0;
}

// Makes the moves of least cost per unit of violation, each looked at again, until part of it is gone.
bool RuleRepair::moveSome() {
    std::vector<RowMove> found;
    const auto scoreOf = [&](std::size_t m, std::size_t to) {
        const double gain = -changeOf(label(m), to, amount(m), nothing_.data());
        return gain > tolerances::bound ? (std::max(reducedRise(m, to), 0.0) + leastCost_) / gain : infinity;
    };
    for (std::size_t m = 0; m != movers_.size(); ++m) {
        if (movers_[m].restsUntil > step_)
            continue;
        for (std::size_t to = 0; to != problem_.nClusters; ++to)
            if (to != label(m) && (violation_[to] > 0.0 || violation_[label(m)] > 0.0))
                if (const double score = scoreOf(m, to); score < infinity)
                    found.push_back({score, m, to});
    }
    std::ranges::sort(found, [](const RowMove& a, const RowMove& b) {
        return a.score != b.score ? a.score < b.score : a.mover < b.mover;
    });
    const double enough = (1.0 - repairParams.shareOfRound) * total_;
    for (const RowMove& next : found) {
        // Earlier moves may have changed the score: one that got worse by as much waits for the next
        // collection.
        if (label(next.mover) != next.to &&
            scoreOf(next.mover, next.to) * (1.0 - repairParams.shareOfRound) <= next.score)
            move(next.mover, next.to);
        if (total_ <= enough)
            break;
    }
    return !found.empty();
}

void RuleRepair::listMembers() {
    for (auto& members : members_)
        members.clear();
    for (std::size_t m = 0; m != movers_.size(); ++m)
        if (movers_[m].restsUntil <= step_)
            members_[label(m)].push_back(m);
}

std::vector<std::size_t> RuleRepair::nearest(std::size_t from, std::size_t to) const {
    std::vector<std::pair<double, std::size_t>> order;
    for (const std::size_t m : members_[from])
        if (label(m) == from)
            order.emplace_back(reducedRise(m, to), m);
    const std::size_t n = std::min(repairParams.candidates, order.size());
    std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(n));
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i != n; ++i)
        first.push_back(order[i].second);
    return first;
}

// Pairs reach what no single move does: with integral amounts every single move may overshoot a bound that an
// exchange keeps. O(candidates^2) per pair of clusters, over the rows that lose least by the move.
// The two rows of least score that change places between two clusters, or go the same way. `score` is given
// the rise in reduced cost, the rise in cost and the change of the violation.
template <typename Score>
RuleRepair::MoverPair RuleRepair::bestPair(std::size_t a, std::size_t b, const Score& score) {
    const std::vector<std::size_t> sides[2] = {nearest(a, b), nearest(b, a)};
    MoverPair best{infinity, 0, 0, 0, false};
    for (const std::size_t x : sides[0])
        for (const std::size_t y : sides[1]) {
            const double value = score(reducedRise(x, b) + reducedRise(y, a), costRise(x, b) + costRise(y, a),
                                       [&] { return changeOf(a, b, amount(x), amount(y)); });
            if (value < best.score)
                best = {value, x, y, b, true};
        }
    for (const std::size_t side : {0u, 1u}) {
        const std::size_t from = side == 0 ? a : b;
        const std::size_t to = side == 0 ? b : a;
        const std::size_t n = sides[side].size();
        for (std::size_t i = 0; i != n; ++i)
            for (std::size_t l = i + 1; l < n; ++l) {
                const std::size_t x = sides[side][i];
                const std::size_t y = sides[side][l];
                const double value =
                    score(reducedRise(x, to) + reducedRise(y, to), costRise(x, to) + costRise(y, to), [&] {
                        std::transform(amount(x), amount(x) + problem_.nRules, amount(y), together_.begin(),
                                       std::plus<>());
                        return changeOf(from, to, together_.data(), nothing_.data());
                    });
                if (value < best.score)
                    best = {value, x, y, to, false};
            }
    }
    return best;
}

bool RuleRepair::movePair() {
    listMembers();
    MoverPair best{infinity, 0, 0, 0, false};
    for (std::size_t a = 0; a != problem_.nClusters; ++a)
        for (std::size_t b = a + 1; b != problem_.nClusters; ++b) {
            if (violation_[a] == 0.0 && violation_[b] == 0.0)
                continue;
            const MoverPair found = bestPair(a, b, [&](double rise, double, const auto& change) {
                const double gain = -change();
                return gain > tolerances::bound ? (std::max(rise, 0.0) + leastCost_) / gain : infinity;
            });
            if (found.score < best.score)
                best = found;
        }
    if (best.score < infinity)
        apply(best);
    return best.score < infinity;
}

// Moves a few of the cheapest rows into or out of a violated cluster.
void RuleRepair::kick() {
    std::vector<std::size_t> violated;
    for (std::size_t j = 0; j != problem_.nClusters; ++j)
        if (violation_[j] > 0.0)
            violated.push_back(j);
    const std::size_t cluster = violated[drawBelow(violated.size(), random_)];
    const std::size_t n = 1 + drawBelow(2, random_) + nKicks_ / 10;
    for (std::size_t i = 0; i != n; ++i) {
        const bool isTaken = drawBelow(2, random_) == 0;
        std::vector<RowMove> cheapest;
        for (std::size_t m = 0; m != movers_.size(); ++m)
            if ((label(m) == cluster) != isTaken)
                for (std::size_t to = 0; to != problem_.nClusters; ++to)
                    if (to != label(m) && (!isTaken || to == cluster))
                        cheapest.push_back({reducedRise(m, to), m, to});
        if (cheapest.empty())
            continue;
        const std::size_t among = std::min(repairParams.candidates, cheapest.size());
        std::ranges::partial_sort(cheapest, cheapest.begin() + static_cast<std::ptrdiff_t>(among), {},
                                  &RowMove::score);
        const RowMove& drawn = cheapest[drawBelow(among, random_)];
        movers_[drawn.mover].restsUntil = step_ + repairParams.restAfterKick;
        move(drawn.mover, drawn.to);
    }
}

void RuleRepair::polish(TimePoint deadline) {
    step_ += repairParams.restAfterKick;
    isTouched_.assign(problem_.nClusters, 1);
    for (int pass = 0; pass != repairParams.maxPasses && !isPast(deadline); ++pass) {
        const bool isMoved = polishMoves();
        if (!polishPairs() && !isMoved)
            break;
    }
}

// Sends each row to where it costs least, rules kept.
bool RuleRepair::polishMoves() {
    bool improved = false;
    for (std::size_t m = 0; m != movers_.size(); ++m) {
        const std::size_t from = label(m);
        double least = -tolerances::bound * leastCost_;
        std::size_t best = from;
        for (std::size_t to = 0; to != problem_.nClusters; ++to)
            if (to != from && (isTouched_[to] != 0 || isTouched_[from] != 0) && costRise(m, to) < least &&
                changeOf(from, to, amount(m), nothing_.data()) <= 0.0) {
                least = costRise(m, to);
                best = to;
            }
        if (best == from)
            continue;
        move(m, best);
        isTouched_[from] = isTouched_[best] = 1;
        improved = true;
    }
    return improved;
}

// For each pair of clusters makes the exchange, or the two moves the same way, that save most, rules kept.
bool RuleRepair::polishPairs() {
    listMembers();
    std::vector<std::uint8_t> isTouched(problem_.nClusters, 0);
    bool improved = false;
    for (std::size_t a = 0; a != problem_.nClusters; ++a)
        for (std::size_t b = a + 1; b != problem_.nClusters; ++b) {
            if (isTouched_[a] == 0 && isTouched_[b] == 0 && isTouched[a] == 0 && isTouched[b] == 0)
                continue;
            double least = -tolerances::bound * leastCost_;
            const MoverPair found = bestPair(a, b, [&](double, double rise, const auto& change) {
                if (rise >= least || change() > 0.0)
                    return infinity;
                least = rise;
                return rise;
            });
            if (found.score == infinity)
                continue;
            apply(found);
            // The lists of members are those before the pass: rows that moved are left out of them.
            isTouched[a] = isTouched[b] = 1;
            improved = true;
        }
    isTouched_ = std::move(isTouched);
    return improved;
}

} // namespace konstrain::priced
