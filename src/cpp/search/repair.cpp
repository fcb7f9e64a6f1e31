#include "repair.h"

#include <algorithm>
#include <utility>

#include "repair_params.h"

namespace konstrain::search {

namespace {

struct Ranked {
    double cost;
    std::size_t block;

    bool operator<(const Ranked& other) const {
        return cost < other.cost || (cost == other.cost && block < other.block);
    }
};

class Repair {
public:
    Repair(Context& context, State& state, Random& random)
        : context_(context), problem_(context.problem), state_(state), random_(random),
          violated_(problem_.nClusters), restsUntil_(problem_.nBlocks, 0), members_(problem_.nClusters) {}

    double run() {
        context_.work += context_.costs.refresh(state_.centers);
        double left = totalViolation(problem_, state_);
        const std::size_t maxRounds = problem_.nBlocks + 100;
        for (round_ = 0; round_ != maxRounds && left > 0.0 && !isTooLate(); ++round_) {
            for (std::size_t j = 0; j != problem_.nClusters; ++j)
                violated_[j] = violation(problem_, state_, j);
            if (!moveBlocks(left) && !exchangeBlocks() && !kick())
                break;
            left = totalViolation(problem_, state_);
        }
        recount(problem_, state_);
        return totalViolation(problem_, state_);
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

    bool mayLeave(std::size_t cluster, std::int64_t nLeaving = 1) const {
        return state_.count[cluster] - nLeaving >= problem_.leastCount();
    }

    double risen(double change) const { return std::max(change, 0.0) + 1e-3 * context_.meanCost; }

    double changeOfCost(std::size_t block, std::size_t from, std::size_t to) const {
        return reducedCost(context_, state_, block, to) - reducedCost(context_, state_, block, from);
    }

    Rated rate(std::size_t block, std::size_t to) const {
        const std::size_t from = state_.label(block);
        double removed = violated_[from] + violated_[to] -
                         violationWith(problem_, state_, from, block, -1.0) -
                         violationWith(problem_, state_, to, block, 1.0);
        double cost = changeOfCost(block, from, to);
        if (problem_.isLinked(block)) {
            const LinkCost here = linkCost(problem_, state_, block, from),
                           there = linkCost(problem_, state_, block, to);
            removed += here.hard - there.hard;
            cost += there.soft - here.soft;
        }
        return {removed, risen(cost)};
    }

    // Takes the moves of least cost per violation removed, each rated again before it is made.
    bool moveBlocks(double total) {
        moves_.clear();
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            const std::size_t from = state_.label(block);
            if (!mayLeave(from) || restsUntil_[block] > round_)
                continue;
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
        double gone = 0.0;
        for (const Move& move : moves_) {
            const std::size_t from = state_.label(move.block);
            if (from == move.to || !mayLeave(from))
                continue;
            const Rated rated = rate(move.block, move.to);
            if (!(rated.removed > sameViolation) || rated.cost / rated.removed > 1.5 * move.score)
                continue;
            moveBlock(problem_, state_, move.block, move.to);
            violated_[from] = violation(problem_, state_, from);
            violated_[move.to] = violation(problem_, state_, move.to);
            gone += rated.removed;
            if (gone >= repairParams.shareOfRound * total)
                break;
        }
        return true;
    }

    // Blocks of a cluster that go to another at the least reduced cost, cheapest first: four times as many as
    // elsewhere, because feasibility matters more than time.
    void rank(std::size_t from, std::size_t to, std::vector<Ranked>& ranked) const {
        ranked.clear();
        for (const std::size_t block : members_[from])
            ranked.push_back({changeOfCost(block, from, to), block});
        const std::size_t n = std::min(4 * repairParams.candidates, ranked.size());
        std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end());
        ranked.resize(n);
    }

    // Makes the best swap, or the best move of two blocks the same way, over all pairs of clusters.
    bool exchangeBlocks() {
        for (auto& members : members_)
            members.clear();
        for (std::size_t block = 0; block != problem_.nBlocks; ++block)
            members_[state_.label(block)].push_back(block);
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
                context_.work +=
                    static_cast<double>((members_[a].size() + members_[b].size()) * (problem_.nRules + 3));
                rank(a, b, there_);
                rank(b, a, back_);
                rateSwaps(a, b);
                ratePairs(a, b, there_);
                ratePairs(b, a, back_);
            }
        if (best_.score == std::numeric_limits<double>::infinity())
            return false;
        const std::size_t from = state_.label(best_.first);
        moveBlock(problem_, state_, best_.first, best_.to);
        moveBlock(problem_, state_, best_.second, best_.isSwap ? from : best_.to);
        return true;
    }

    void rateSwaps(std::size_t a, std::size_t b) {
        context_.work += 0.5 * static_cast<double>(there_.size() * back_.size() * (problem_.nRules + 1));
        for (const Ranked& x : there_)
            for (const Ranked& y : back_) {
                double removed = violated_[a] + violated_[b] -
                                 violationSwapped(problem_, state_, a, y.block, x.block) -
                                 violationSwapped(problem_, state_, b, x.block, y.block);
                double cost = x.cost + y.cost;
                if (problem_.hasLinks()) {
                    const LinkCost links = swapLinks(problem_, state_, x.block, y.block);
                    removed -= links.hard;
                    cost += links.soft;
                }
                take({x.block, y.block, b, true, 0.0}, removed, cost);
            }
    }

    void ratePairs(std::size_t from, std::size_t to, const std::vector<Ranked>& ranked) {
        if (problem_.nRules < 2 || !mayLeave(from, 2))
            return;
        const std::size_t n = std::min(ranked.size(), repairParams.candidates);
        context_.work += 0.5 * static_cast<double>(n * n * problem_.nRules);
        for (std::size_t i = 0; i != n; ++i)
            for (std::size_t j = i + 1; j != n; ++j) {
                const std::size_t x = ranked[i].block, y = ranked[j].block;
                const double removed = violated_[from] + violated_[to] -
                                       violationWithTwo(problem_, state_, from, x, y, -1.0) -
                                       violationWithTwo(problem_, state_, to, x, y, 1.0);
                if (linkCost(problem_, state_, x, to).hard + linkCost(problem_, state_, y, to).hard > 0.0)
                    continue;
                take({x, y, to, false, 0.0}, removed, ranked[i].cost + ranked[j].cost);
            }
    }

    struct Two {
        std::size_t first = 0;
        std::size_t second = 0;
        std::size_t to = 0; // of the first
        bool isSwap = false;
        double score = std::numeric_limits<double>::infinity();
    };

    void take(Two two, double removed, double cost) {
        if (!(removed > sameViolation))
            return;
        two.score = risen(cost) / removed;
        if (two.score < best_.score)
            best_ = two;
    }

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
            if (!mayLeave(cluster) || drawBelow(2, random_) == 1)
                pullInto(cluster);
            else
                pushOutOf(cluster);
            context_.work += 2.0 * static_cast<double>(problem_.nBlocks);
        }
        return true;
    }

    void pullInto(std::size_t cluster) {
        std::vector<Ranked> ranked;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            const std::size_t from = state_.label(block);
            if (from != cluster && mayLeave(from) && linkCost(problem_, state_, block, cluster).hard == 0.0)
                ranked.push_back({changeOfCost(block, from, cluster), block});
        }
        if (ranked.empty())
            return;
        const std::size_t n = std::min(repairParams.candidates, ranked.size());
        std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(n), ranked.end());
        put(ranked[drawBelow(n, random_)].block, cluster);
    }

    void pushOutOf(std::size_t cluster) {
        std::vector<std::size_t> members;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block)
            if (state_.label(block) == cluster)
                members.push_back(block);
        const std::size_t block = members[drawBelow(members.size(), random_)];
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

    void put(std::size_t block, std::size_t to) {
        moveBlock(problem_, state_, block, to);
        restsUntil_[block] = round_ + 1 + repairParams.restAfterKick;
    }

    Context& context_;
    const Problem& problem_;
    State& state_;
    Random& random_;
    std::vector<double> violated_;
    std::vector<std::size_t> restsUntil_;
    std::vector<std::vector<std::size_t>> members_;
    std::vector<Move> moves_;
    std::vector<Ranked> there_, back_;
    Two best_;
    std::size_t round_ = 0;
    std::size_t nKicks_ = 0;
};

} // namespace

double repair(Context& context, State& state, Random& random) {
    return Repair(context, state, random).run();
}

} // namespace konstrain::search
