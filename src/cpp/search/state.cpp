#include "state.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace konstrain::search {

State::State(const Problem& problem)
    : labels(problem.nBlocks), centers(problem.nClusters * problem.nFeatures), weight(problem.nClusters),
      length(problem.hasUnitCenters ? problem.nClusters : 0), load(problem.nClusters * problem.nRules),
      count(problem.nClusters), duals(problem.nClusters * problem.nRules),
      stable(problem.nClusters * problem.nFeatures, std::numeric_limits<double>::quiet_NaN()) {}

void recountLoads(const Problem& problem, State& state) {
    std::ranges::fill(state.load, 0.0);
    std::ranges::fill(state.count, 0);
    for (std::size_t block = 0; block != problem.nBlocks; ++block) {
        const std::size_t cluster = state.label(block);
        ++state.count[cluster];
        const double* amount = problem.amount(block);
        for (std::size_t rule = 0; rule != problem.nRules; ++rule)
            state.load[cluster * problem.nRules + rule] += amount[rule];
    }
}

void placeCenter(const Problem& problem, State& state, std::size_t cluster, std::span<const double> sum,
                 double weight) {
    double divisor = weight;
    if (problem.hasUnitCenters && weight > 0.0) {
        double square = 0.0;
        for (const double value : sum)
            square += (value / weight) * (value / weight);
        divisor = std::sqrt(square) > termRounding ? weight * std::sqrt(square) : 0.0;
    }
    if (problem.hasUnitCenters)
        state.length[cluster] = divisor;
    if (!(divisor > 0.0))
        return;
    double* center = state.center(cluster, problem);
    for (std::size_t t = 0; t != problem.nFeatures; ++t)
        center[t] = sum[t] / divisor;
}

void recount(const Problem& problem, State& state) {
    recountLoads(problem, state);
    std::ranges::fill(state.weight, 0.0);
    std::vector<double> sums(state.centers.size());
    for (std::size_t block = 0; block != problem.nBlocks; ++block) {
        const std::size_t cluster = state.label(block);
        const double weight = problem.weight[block];
        state.weight[cluster] += weight;
        const double* mean = problem.mean(block);
        double* sum = sums.data() + cluster * problem.nFeatures;
        for (std::size_t t = 0; t != problem.nFeatures; ++t)
            sum[t] += weight * mean[t];
    }
    for (std::size_t cluster = 0; cluster != problem.nClusters; ++cluster)
        placeCenter(problem, state, cluster,
                    std::span(sums).subspan(cluster * problem.nFeatures, problem.nFeatures),
                    state.weight[cluster]);
}

void moveBlock(const Problem& problem, State& state, std::size_t block, std::size_t to) {
    const std::size_t from = state.label(block);
    const double weight = problem.weight[block];
    const double* mean = problem.mean(block);
    const double* amount = problem.amount(block);
    const auto shift = [&](std::size_t cluster, double sign) {
        const double before = state.weight[cluster];
        double after = before + sign * weight;
        if (after <= termRounding * before)
            after = 0.0;
        state.weight[cluster] = after;
        state.count[cluster] += sign > 0 ? 1 : -1;
        for (std::size_t rule = 0; rule != problem.nRules; ++rule)
            state.load[cluster * problem.nRules + rule] += sign * amount[rule];
        double* center = state.center(cluster, problem);
        if (problem.hasUnitCenters) {
            std::vector<double> sum(problem.nFeatures);
            for (std::size_t t = 0; t != problem.nFeatures && after > 0.0; ++t)
                sum[t] = state.length[cluster] * center[t] + sign * weight * mean[t];
            placeCenter(problem, state, cluster, sum, after);
            return;
        }
        if (!(after > 0.0))
            return;
        const double pull = sign * weight / after;
        for (std::size_t t = 0; t != problem.nFeatures; ++t)
            center[t] += pull * (mean[t] - center[t]);
    };
    shift(from, -1.0);
    shift(to, 1.0);
    state.labels[block] = static_cast<std::int32_t>(to);
}

void listMembers(const Problem& problem, const State& state, std::vector<std::vector<std::size_t>>& members) {
    members.resize(problem.nClusters);
    for (auto& list : members)
        list.clear();
    for (std::size_t block = 0; block != problem.nBlocks; ++block)
        members[state.label(block)].push_back(block);
}

LinkCost linkCost(const Problem& problem, const State& state, std::size_t block, std::size_t cluster) {
    LinkCost cost;
    forEachLink(problem, block, [&](Link link) {
        if (state.label(link.to) != cluster)
            return;
        if (link.isHard())
            cost.hard += 1.0;
        else
            cost.soft += link.penalty;
    });
    return cost;
}

LinkCost swapLinks(const Problem& problem, const State& state, std::size_t first, std::size_t second) {
    const std::size_t a = state.label(first), b = state.label(second);
    const LinkCost in = linkCost(problem, state, first, b), out = linkCost(problem, state, first, a);
    const LinkCost back = linkCost(problem, state, second, a), left = linkCost(problem, state, second, b);
    LinkCost change{in.soft - out.soft + back.soft - left.soft, in.hard - out.hard + back.hard - left.hard};
    // A link between the two was counted as if the other end stayed: it is as broken after the swap as
    // before.
    forEachLink(problem, first, [&](Link link) {
        if (link.to != second)
            return;
        if (link.isHard())
            change.hard -= 2.0;
        else
            change.soft -= 2.0 * link.penalty;
    });
    return change;
}

LinkCost allLinkCosts(const Problem& problem, const State& state) {
    LinkCost total;
    for (std::size_t block = 0; block != problem.nBlocks && problem.hasLinks(); ++block)
        forEachLink(problem, block, [&](Link link) {
            const bool together = state.label(block) == state.label(link.to);
            if (link.isHard())
                total.hard += together ? 0.5 : 0.0;
            else if (together == (link.penalty > 0.0))
                total.soft += 0.5 * std::abs(link.penalty);
        });
    return total;
}

double totalViolation(const Problem& problem, const State& state) {
    double total = allLinkCosts(problem, state).hard;
    for (std::size_t cluster = 0; cluster != problem.nClusters; ++cluster)
        total += violation(problem, state, cluster);
    return total;
}

bool isFeasible(const Problem& problem, const State& state) {
    State fresh;
    fresh.labels = state.labels;
    fresh.load.resize(state.load.size());
    fresh.count.resize(state.count.size());
    recountLoads(problem, fresh);
    for (std::size_t at = 0; at != fresh.load.size(); ++at)
        if (fresh.load[at] < problem.low[at] || fresh.load[at] > problem.high[at])
            return false;
    const bool filled = !problem.nonempty || std::ranges::all_of(fresh.count, [](auto n) { return n > 0; });
    return filled && allLinkCosts(problem, fresh).hard == 0.0;
}

double objective(const Problem& problem, const State& state) {
    double sum = 0.0;
    for (std::size_t block = 0; block != problem.nBlocks; ++block) {
        const std::size_t own = state.label(block);
        sum += problem.weight[block] *
               squaredDistance(problem.mean(block), state.center(own, problem), problem.nFeatures);
        sum += problem.moveCost(block, own);
    }
    return sum + allLinkCosts(problem, state).soft;
}

void Exchange::start(std::size_t cluster) {
    cluster_ = cluster;
    weight_ = square_ = 0.0;
    moment_.assign(problem_.nFeatures, 0.0);
}

void Exchange::add(std::size_t block, double sign) {
    const double weight = sign * problem_.weight[block];
    const double* mean = problem_.mean(block);
    const double* center = state_.center(cluster_, problem_);
    double square = 0.0;
    for (std::size_t t = 0; t != problem_.nFeatures; ++t) {
        const double away = mean[t] - center[t];
        moment_[t] += weight * away;
        square += away * away;
    }
    weight_ += weight;
    square_ += weight * square;
}

double Exchange::change() const {
    const double before = state_.weight[cluster_], after = before + weight_;
    // A cluster without weight has no mean of its own: what enters it sets the mean.
    if (!(after > termRounding * before))
        return square_;
    // Of weights far from one the squares are lost: where there are roots to take, shares of all weight
    // count.
    const double unit = problem_.hasUnitCenters ? after : 1.0;
    double length = 0.0;
    for (const double part : moment_)
        length += (part / unit) * (part / unit);
    if (!problem_.hasUnitCenters)
        return square_ - length / after;
    const double along =
        std::inner_product(moment_.begin(), moment_.end(), state_.center(cluster_, problem_), 0.0) / after;
    const double across = std::max(0.0, length - along * along);
    return square_ - 2.0 * after * excessOf((state_.length[cluster_] + weight_) / after + along, across);
}

} // namespace konstrain::search
