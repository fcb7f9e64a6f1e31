#include "polish.h"

#include <algorithm>
#include <utility>

#include "repair_params.h"

namespace konstrain::search {

namespace {

// A block that may leave for another cluster: its rank, by reduced cost, and the change of its own cost.
struct Candidate {
    double rank;
    double cost;
    std::size_t block;
};

class Polish {
public:
    Polish(Context& context, State& state)
        : context_(context), problem_(context.problem), state_(state), exchange_(problem_, state),
          packed_(problem_.nClusters * problem_.nFeatures), distances_(problem_.nClusters),
          isDirty_(problem_.nClusters, 1), members_(problem_.nClusters), inChain_(problem_.nBlocks) {}

    int run(int maxPasses) {
        const bool isFree = problem_.nRules == 0 && !problem_.hasLinks();
        int pass = 0;
        while (pass != maxPasses && !context_.expired()) {
            ++pass;
            std::size_t nChanges = isFree ? moveFreeBlocks() : moveBlocks();
            if (!isFree) {
                changed_.assign(problem_.nClusters, 0);
                nChanges += exchangePairs();
                if (problem_.hasLinks())
                    nChanges += moveChains();
                isDirty_ = changed_;
            }
            recount(problem_, state_);
            if (isFree)
                markStable();
            const bool isLittle = static_cast<double>(nChanges) <
                                  context_.params.convergedShare * static_cast<double>(problem_.nBlocks);
            if (nChanges == 0 || (pass > 3 && isLittle))
                break;
        }
        return pass;
    }

private:
    double tolerance(double magnitude) const {
        return leastGain * context_.meanCost + termRounding * magnitude;
    }

    bool mayLeave(std::size_t cluster, std::int64_t nLeaving = 1) const {
        return state_.count[cluster] - nLeaving >= problem_.leastCount();
    }

    void pack(std::size_t cluster) {
        const double* center = state_.center(cluster, problem_);
        for (std::size_t t = 0; t != problem_.nFeatures; ++t)
            packed_[t * problem_.nClusters + cluster] = center[t];
    }

    // Single moves by Hartigan's test: leaving a cluster of weight W saves w W / (W - w) |x - c|^2, entering
    // one costs w W / (W + w) |x - c|^2.
    std::size_t moveBlocks() {
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            pack(j);
        violated_.resize(problem_.nClusters);
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            violated_[j] = violation(problem_, state_, j);
        std::size_t nMoved = 0;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block)
            nMoved += moveIfBetter(block);
        context_.work += static_cast<double>(problem_.nBlocks * problem_.nClusters) *
                         static_cast<double>(problem_.nFeatures + 3);
        return nMoved;
    }

    // Single moves where nothing but the sum of squares counts. A move between two clusters that are as they
    // were when it last gained nothing gains nothing now: blocks of such clusters are tried only with the
    // others.
    std::size_t moveFreeBlocks() {
        active_.clear();
        isDirty_.assign(problem_.nClusters, 0);
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            if (!std::equal(state_.center(j, problem_), state_.center(j, problem_) + problem_.nFeatures,
                            state_.stable.data() + j * problem_.nFeatures))
                activate(j);
        changed_.assign(problem_.nClusters, 0);
        std::size_t nMoved = 0, nTried = 0;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            const std::size_t from = state_.label(block);
            const double weight = problem_.weight[block], without = state_.weight[from] - weight;
            if (!mayLeave(from) || !(without > termRounding * state_.weight[from]))
                continue;
            const double* mean = problem_.mean(block);
            const double saved = weight * state_.weight[from] / without *
                                 squaredDistance(mean, state_.center(from, problem_), problem_.nFeatures);
            double best = saved - tolerance(saved);
            std::size_t to = from;
            const auto enter = [&](std::size_t j) {
                const double distance = squaredDistance(mean, state_.center(j, problem_), problem_.nFeatures);
                const double entering = weight * state_.weight[j] * distance,
                             with = state_.weight[j] + weight;
                if (entering < best * with && j != from) {
                    best = entering / with;
                    to = j;
                }
            };
            if (isDirty_[from]) {
                for (std::size_t j = 0; j != problem_.nClusters; ++j)
                    enter(j);
                nTried += problem_.nClusters;
            } else {
                for (const std::size_t j : active_)
                    enter(j);
                nTried += active_.size();
            }
            if (to == from)
                continue;
            moveBlock(problem_, state_, block, to);
            ++nMoved;
            for (const std::size_t cluster : {from, to}) {
                changed_[cluster] = 1;
                activate(cluster);
            }
        }
        context_.work +=
            static_cast<double>(nTried + 5 * problem_.nBlocks) * static_cast<double>(problem_.nFeatures + 3);
        return nMoved;
    }

    void activate(std::size_t cluster) {
        if (!isDirty_[cluster])
            active_.push_back(cluster);
        isDirty_[cluster] = 1;
    }

    void markStable() {
        state_.stable = state_.centers;
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            if (changed_[j])
                std::fill_n(state_.stable.data() + j * problem_.nFeatures, problem_.nFeatures,
                            std::numeric_limits<double>::quiet_NaN());
    }

    bool moveIfBetter(std::size_t block) {
        const std::size_t from = state_.label(block);
        const double weight = problem_.weight[block];
        const double without = state_.weight[from] - weight;
        if (!mayLeave(from) || !(without > termRounding * state_.weight[from]))
            return false;
        distancesToPacked(problem_.mean(block), packed_, problem_.nFeatures, problem_.nClusters,
                          distances_.data());
        const double saved = weight * state_.weight[from] / without * distances_[from];
        const bool isLinked = problem_.isLinked(block);
        const LinkCost here = isLinked ? linkCost(problem_, state_, block, from) : LinkCost{};
        double best = -tolerance(saved);
        std::size_t to = from;
        double leaving = 0.0;
        bool isLeavingKnown = false;
        for (std::size_t j = 0; j != problem_.nClusters; ++j) {
            if (j == from)
                continue;
            double change = weight * state_.weight[j] / (state_.weight[j] + weight) * distances_[j] - saved;
            if (!isLinked && change >= best)
                continue;
            double hard = 0.0;
            if (isLinked) {
                const LinkCost there = linkCost(problem_, state_, block, j);
                change += there.soft - here.soft;
                hard = there.hard - here.hard;
                if (change >= best)
                    continue;
            }
            if (!isLeavingKnown)
                leaving = violationWith(problem_, state_, from, block, -1.0) - violated_[from];
            isLeavingKnown = true;
            if (leaving + hard + violationWith(problem_, state_, j, block, 1.0) - violated_[j] >
                sameViolation)
                continue;
            best = change;
            to = j;
        }
        if (to == from)
            return false;
        moveBlock(problem_, state_, block, to);
        for (const std::size_t cluster : {from, to}) {
            pack(cluster);
            violated_[cluster] = violation(problem_, state_, cluster);
            isDirty_[cluster] = 1;
        }
        return true;
    }

    // Blocks of a cluster that go to another at the least reduced cost.
    void rank(std::size_t from, std::size_t to, std::vector<Candidate>& candidates) const {
        candidates.clear();
        for (const std::size_t block : members_[from]) {
            if (state_.label(block) != from)
                continue;
            double soft = 0.0;
            if (problem_.isLinked(block))
                soft =
                    linkCost(problem_, state_, block, to).soft - linkCost(problem_, state_, block, from).soft;
            const double rank =
                reducedCost(context_, state_, block, to) - reducedCost(context_, state_, block, from) + soft;
            const double cost = context_.costs.at(block, to) - context_.costs.at(block, from) + soft;
            candidates.push_back({rank, cost, block});
        }
        const auto isBefore = [](const Candidate& x, const Candidate& y) {
            return x.rank < y.rank || (x.rank == y.rank && x.block < y.block);
        };
        const std::size_t n = std::min(repairParams.candidates, candidates.size());
        std::ranges::nth_element(candidates, candidates.begin() + static_cast<std::ptrdiff_t>(n), isBefore);
        candidates.resize(n);
        std::ranges::sort(candidates, isBefore);
    }

    // Swaps, and moves of two blocks the same way, between pairs of clusters of which one has changed.
    std::size_t exchangePairs() {
        const std::size_t k = problem_.nClusters;
        context_.work += context_.costs.refresh(state_.centers);
        context_.work += static_cast<double>(problem_.nBlocks * k * (problem_.nRules + 3));
        for (auto& members : members_)
            members.clear();
        for (std::size_t block = 0; block != problem_.nBlocks; ++block)
            members_[state_.label(block)].push_back(block);
        std::size_t nChanges = 0;
        for (std::size_t a = 0; a != k && !context_.expired(); ++a)
            for (std::size_t b = a + 1; b != k; ++b) {
                if (!isDirty_[a] && !isDirty_[b])
                    continue;
                rank(a, b, there_);
                rank(b, a, back_);
                const std::size_t before = nChanges;
                nChanges += swapBlocks(a, b);
                nChanges += moveTwo(a, b, there_) + moveTwo(b, a, back_);
                if (nChanges != before)
                    changed_[a] = changed_[b] = 1;
            }
        return nChanges;
    }

    std::size_t swapBlocks(std::size_t a, std::size_t b) {
        std::size_t nSwaps = 0;
        // Each round takes a candidate away: there are at most as many rounds as candidates.
        while (true) {
            const double violated = violation(problem_, state_, a) + violation(problem_, state_, b);
            double best = -tolerance(0.0);
            std::size_t first = there_.size(), second = 0;
            context_.work += static_cast<double>(there_.size() * back_.size());
            for (std::size_t i = 0; i != there_.size(); ++i)
                for (std::size_t j = 0; j != back_.size(); ++j) {
                    const double cost = there_[i].cost + back_[j].cost;
                    if (cost >= best)
                        continue;
                    const std::size_t x = there_[i].block, y = back_[j].block;
                    double rise = violationSwapped(problem_, state_, a, y, x) - violated;
                    if (rise > sameViolation)
                        continue;
                    rise += violationSwapped(problem_, state_, b, x, y);
                    if (rise > sameViolation ||
                        (problem_.hasLinks() &&
                         rise + swapLinks(problem_, state_, x, y).hard > sameViolation))
                        continue;
                    best = cost;
                    first = i;
                    second = j;
                }
            if (first == there_.size())
                break;
            const std::size_t x = there_[first].block, y = back_[second].block;
            if (changeOfSwap(x, y) < -tolerance(0.0)) {
                put(x, b);
                put(y, a);
                ++nSwaps;
                there_.erase(there_.begin() + static_cast<std::ptrdiff_t>(first));
                back_.erase(back_.begin() + static_cast<std::ptrdiff_t>(second));
            } else {
                // Costs are those at the centers before this pass: the block gains nothing any more.
                there_[first].cost = std::numeric_limits<double>::infinity();
            }
        }
        return nSwaps;
    }

    double changeOfSwap(std::size_t x, std::size_t y) {
        double change = problem_.hasLinks() ? swapLinks(problem_, state_, x, y).soft : 0.0;
        exchange_.start(state_.label(x));
        exchange_.add(x, -1.0);
        exchange_.add(y, 1.0);
        change += exchange_.change();
        exchange_.start(state_.label(y));
        exchange_.add(y, -1.0);
        exchange_.add(x, 1.0);
        context_.work += 4.0 * static_cast<double>(problem_.nFeatures);
        return change + exchange_.change();
    }

    // Makes the best move of two blocks the same way: several rules may allow it where they allow no single
    // one.
    std::size_t moveTwo(std::size_t from, std::size_t to, std::vector<Candidate>& candidates) {
        if (problem_.nRules < 2 || !mayLeave(from, 2))
            return 0;
        const double violated = violation(problem_, state_, from) + violation(problem_, state_, to);
        double best = -tolerance(0.0);
        std::size_t first = 0, second = 0;
        context_.work += 0.5 * static_cast<double>(candidates.size() * candidates.size());
        for (std::size_t i = 0; i != candidates.size(); ++i)
            for (std::size_t j = i + 1; j != candidates.size(); ++j) {
                const double cost = candidates[i].cost + candidates[j].cost;
                if (cost >= best)
                    continue;
                const std::size_t x = candidates[i].block, y = candidates[j].block;
                double rise = violationWithTwo(problem_, state_, from, x, y, -1.0) - violated;
                if (rise > sameViolation)
                    continue;
                rise += violationWithTwo(problem_, state_, to, x, y, 1.0);
                if (rise > sameViolation || areLinkedThere(x, y, to))
                    continue;
                best = cost;
                first = i;
                second = j;
            }
        if (second == 0)
            return 0;
        const std::size_t x = candidates[first].block, y = candidates[second].block;
        double change = 0.0;
        for (const std::size_t block : {x, y})
            change +=
                linkCost(problem_, state_, block, to).soft - linkCost(problem_, state_, block, from).soft;
        for (const auto& [cluster, sign] : {std::pair{from, -1.0}, std::pair{to, 1.0}}) {
            exchange_.start(cluster);
            exchange_.add(x, sign);
            exchange_.add(y, sign);
            change += exchange_.change();
        }
        if (change >= -tolerance(0.0))
            return 0;
        put(x, to);
        put(y, to);
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(second));
        candidates.erase(candidates.begin() + static_cast<std::ptrdiff_t>(first));
        return 1;
    }

    // Whether a hard link keeps one of two blocks out of a cluster, or the two are linked to each other.
    bool areLinkedThere(std::size_t x, std::size_t y, std::size_t to) const {
        if (!problem_.isLinked(x) && !problem_.isLinked(y))
            return false;
        bool found = linkCost(problem_, state_, x, to).hard + linkCost(problem_, state_, y, to).hard > 0.0;
        forEachLink(problem_, x, [&](Link link) { found |= link.to == y; });
        return found;
    }

    void put(std::size_t block, std::size_t to) {
        moveBlock(problem_, state_, block, to);
        members_[to].push_back(block);
    }

    // Kempe chains: a block changes sides, conflicting blocks on the other side come back, soft must-link
    // partners follow.
    std::size_t moveChains() {
        std::size_t nChanges = 0;
        for (std::size_t block = 0; block != problem_.nBlocks && !context_.expired(); ++block)
            if (problem_.isLinked(block))
                for (std::size_t to = 0; to != problem_.nClusters; ++to)
                    if (to != state_.label(block))
                        nChanges += moveChain(block, to);
        return nChanges;
    }

    bool moveChain(std::size_t start, std::size_t b) {
        const std::size_t a = state_.label(start);
        const auto side = [&](std::size_t block) { return state_.label(block) == a ? 1.0 : -1.0; };
        const bool isUsable = collectChain(start, a, b) && chain_.size() > 1;
        double change = 0.0;
        if (isUsable) {
            const double before = chainPenalty();
            flip(a, b);
            change = chainPenalty() - before;
            flip(a, b);
        }
        for (const std::size_t block : chain_)
            inChain_[block] = 0;
        context_.work += static_cast<double>(chain_.size() * (problem_.nFeatures + problem_.nRules + 8));
        if (!isUsable)
            return false;
        double leaving = 0.0;
        exchange_.start(a);
        for (const std::size_t block : chain_) {
            exchange_.add(block, -side(block));
            leaving += side(block);
        }
        const auto nLeaving = static_cast<std::int64_t>(leaving);
        if (!mayLeave(a, nLeaving) || !mayLeave(b, -nLeaving))
            return false;
        change += exchange_.change();
        exchange_.start(b);
        for (const std::size_t block : chain_)
            exchange_.add(block, side(block));
        change += exchange_.change();
        if (change >= -tolerance(0.0) || raisesViolation(a, b))
            return false;
        for (const std::size_t block : chain_)
            moveBlock(problem_, state_, block, state_.label(block) == a ? b : a);
        changed_[a] = changed_[b] = 1;
        return true;
    }

    // Blocks that have to change sides with the first one; false where these are more than a mean cluster
    // has: what that changes is no longer local.
    bool collectChain(std::size_t start, std::size_t a, std::size_t b) {
        chain_.assign(1, start);
        inChain_[start] = 1;
        for (std::size_t at = 0; at != chain_.size(); ++at) {
            const std::size_t block = chain_[at], other = state_.label(block) == a ? b : a;
            forEachLink(problem_, block, [&](Link link) {
                const std::size_t wanted = link.penalty > 0.0 ? other : state_.label(block);
                if (inChain_[link.to] || state_.label(link.to) != wanted)
                    return;
                inChain_[link.to] = 1;
                chain_.push_back(link.to);
            });
            if (chain_.size() * problem_.nClusters > problem_.nBlocks)
                return false;
        }
        return true;
    }

    void flip(std::size_t a, std::size_t b) {
        for (const std::size_t block : chain_)
            state_.labels[block] = static_cast<std::int32_t>(state_.label(block) == a ? b : a);
    }

    // Penalties of the soft links of a chain at the labels of the moment; those within the chain count once.
    double chainPenalty() const {
        double total = 0.0;
        for (const std::size_t block : chain_)
            forEachLink(problem_, block, [&](Link link) {
                const bool together = state_.label(block) == state_.label(link.to);
                if (!link.isHard() && together == (link.penalty > 0.0))
                    total += (inChain_[link.to] ? 0.5 : 1.0) * std::abs(link.penalty);
            });
        return total;
    }

    bool raisesViolation(std::size_t a, std::size_t b) {
        net_.assign(problem_.nRules, 0.0);
        for (const std::size_t block : chain_)
            for (std::size_t rule = 0; rule != problem_.nRules; ++rule)
                net_[rule] += (state_.label(block) == a ? 1.0 : -1.0) * problem_.amount(block)[rule];
        const auto with = [&](std::size_t cluster, double sign) {
            const double* load = state_.load.data() + cluster * problem_.nRules;
            return violationOf(problem_, cluster,
                               [&](std::size_t rule) { return load[rule] + sign * net_[rule]; });
        };
        const double before = violation(problem_, state_, a) + violation(problem_, state_, b);
        return with(a, -1.0) + with(b, 1.0) - before > sameViolation;
    }

    Context& context_;
    const Problem& problem_;
    State& state_;
    Exchange exchange_;
    std::vector<double> packed_; // centers, feature by feature
    std::vector<double> distances_;
    std::vector<double> violated_;
    std::vector<char> isDirty_, changed_; // clusters that changed since the last pass, and in this one
    std::vector<std::size_t> active_;     // the dirty ones of a free problem
    std::vector<std::vector<std::size_t>> members_;
    std::vector<Candidate> there_, back_;
    std::vector<std::size_t> chain_;
    std::vector<char> inChain_;
    std::vector<double> net_;
};

} // namespace

int polish(Context& context, State& state, int maxPasses) {
    return Polish(context, state).run(maxPasses);
}

} // namespace konstrain::search
