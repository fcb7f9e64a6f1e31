#include "repair.h"

#include <algorithm>
#include <utility>

#include "infinity.h"
#include "median_gap.h"
#include "repair_params.h"
#include "tolerances.h"

namespace konstrain::search {

namespace {

// Greedy descent in the total violation. Each move and each exchange is rated against the loads of the moment
// and lowers the violation by more than `sameViolation`, so no labels come twice without a random move, and
// of these there are `maxKicks`: it ends by itself. The limit on rounds is for gains that are tiny, one by
// one.
class Repair {
public:
    Repair(Context& context, State& state, Random& random)
        : context_(context), problem_(context.problem), state_(state), random_(random),
          violated_(problem_.nClusters) {}

    double run() {
        context_.work += context_.costs.refresh(state_.centers);
        double left = totalViolation(problem_, state_);
        const std::size_t maxRounds = problem_.nBlocks + 100;
        for (std::size_t round = 0; round != maxRounds && left > 0.0 && !isTooLate(); ++round) {
            for (std::size_t j = 0; j != problem_.nClusters; ++j)
                violated_[j] = violation(problem_, state_, j);
            if (!moveBlocks() && !exchangeBlocks() && !kick())
                break;
            left = totalViolation(problem_, state_);
        }
        // Loads followed the moves by sums and differences; what is returned counts them anew.
        recount(problem_, state_);
        return totalViolation(problem_, state_);
    }

    // Makes, for each pair of clusters, the exchange that lowers the cost most of those that break nothing.
    bool lowerByExchanges() {
        isRepairing_ = false;
        std::ranges::fill(violated_, 0.0);
        bool hasMoved = false;
        for (std::size_t a = 0; a != problem_.nClusters; ++a)
            for (std::size_t b = a + 1; b != problem_.nClusters; ++b) {
                listMembers(problem_, state_, members_);
                best_ = {};
                rateExchanges(a, b, repairParams.candidates);
                hasMoved |= makeBest();
            }
        return hasMoved;
    }

private:
    struct Move {
        double score;
        std::size_t block;
        std::size_t to;

        bool operator<(const Move& other) const {
            return score < other.score || (score == other.score && block < other.block);
        }
    };

    // What a single move removes of the violation, and what it costs at the duals.
    struct Rated {
        double removed;
        double cost;
    };

    // Labels that break something are of no use: the first feasible ones take the time they need.
    bool isTooLate() const { return context_.expired() && context_.hasFeasible; }

    // What a move costs, never zero: of moves that save something, the one that removes most of the violation
    // is best. A thousandth of a mean cost is little beside what any other move costs.
    double risen(double change) const { return std::max(change, 0.0) + 1e-3 * context_.meanCost; }

    double changeOfCost(std::size_t block, std::size_t from, std::size_t to) const {
        return reducedCost(context_, state_, block, to) - reducedCost(context_, state_, block, from);
    }

    Rated rate(std::size_t block, std::size_t to) const {
        const std::size_t from = state_.label(block);
        double removed = violated_[from] + violated_[to] -
                         violation(problem_, state_, from, Shift{block, -1.0}) -
                         violation(problem_, state_, to, Shift{block, 1.0});
        double cost = changeOfCost(block, from, to);
        // A broken hard link counts as much as a rule that misses its bound by one unit.
        if (problem_.isLinked(block)) {
            const LinkCost here = linkCost(problem_, state_, block, from),
                           there = linkCost(problem_, state_, block, to);
            removed += here.hard - there.hard;
            cost += there.soft - here.soft;
        }
        return {removed, risen(cost)};
    }

    // Takes the moves of least cost per violation removed: the greedy rule of covering problems. All moves
    // are rated once, O(n k r), and made in that order. Those made before change the rating of a move, so it
    // is rated again; one that now removes nothing, or costs half as much again for what it removes, is left
    // to the next round, which ranks all anew.
    bool moveBlocks() {
        moves_.clear();
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            const std::size_t from = state_.label(block);
            if (!mayLeave(problem_, state_, from))
                continue;
            // Only a move out of or into a cluster with a violation removes any, but for broken hard links.
            const bool isHot = violated_[from] > 0.0 || (problem_.isLinked(block) &&
                                                         linkCost(problem_, state_, block, from).hard > 0.0);
            for (std::size_t to = 0; to != problem_.nClusters; ++to) {
                if (to == from || (!isHot && violated_[to] <= 0.0))
                    continue;
                const Rated rated = rate(block, to);
                if (rated.removed > sameViolation)
                    moves_.push_back({rated.cost / rated.removed, block, to});
            }
        }
        context_.work +=
            static_cast<double>(problem_.nBlocks) * static_cast<double>(problem_.nRules + problem_.nClusters);
        context_.work += 8.0 * static_cast<double>(moves_.size());
        if (moves_.empty())
            return false;
        std::sort(moves_.begin(), moves_.end());
        for (const Move& move : moves_) {
            const std::size_t from = state_.label(move.block);
            if (from == move.to || !mayLeave(problem_, state_, from))
                continue;
            const Rated rated = rate(move.block, move.to);
            if (!(rated.removed > sameViolation) || rated.cost / rated.removed > 1.5 * move.score)
                continue;
            moveBlock(problem_, state_, move.block, move.to);
            violated_[from] = violation(problem_, state_, from);
            violated_[move.to] = violation(problem_, state_, move.to);
        }
        return true;
    }

    // Makes the best swap, or the best move of two blocks the same way, over all pairs of clusters.
    bool exchangeBlocks() {
        listMembers(problem_, state_, members_);
        // Only clusters with a violation or a broken hard link have anything to gain from an exchange.
        std::vector<char> isBroken(problem_.nClusters);
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            isBroken[j] = violated_[j] > 0.0;
        for (const std::size_t block : problem_.linked)
            if (linkCost(problem_, state_, block, state_.label(block)).hard > 0.0)
                isBroken[state_.label(block)] = 1;
        best_ = {};
        for (std::size_t a = 0; a != problem_.nClusters; ++a)
            for (std::size_t b = a + 1; b != problem_.nClusters; ++b) {
                if (!isBroken[a] && !isBroken[b])
                    continue;
                // More of them than in polish: feasibility matters more than time.
                rateExchanges(a, b, 4 * repairParams.candidates);
            }
        return makeBest();
    }

    // Of the n^2 exchanges of two clusters those of the cheapest candidates from each side: the rest cost
    // more at the same duals, which already price how scarce the sums of each rule are.
    void rateExchanges(std::size_t a, std::size_t b, std::size_t nCandidates) {
        context_.work +=
            static_cast<double>((members_[a].size() + members_[b].size()) * (problem_.nRules + 3));
        rankCandidates(context_, state_, members_[a], a, b, nCandidates, there_);
        rankCandidates(context_, state_, members_[b], b, a, nCandidates, back_);
        rateSwaps(a, b);
        ratePairs(a, b, there_);
        ratePairs(b, a, back_);
    }

    bool makeBest() {
        if (best_.score == std::numeric_limits<double>::infinity())
            return false;
        const std::size_t from = state_.label(best_.first);
        moveBlock(problem_, state_, best_.first, best_.to);
        moveBlock(problem_, state_, best_.second, best_.isSwap ? from : best_.to);
        return true;
    }

    void rateSwaps(std::size_t a, std::size_t b) {
        context_.work += 0.5 * static_cast<double>(there_.size() * back_.size() * (problem_.nRules + 1));
        for (const Candidate& x : there_)
            for (const Candidate& y : back_) {
                double removed = violated_[a] + violated_[b] -
                                 violation(problem_, state_, a, Shift{y.block, 1.0}, Shift{x.block, -1.0}) -
                                 violation(problem_, state_, b, Shift{x.block, 1.0}, Shift{y.block, -1.0});
                if (problem_.hasLinks())
                    removed -= swapLinks(problem_, state_, x.block, y.block).hard;
                take({x.block, y.block, b, true, 0.0}, removed, x, y);
            }
    }

    // Moves of two blocks the same way. Under one rule single moves lead there step by step; under several,
    // one block may set right what the other breaks. Links between the two stay as they are.
    void ratePairs(std::size_t from, std::size_t to, const std::vector<Candidate>& ranked) {
        if (problem_.nRules < 2 || !mayLeave(problem_, state_, from, 2))
            return;
        const std::size_t n = std::min(ranked.size(), repairParams.candidates);
        context_.work += 0.5 * static_cast<double>(n * n * problem_.nRules);
        for (std::size_t i = 0; i != n; ++i)
            for (std::size_t j = i + 1; j != n; ++j) {
                const std::size_t x = ranked[i].block, y = ranked[j].block;
                const double removed = violated_[from] + violated_[to] -
                                       violation(problem_, state_, from, Shift{x, -1.0}, Shift{y, -1.0}) -
                                       violation(problem_, state_, to, Shift{x, 1.0}, Shift{y, 1.0});
                if (linkCost(problem_, state_, x, to).hard + linkCost(problem_, state_, y, to).hard > 0.0)
                    continue;
                take({x, y, to, false, 0.0}, removed, ranked[i], ranked[j]);
            }
    }

    struct Two {
        std::size_t first = 0;
        std::size_t second = 0;
        std::size_t to = 0; // of the first
        bool isSwap = false;
        double score = std::numeric_limits<double>::infinity();
    };

    void take(Two two, double removed, const Candidate& x, const Candidate& y) {
        if (isRepairing_ ? !(removed > sameViolation)
                         : removed < 0.0 || !(x.cost + y.cost < -leastGain * context_.meanCost))
            return;
        two.score = isRepairing_ ? risen(x.rank + y.rank) / removed : x.cost + y.cost;
        if (two.score < best_.score)
            best_ = two;
    }

    // Leaves a local minimum by a few random moves out of or into a violated cluster. They are one more every
    // ten kicks: a minimum that small changes lead back to needs larger ones.
    bool kick() {
        if (++nKicks_ > repairParams.maxKicks)
            return false;
        std::vector<std::size_t> hot;
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            if (violated_[j] > 0.0)
                hot.push_back(j);
        const std::size_t cluster =
            hot.empty() ? drawBelow(problem_.nClusters, random_) : hot[drawBelow(hot.size(), random_)];
        const std::size_t nMoves = 1 + drawBelow(2, random_) + nKicks_ / 10;
        for (std::size_t move = 0; move != nMoves; ++move) {
            if (!mayLeave(problem_, state_, cluster) || drawBelow(2, random_) == 1)
                pullInto(cluster);
            else
                pushOutOf(cluster);
            context_.work += 2.0 * static_cast<double>(problem_.nBlocks);
        }
        return true;
    }

    void pullInto(std::size_t cluster) {
        there_.clear();
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            const std::size_t from = state_.label(block);
            if (from != cluster && mayLeave(problem_, state_, from) &&
                linkCost(problem_, state_, block, cluster).hard == 0.0)
                there_.push_back({changeOfCost(block, from, cluster), 0.0, block});
        }
        keepCheapest(there_, repairParams.candidates);
        if (!there_.empty())
            put(there_[drawBelow(there_.size(), random_)].block, cluster);
    }

    void pushOutOf(std::size_t cluster) {
        listMembers(problem_, state_, members_);
        const std::size_t block = members_[cluster][drawBelow(members_[cluster].size(), random_)];
        double least = std::numeric_limits<double>::infinity();
        std::size_t found = cluster;
        for (std::size_t to = 0; to != problem_.nClusters; ++to) {
            if (to == cluster || linkCost(problem_, state_, block, to).hard > 0.0)
                continue;
            const double cost = reducedCost(context_, state_, block, to);
            if (cost < least) {
                least = cost;
                found = to;
            }
        }
        if (found != cluster)
            put(block, found);
    }

    void put(std::size_t block, std::size_t to) { moveBlock(problem_, state_, block, to); }

    Context& context_;
    const Problem& problem_;
    State& state_;
    Random& random_;
    std::vector<double> violated_;
    std::vector<std::vector<std::size_t>> members_;
    std::vector<Move> moves_;
    std::vector<Candidate> there_, back_;
    Two best_;
    bool isRepairing_ = true;
    std::size_t nKicks_ = 0;
};

// Mean of what the second-cheapest cluster costs a block more than the cheapest: the unit of costs that do
// not come from centers.
double meanGap(const Problem& problem, std::span<const double> costs) {
    double sum = 0.0;
    for (std::size_t block = 0; block != problem.nBlocks; ++block) {
        LeastTwo least;
        for (std::size_t j = 0; j != problem.nClusters; ++j)
            least.take(costs[block * problem.nClusters + j], j);
        sum += least.gap() < infinity ? least.gap() : 0.0;
    }
    return sum / static_cast<double>(std::max<std::size_t>(1, problem.nBlocks));
}

// Sends each block to its cheapest cluster of those in which it breaks nothing. Labels that keep all bounds
// still keep them after each move: a block leaves only where its cluster keeps its rules without it. Each
// move lowers the cost by more than rounding, so passes come to an end.
bool lowerByMoves(const Context& context, State& state) {
    const Problem& problem = context.problem;
    const auto costIn = [&](std::size_t block, std::size_t cluster) {
        const LinkCost links = linkCost(problem, state, block, cluster);
        return links.hard > 0.0 ? infinity : context.costs.at(block, cluster) + links.soft;
    };
    bool hasMoved = false;
    for (std::size_t block = 0; block != problem.nBlocks; ++block) {
        const std::size_t from = state.label(block);
        if (violation(problem, state, from, Shift{block, -1.0}) > 0.0)
            continue;
        std::size_t best = from;
        double least = costIn(block, from) - leastGain * context.meanCost;
        for (std::size_t to = 0; to != problem.nClusters; ++to)
            if (const double cost = costIn(block, to);
                to != from && cost < least && violation(problem, state, to, Shift{block, 1.0}) == 0.0) {
                best = to;
                least = cost;
            }
        if (best != from) {
            moveBlock(problem, state, block, best);
            hasMoved = true;
        }
    }
    return hasMoved;
}

} // namespace

double repair(Context& context, State& state, Random& random) {
    return Repair(context, state, random).run();
}

bool repairLabels(Problem problem, std::span<const double> costs, std::span<const double> duals,
                  std::span<std::int32_t> labels, TimePoint deadline) {
    for (std::size_t block = 0; block != problem.nBlocks; ++block)
        if (problem.isLinked(block))
            problem.linked.push_back(block);
    // Costs are given and blocks have no features: nothing that the labels imply moves them.
    Context context{problem,
                    {},
                    Costs(problem, costs),
                    0.0,
                    meanGap(problem, costs),
                    true,
                    [&] { return isPast(deadline); }};
    State state(problem);
    std::ranges::copy(labels, state.labels.begin());
    std::ranges::copy(duals, state.duals.begin());
    recount(problem, state);
    Random random(0);
    Repair changes(context, state, random);
    const bool isKept = changes.run() == 0.0;
    bool isLower = isKept;
    for (int pass = 0; pass != repairParams.maxPasses && isLower && !context.expired(); ++pass) {
        isLower = lowerByMoves(context, state);
        isLower |= changes.lowerByExchanges();
    }
    std::ranges::copy(state.labels, labels.begin());
    return isKept;
}

} // namespace konstrain::search
