#include "search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "anneal.h"
#include "contiguity.h"
#include "polish.h"
#include "repair.h"
#include "repair_params.h"

namespace konstrain::search {

namespace {

// Adds what passes over all blocks need: amounts by rule, as such passes take one rule at a time and then
// read memory in order; blocks with links, which are often few. 1 - |mean|^2 where centers have length one.
Problem withPasses(Problem problem) {
    problem.amountsByRule.resize(problem.amounts.size());
    for (std::size_t block = 0; block != problem.nBlocks; ++block) {
        for (std::size_t rule = 0; rule != problem.nRules; ++rule)
            problem.amountsByRule[rule * problem.nBlocks + block] = problem.amount(block)[rule];
        if (problem.isLinked(block))
            problem.linked.push_back(block);
        if (problem.hasUnitCenters) {
            const std::span mean(problem.mean(block), problem.nFeatures);
            problem.shortfall.push_back(1.0 -
                                        std::inner_product(mean.begin(), mean.end(), mean.begin(), 0.0));
        }
    }
    return problem;
}

} // namespace

Search::Search(Problem problem, regions::Graph graph, std::uint64_t seed)
    : problem_(withPasses(std::move(problem))), graph_(std::move(graph)),
      context_{problem_, {}, Costs(problem_), 0.0, 0.0, false, [] { return false; }}, random_(seed), best_(problem_) {
    for (std::size_t at = problem_.nRules; at < problem_.low.size(); ++at)
        boundsDiffer_ |= problem_.low[at] != problem_.low[at - problem_.nRules] ||
                         problem_.high[at] != problem_.high[at - problem_.nRules];
}

void Search::begin(const RunLimits& limits) {
    context_.expired = [&limits] {
        if (limits.poll)
            limits.poll();
        return isPast(limits.deadline);
    };
}

void Search::runFrom(std::span<const double> centers, bool priced, const RunLimits& limits) {
    State state(problem_);
    std::ranges::copy(centers, state.centers.begin());
    run(state, priced, limits);
}

// Random swap (Fraenti 2018): one center of the best clustering moves to another block, and a full run
// decides whether that pays. Runs from fresh centers forget what the best one has right; local moves never
// carry a center across the gap between two groups.
void Search::relocate(bool priced, const RunLimits& limits) {
    State state = best_;
    if (boundsDiffer_ && drawBelow(2, random_) == 0)
        exchangeBounds(state);
    else
        moveCenter(state);
    run(state, priced, limits);
}

// Where clusters have bounds of their own, which center has which bounds is part of the search.
void Search::exchangeBounds(State& state) {
    const std::size_t a = drawBelow(problem_.nClusters, random_), b = drawBelow(problem_.nClusters, random_);
    // With the centers their labels change places (a + b - label), so that each block stays where it is and
    // only the bounds around it are others.
    std::swap_ranges(state.center(a, problem_), state.center(a, problem_) + problem_.nFeatures,
                     state.center(b, problem_));
    for (auto& label : state.labels)
        if (label == static_cast<std::int32_t>(a) || label == static_cast<std::int32_t>(b))
            label = static_cast<std::int32_t>(a + b) - label;
}

void Search::moveCenter(State& state) {
    context_.work += context_.costs.refresh(state.centers);
    const std::size_t cluster = drawBelow(problem_.nClusters, random_), block = drawBlock(state);
    placeCenter(problem_, state, cluster, {problem_.mean(block), problem_.nFeatures}, 1.0);
    // The duals of the cluster priced its old place.
    std::fill_n(state.duals.begin() + static_cast<std::ptrdiff_t>(cluster * problem_.nRules), problem_.nRules,
                0.0);
}

// A block drawn with probability in proportion to its cost, as in k-means++ (Arthur and Vassilvitskii 2007):
// blocks far from all centers are where one is missing. Rounding may draw just beyond the last sum.
std::size_t Search::drawBlock(const State& state) {
    std::vector<double> upTo(problem_.nBlocks);
    double total = 0.0;
    for (std::size_t block = 0; block != problem_.nBlocks; ++block)
        upTo[block] = total += context_.costs.at(block, state.label(block));
    context_.work += static_cast<double>(problem_.nBlocks);
    const auto at = std::ranges::lower_bound(upTo, drawUnit(random_) * total);
    return std::min(static_cast<std::size_t>(at - upTo.begin()), problem_.nBlocks - 1);
}

void Search::improve(std::span<const std::int32_t> labels, const RunLimits& limits) {
    begin(limits);
    State state = best_;
    std::ranges::copy(labels, state.labels.begin());
    recount(problem_, state);
    finish(state, 0, limits);
}

void Search::run(State& state, bool priced, const RunLimits& limits) {
    begin(limits);
    const double best = isFeasible() ? cost_ : std::numeric_limits<double>::infinity();
    const int nIterations = lloyd(context_, state, {limits.maxIterations, limits.tolerance, priced, best});
    if (nIterations == 0)
        return;
    // Repair and polish take most of the time of a run, and rarely win back as much as this.
    if (isFeasible() && objective(problem_, state) > (1.0 + context_.params.hopeless) * cost_)
        return;
    finish(state, nIterations, limits);
}

void Search::finish(State& state, int nIterations, const RunLimits& limits) {
    double left = totalViolation(problem_, state);
    if (left > 0.0)
        left = repair(context_, state, random_);
    const int nPasses = std::clamp(limits.maxIterations - nIterations, 0, repairParams.maxPasses);
    // Polish never raises a violation, and its moves may make way for a repair that failed before.
    const int nMade = polish(context_, state, nPasses);
    if (left > 0.0)
        left = repair(context_, state, random_);
    if (keep(state, left)) {
        nIterations_ = nIterations + nMade;
        hasConverged_ = nIterations_ < limits.maxIterations && !context_.expired();
    }
}

void Search::anneal(std::span<const std::int32_t> labels, std::int64_t nSteps, const RunLimits& limits) {
    begin(limits);
    State state = best_;
    std::ranges::copy(labels, state.labels.begin());
    const auto violationInPieces = [&] {
        regions::Contiguity contiguity(graph_, problem_.nClusters);
        contiguity.assign(state.labels);
        return totalViolation(problem_, state) + static_cast<double>(contiguity.nExcess());
    };
    try {
        regions::anneal(context_, graph_, state, random_, nSteps, priceFactor_);
    } catch (...) {
        // An interrupt loses no labels that are better.
        keep(state, violationInPieces());
        throw;
    }
    const double left = violationInPieces();
    if (left > 0.0)
        priceFactor_ =
            priceFactor_ < 200.0 ? 4.0 * priceFactor_ : 1.0; // violations were cheap enough to end with
    keep(state, left);
}

// Takes a state that is better than the best so far; returns whether it is. Less violation comes first, then
// cost, so that the best state is feasible from the first feasible one on.
bool Search::keep(State& state, double left) {
    // Loads were updated move by move; what counts is their sum. Labels that rounding alone called feasible
    // rank right behind those that are.
    if (left == 0.0 && !search::isFeasible(problem_, state))
        left = std::numeric_limits<double>::min();
    const double cost = objective(problem_, state);
    if (!(left < violation_ || (left == violation_ && cost < cost_)))
        return false;
    violation_ = left;
    cost_ = cost;
    best_ = std::move(state);
    context_.hasFeasible = isFeasible();
    return true;
}

} // namespace konstrain::search
