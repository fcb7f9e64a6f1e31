#include "lloyd.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace konstrain::search {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Puts each block into its cheapest cluster at the duals. Blocks with links follow in their order: links
// count against the labels of the moment where `withLinks`. Returns the violation of these labels.
double labelBlocks(Context& context, State& state, bool withLinks) {
    const Problem& problem = context.problem;
    std::vector<double> least(problem.nBlocks);
    std::vector<std::int32_t> cheapest(problem.nBlocks);
    context.work += context.costs.findCheapest(state.duals, least, cheapest);
    if (withLinks)
        for (const std::size_t block : problem.linked)
            cheapest[block] = state.labels[block];
    state.labels.swap(cheapest);
    if (withLinks) {
        const double hard = context.params.hardPenalty * context.meanCost;
        std::vector<double> costs(problem.nClusters);
        for (const std::size_t block : problem.linked) {
            for (std::size_t j = 0; j != problem.nClusters; ++j)
                costs[j] = reducedCost(context, state, block, j);
            forEachLink(problem, block, [&](Link link) {
                costs[state.label(link.to)] += link.isHard() ? hard : link.penalty;
            });
            state.labels[block] = static_cast<std::int32_t>(std::ranges::min_element(costs) - costs.begin());
        }
    }
    recountLoads(problem, state);
    return totalViolation(problem, state);
}

// How far a load is from where its dual wants it: beyond a broken bound, or short of the bound the dual is
// for.
double slackOf(const Problem& problem, const State& state, std::size_t at) {
    const double load = state.load[at], dual = state.duals[at];
    if (load > problem.high[at] || (dual > 0.0 && load >= problem.low[at]))
        return load - problem.high[at];
    if (load < problem.low[at] || dual < 0.0)
        return load - problem.low[at];
    return 0.0;
}

// Factors of RPROP (Riedmiller and Braun 1993), as the paper prints them. Growth times shrinkage is below
// one, so that a dual that swings about its value comes to rest.
constexpr double stepGrowth = 1.2; // fact
constexpr double stepShrink = 0.5; // fact

// Sign steps of all duals at once, as in RPROP: each has a step of its own, which grows while its rule stays
// broken on the same side and shrinks when the side changes.
class DualSteps {
public:
    DualSteps(const Context& context, std::size_t n) : context_(context), step_(n), last_(n) {}

    void begin(bool isFirst) {
        const Params& params = context_.params;
        for (std::size_t at = 0; at != step_.size(); ++at) {
            const double unit = context_.meanCost / context_.problem.unit[at % context_.problem.nRules];
            // A step that shrank at the last centers would take all of its few turns to grow again: it starts
            // from a tenth of the first one at least.
            step_[at] =
                isFirst ? params.firstStep * unit : std::max(step_[at], 0.1 * params.firstStep * unit);
        }
    }

    // Moves each dual by one step; false where all bounds hold with their duals' loads at them.
    bool take(State& state) {
        const Problem& problem = context_.problem;
        bool moved = false;
        for (std::size_t at = 0; at != step_.size(); ++at) {
            const double unit = problem.unit[at % problem.nRules];
            const double slack = slackOf(problem, state, at);
            if (!(std::abs(slack) > sameViolation * unit)) {
                last_[at] *= 0.5;
                continue;
            }
            const bool isBroken = state.load[at] > problem.high[at] || state.load[at] < problem.low[at];
            // A rule that is kept but not tight, although its dual is not zero, only costs optimality: it
            // keeps the steps going when it is off by more than one block and by more than rounding to whole
            // blocks explains, a hundredth of its bound.
            moved |=
                isBroken || (std::abs(slack) > unit && std::abs(slack) > 0.01 * std::abs(problem.high[at]));
            if (slack * last_[at] > 0.0)
                step_[at] *= stepGrowth;
            else if (slack * last_[at] < 0.0)
                step_[at] *= stepShrink;
            last_[at] = slack;
            // Only the sign of a slack counts: loads jump by whole blocks, and their size says little.
            const double before = state.duals[at], after = before + (slack > 0.0 ? step_[at] : -step_[at]);
            // Between two different bounds a dual stops at zero first: perhaps neither binds.
            const bool crosses = before * after < 0.0 && problem.high[at] > problem.low[at];
            state.duals[at] = crosses ? 0.0 : after;
        }
        return moved;
    }

private:
    const Context& context_;
    std::vector<double> step_;
    std::vector<double> last_;
};

// Exact coordinate ascent on the Lagrangian dual: with all other duals fixed, a block is in cluster j up to
// its break-even dual, so the load is a step function of the dual, and the best dual is where it crosses the
// bound it breaks. The dual function is concave but not smooth, so sweeps may stop short of its maximum;
// `DualSteps` and repair go on from there. A sweep is O(n k r) but for the blocks that `updateLeast` compares
// again.
class DualSweep {
public:
    explicit DualSweep(Context& context) : context_(context), problem_(context.problem) {}

    void run(State& state, int nSweeps) {
        const std::size_t n = problem_.nBlocks, k = problem_.nClusters;
        reduced_.resize(n * k);
        elsewhere_.resize(n);
        for (std::size_t j = 0; j != k; ++j)
            context_.costs.addCharges(state.duals, j, 0, n, reduced_.data() + j * n);
        least_.assign(n, {});
        for (std::size_t j = 0; j != k; ++j)
            for (std::size_t block = 0; block != n; ++block)
                least_[block].take(reduced_[j * n + block], j);
        context_.work += 2.0 * static_cast<double>(n * k);
        for (int sweep = 0; sweep != nSweeps; ++sweep) {
            bool changed = false;
            for (std::size_t j = 0; j != k; ++j)
                changed |= setCluster(state, j);
            if (!changed)
                return;
        }
    }

private:
    // The two least reduced costs of a block and their clusters: all that one cluster needs to know of the
    // others.
    struct TwoCheapest {
        double first = infinity, second = infinity;
        std::size_t cluster = 0, next = 0;

        void take(double cost, std::size_t j) {
            if (cost < first) {
                second = first;
                next = cluster;
                first = cost;
                cluster = j;
            } else if (cost < second) {
                second = cost;
                next = j;
            }
        }
    };

    TwoCheapest twoCheapest(std::size_t block) const {
        TwoCheapest least;
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            least.take(reduced_[j * problem_.nBlocks + block], j);
        return least;
    }

    // The reduced costs of a cluster have changed: only blocks that had it among their two cheapest, and that
    // it costs more than the other now, are compared with all clusters again.
    void updateLeast(std::size_t cluster) {
        const std::size_t n = problem_.nBlocks;
        std::size_t nAgain = 0;
        for (std::size_t block = 0; block != n; ++block) {
            TwoCheapest& least = least_[block];
            const double cost = reduced_[cluster * n + block];
            const bool isFirst = least.cluster == cluster;
            if (!isFirst && least.next != cluster) {
                least.take(cost, cluster);
            } else if (isFirst && cost <= least.second) {
                least.first = cost;
            } else if (!isFirst && cost <= least.second) {
                least.second = infinity;
                least.take(cost, cluster);
            } else {
                least = twoCheapest(block);
                ++nAgain;
            }
        }
        context_.work += static_cast<double>(2 * n + nAgain * problem_.nClusters);
    }

    bool setCluster(State& state, std::size_t cluster) {
        const std::size_t n = problem_.nBlocks;
        for (std::size_t block = 0; block != n; ++block)
            elsewhere_[block] = least_[block].cluster == cluster ? least_[block].second : least_[block].first;
        context_.work += static_cast<double>(n);
        bool changed = false;
        for (std::size_t rule = 0; rule != problem_.nRules; ++rule) {
            const std::size_t at = cluster * problem_.nRules + rule;
            const double before = state.duals[at], after = bestDual(before, cluster, rule);
            if (after == before)
                continue;
            changed = true;
            state.duals[at] = after;
            for (std::size_t block = 0; block != n; ++block)
                reduced_[cluster * n + block] += (after - before) * amountsOf(rule)[block];
        }
        if (changed)
            updateLeast(cluster);
        return changed;
    }

    const double* amountsOf(std::size_t rule) const {
        return problem_.amountsByRule.data() + rule * problem_.nBlocks;
    }

    // The dual of one rule at which the cluster's load is within its bounds, nearest to zero: a dual of zero
    // where no bound is broken without it (complementary slackness).
    double bestDual(double dual, std::size_t cluster, std::size_t rule) {
        const std::size_t n = problem_.nBlocks, at = cluster * problem_.nRules + rule;
        const double* amounts = amountsOf(rule);
        const double* reduced = reduced_.data() + cluster * n;
        const double low = problem_.low[at], high = problem_.high[at], unit = problem_.unit[rule];
        double load = 0.0;
        for (std::size_t block = 0; block != n; ++block)
            load += reduced[block] < elsewhere_[block] ? amounts[block] : 0.0;
        context_.work += static_cast<double>(n);
        const bool keeps = load <= high + sameViolation * unit && load >= low - sameViolation * unit;
        if (keeps && (dual == 0.0 || (dual > 0.0 ? high - load : load - low) <= unit))
            return dual;
        // The load falls as the dual rises: every block of this rule leaves, or one of negative amount
        // enters, at its break-even dual. At a dual of zero those with a positive one are inside.
        events_.clear();
        load = 0.0;
        for (std::size_t block = 0; block != n; ++block) {
            const double amount = amounts[block];
            if (amount == 0.0)
                continue;
            const double without = reduced[block] - dual * amount;
            const double breakEven = (elsewhere_[block] - without) / amount;
            load += (breakEven > 0.0) == (amount > 0.0) ? amount : 0.0;
            events_.emplace_back(breakEven, std::abs(amount));
        }
        context_.work += 6.0 * static_cast<double>(n);
        const bool isAbove = load > high;
        const double direction = isAbove ? 1.0 : -1.0;
        double excess = isAbove ? load - high : low - load;
        if (!(excess > sameViolation * unit))
            return 0.0;
        // Break-even duals from zero on towards the bound, nearest first: a heap, as few of them are passed.
        std::erase_if(events_, [isAbove](const auto& event) { return isAbove != (event.first > 0.0); });
        for (auto& event : events_)
            event.first *= direction;
        std::ranges::make_heap(events_, std::greater{});
        double last = 0.0;
        while (!events_.empty() && excess > sameViolation * unit) {
            last = events_.front().first;
            excess -= events_.front().second;
            std::ranges::pop_heap(events_, std::greater{});
            events_.pop_back();
        }
        // Between two break-even duals any value gives the same labels: the middle is farthest from ties.
        // Past the last one a thousandth of a mean cost is
        // enough to break the tie.
        const double beyond = 1e-3 * context_.meanCost / unit;
        return direction * (events_.empty() ? last + beyond : 0.5 * (last + events_.front().first));
    }

    Context& context_;
    const Problem& problem_;
    std::vector<double> reduced_;   // nClusters x nBlocks
    std::vector<double> elsewhere_; // least reduced cost in other clusters
    std::vector<TwoCheapest> least_;
    std::vector<std::pair<double, double>> events_;
};

// Gives each empty cluster the block that costs most where it is: of all single blocks its leaving lowers the
// sum of squares about the present centers most.
void fillEmpty(const Context& context, State& state) {
    const Problem& problem = context.problem;
    if (!problem.nonempty)
        return;
    for (std::size_t cluster = 0; cluster != problem.nClusters; ++cluster) {
        if (state.count[cluster] != 0)
            continue;
        std::size_t found = problem.nBlocks;
        double most = -1.0;
        for (std::size_t block = 0; block != problem.nBlocks; ++block) {
            const double cost = context.costs.at(block, state.label(block));
            if (state.count[state.label(block)] > 1 && cost > most) {
                most = cost;
                found = block;
            }
        }
        if (found == problem.nBlocks)
            return;
        --state.count[state.label(found)];
        ++state.count[cluster];
        state.labels[found] = static_cast<std::int32_t>(cluster);
    }
}

// Labels of least violation within some dual steps at the last centers; of equal ones the cheapest.
void refineDuals(Context& context, State& state, DualSteps& steps, DualSweep& sweep) {
    const Problem& problem = context.problem;
    double least = infinity, cheapest = infinity;
    std::vector<std::int32_t> labels = state.labels;
    std::vector<double> duals = state.duals;
    for (int step = 0; step != context.params.dualSteps && !context.expired(); ++step) {
        double violated = labelBlocks(context, state, true);
        if (2 * step == context.params.dualSteps && least > 0.0) {
            sweep.run(state, context.params.dualSweeps);
            violated = labelBlocks(context, state, true);
        }
        double cost = 0.0;
        for (std::size_t block = 0; block != problem.nBlocks; ++block)
            cost += context.costs.at(block, state.label(block));
        if (violated < least || (violated == least && cost < cheapest)) {
            least = violated;
            cheapest = cost;
            labels = state.labels;
            duals = state.duals;
        }
        if (!steps.take(state))
            break;
    }
    state.labels = std::move(labels);
    state.duals = std::move(duals);
}

// The Lagrangian at the duals, with labels and loads at its minimum. It bounds the cost of all feasible
// labels from below: their reduced costs, which sum to the least ones at least, are their cost plus duals
// times loads, and a dual times a load is at most the dual times the bound that is taken: the upper one of a
// positive dual, the lower one of a negative one. A dual of a bound that does not exist is zero.
double lagrangian(Context& context, State& state) {
    const Problem& problem = context.problem;
    double sum = 0.0;
    for (std::size_t at = 0; at != state.duals.size(); ++at) {
        const double bound = state.duals[at] > 0.0 ? problem.high[at] : problem.low[at];
        state.duals[at] = std::isfinite(bound) ? state.duals[at] : 0.0;
        if (state.duals[at] != 0.0)
            sum -= state.duals[at] * bound;
    }
    std::vector<double> least(problem.nBlocks);
    context.costs.findCheapest(state.duals, least, state.labels);
    for (const double cost : least)
        sum += cost;
    recountLoads(problem, state);
    return sum;
}

double movement(std::span<const double> before, std::span<const double> after) {
    return squaredDistance(before.data(), after.data(), before.size());
}

} // namespace

double reducedCost(const Context& context, const State& state, std::size_t block, std::size_t cluster) {
    const Problem& problem = context.problem;
    const double* amount = problem.amount(block);
    const double* duals = state.duals.data() + cluster * problem.nRules;
    double cost = context.costs.at(block, cluster);
    for (std::size_t rule = 0; rule != problem.nRules; ++rule)
        cost += duals[rule] * amount[rule];
    return cost;
}

void keepCheapest(std::vector<Candidate>& candidates, std::size_t n) {
    const auto end = candidates.begin() + static_cast<std::ptrdiff_t>(std::min(n, candidates.size()));
    std::partial_sort(candidates.begin(), end, candidates.end());
    candidates.erase(end, candidates.end());
}

void rankCandidates(const Context& context, const State& state, const std::vector<std::size_t>& members,
                    std::size_t from, std::size_t to, std::size_t n, std::vector<Candidate>& candidates) {
    const Problem& problem = context.problem;
    candidates.clear();
    for (const std::size_t block : members) {
        if (state.label(block) != from)
            continue;
        double soft = 0.0;
        if (problem.isLinked(block))
            soft = linkCost(problem, state, block, to).soft - linkCost(problem, state, block, from).soft;
        const double cost = context.costs.at(block, to) - context.costs.at(block, from) + soft;
        const double charge =
            reducedCost(context, state, block, to) - reducedCost(context, state, block, from);
        candidates.push_back({charge + soft, cost, block});
    }
    keepCheapest(candidates, n);
}

double lagrangianBound(Context& context, State state, double cost) {
    const Problem& problem = context.problem;
    context.work += context.costs.refresh(state.centers);
    const std::vector<double> last = state.duals;
    // Without duals the bound is the sum of least costs; duals of other centers may be worse than that.
    double best = lagrangian(context, state);
    std::ranges::fill(state.duals, 0.0);
    const double plain = lagrangian(context, state);
    if (best > plain) {
        state.duals = last;
        lagrangian(context, state);
    }
    best = std::max(best, plain);
    // Polyak's steps along the subgradient, the slack of each bound in the unit of its rule. The step towards
    // the cost of the labels is halved when the bound stops rising.
    double share = 1.0;
    int nWithoutGain = 0;
    std::vector<double> slack(state.duals.size());
    for (int step = 0; step != context.params.boundSteps && best < cost; ++step) {
        double length = 0.0;
        for (std::size_t at = 0; at != slack.size(); ++at) {
            slack[at] = slackOf(problem, state, at);
            if (!std::isfinite(slack[at]))
                slack[at] = 0.0;
            length += (slack[at] / problem.unit[at % problem.nRules]) *
                      (slack[at] / problem.unit[at % problem.nRules]);
        }
        if (!(length > 0.0))
            break;
        const double factor = share * (cost - best) / length;
        for (std::size_t at = 0; at != slack.size(); ++at) {
            const double unit = problem.unit[at % problem.nRules];
            const double before = state.duals[at], after = before + factor * slack[at] / (unit * unit);
            state.duals[at] = before * after < 0.0 && problem.high[at] > problem.low[at] ? 0.0 : after;
        }
        const double bound = lagrangian(context, state);
        nWithoutGain = bound > best ? 0 : nWithoutGain + 1;
        if (nWithoutGain == 3) {
            share *= 0.5;
            nWithoutGain = 0;
        }
        best = std::max(best, bound);
    }
    return best;
}

int lloyd(Context& context, State& state, const LoopLimits& limits) {
    const Problem& problem = context.problem;
    const Params& params = context.params;
    const bool priced = limits.priced && problem.nRules != 0;
    DualSteps steps(context, state.duals.size());
    DualSweep sweep(context);
    std::vector<std::int32_t> previous;
    std::vector<double> centers;
    int iteration = 0;
    const int most = std::min(params.maxIterations, limits.maxIterations);
    while (iteration != most) {
        const bool isFirst = iteration++ == 0;
        context.work += context.costs.refresh(state.centers);
        if (isFirst && context.meanCost == 0.0) {
            std::vector<double> least(problem.nBlocks);
            const std::vector<double> none(state.duals.size());
            context.costs.findCheapest(none, least, state.labels);
            double total = 0.0;
            for (const double cost : least)
                total += cost;
            context.meanCost = std::max(total / static_cast<double>(problem.nBlocks), 1e-300);
        }
        previous = state.labels;
        centers = state.centers;
        if (priced && isFirst)
            sweep.run(state, params.dualSweeps);
        steps.begin(isFirst);
        const int nSteps = isFirst ? params.dualSteps : params.laterDualSteps;
        for (int step = 1;; ++step) {
            const double violated = labelBlocks(context, state, !isFirst || step > 1);
            if (!priced)
                break;
            if (step == nSteps) {
                if (violated > 0.0) {
                    sweep.run(state, 1);
                    labelBlocks(context, state, true);
                }
                break;
            }
            if (!steps.take(state))
                break;
        }
        fillEmpty(context, state);
        recount(problem, state);
        std::size_t nChanged = 0;
        for (std::size_t block = 0; block != problem.nBlocks; ++block)
            nChanged += previous[block] != state.labels[block];
        const bool hasConverged =
            static_cast<double>(nChanged) < params.convergedShare * static_cast<double>(problem.nBlocks);
        if (!isFirst && (nChanged == 0 || (iteration > 3 && hasConverged)))
            break;
        if (movement(centers, state.centers) <= limits.tolerance || context.expired())
            break;
        if (iteration == 5 && std::isfinite(limits.best) &&
            objective(problem, state) > (1.0 + params.hopeless) * limits.best)
            return 0;
    }
    context.work += context.costs.refresh(state.centers);
    if (priced)
        refineDuals(context, state, steps, sweep);
    else
        labelBlocks(context, state, true);
    recountLoads(problem, state);
    fillEmpty(context, state);
    recount(problem, state);
    return iteration;
}

} // namespace konstrain::search
