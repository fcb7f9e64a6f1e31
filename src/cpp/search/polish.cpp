#include "polish.h"

#include <algorithm>
#include <utility>

#include "repair_params.h"

namespace konstrain::search {

namespace {

// Passes of moves, exchanges and chains. Each change lowers the objective by more than its rounding
// (`tolerance`) and raises no violation by more than `sameViolation`: no labels come twice. Changes are
// computed exactly, centers included (`changeOf`, `Exchange`), in the manner of Hartigan and Wong (1979).
// Without constraints, labels at which no single move gains are some of those at which Lloyd's loop stops,
// never worse ones (Telgarsky and Vattani 2010).
class Polish {
public:
    Polish(Context& context, State& state)
        : context_(context), problem_(context.problem), state_(state), exchange_(problem_, state),
          isFree_(problem_.nRules == 0 && !problem_.hasLinks() && !problem_.hasHomes()),
          packed_(problem_.nClusters * problem_.nFeatures), distances_(problem_.nClusters),
          violated_(problem_.nClusters), isDirty_(problem_.nClusters, 1), inChain_(problem_.nBlocks) {
        // Centers that are bit for bit those of a clustering that was polished need no second try.
        for (std::size_t j = 0; isFree_ && j != problem_.nClusters; ++j)
            isDirty_[j] =
                !std::equal(state_.center(j, problem_), state_.center(j, problem_) + problem_.nFeatures,
                            state_.stable.data() + j * problem_.nFeatures);
    }

    int run(int maxPasses) {
        int pass = 0;
        while (pass != maxPasses && !context_.expired()) {
            ++pass;
            changed_.assign(problem_.nClusters, 0);
            std::size_t nChanges = moveBlocks();
            if (!isFree_)
                nChanges += exchangePairs();
            if (problem_.hasLinks())
                nChanges += moveChains();
            isDirty_ = changed_;
            recount(problem_, state_);
            if (isFree_)
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

    void pack(std::size_t cluster) {
        const double* center = state_.center(cluster, problem_);
        for (std::size_t t = 0; t != problem_.nFeatures; ++t)
            packed_[t * problem_.nClusters + cluster] = center[t];
    }

    // Single moves by Hartigan's test (`changeOf`). What a move between two clusters changes depends on these
    // two alone: between clusters that are as they were when no such move gained, none gains now, and blocks
    // of such clusters are tried only with the others.
    std::size_t moveBlocks() {
        active_.clear();
        for (std::size_t j = 0; j != problem_.nClusters; ++j) {
            pack(j);
            violated_[j] = violation(problem_, state_, j);
            if (isDirty_[j])
                active_.push_back(j);
        }
        std::size_t nMoved = 0;
        nTried_ = 0;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block)
            nMoved += moveIfBetter(block);
        context_.work +=
            static_cast<double>(nTried_ + 5 * problem_.nBlocks) * static_cast<double>(problem_.nFeatures + 3);
        return nMoved;
    }

    // Squared distances from a block to its own center and to those that it may move to.
    void measure(std::size_t block, std::size_t from) {
        const double* mean = problem_.mean(block);
        if (isDirty_[from]) {
            distancesToPacked(mean, packed_, problem_.nFeatures, problem_.nClusters, distances_.data());
            nTried_ += problem_.nClusters;
            return;
        }
        for (const std::size_t j : active_)
            distances_[j] = squaredDistance(mean, state_.center(j, problem_), problem_.nFeatures);
        distances_[from] = squaredDistance(mean, state_.center(from, problem_), problem_.nFeatures);
        nTried_ += active_.size();
    }

    // No move gained between any two clusters that kept their blocks in this pass. Not a number is equal to
    // nothing, so clusters that changed are tried again.
    void markStable() {
        state_.stable = state_.centers;
        for (std::size_t j = 0; j != problem_.nClusters; ++j)
            if (changed_[j])
                std::fill_n(state_.stable.data() + j * problem_.nFeatures, problem_.nFeatures,
                            std::numeric_limits<double>::quiet_NaN());
    }

    bool moveIfBetter(std::size_t block) {
        const std::size_t from = state_.label(block);
        // A block that holds all the weight of its cluster stays: what is left would have no mean.
        const double without = state_.weight[from] - problem_.weight[block];
        if (!mayLeave(problem_, state_, from) || !(without > termRounding * state_.weight[from]) ||
            (active_.empty() && !isDirty_[from]))
            return false;
        measure(block, from);
        const double saved = -changeOf(problem_, state_, from, {block, -1.0}, distances_[from]);
        const bool isLinked = problem_.isLinked(block);
        const LinkCost here = isLinked ? linkCost(problem_, state_, block, from) : LinkCost{};
        double best = -tolerance(saved);
        std::size_t to = from;
        double leaving = std::numeric_limits<double>::quiet_NaN(); // computed where it is needed
        // Cheapest test first: few moves lower the cost, and only for these links and rules are computed.
        const auto enter = [&](std::size_t j) {
            double change = changeOf(problem_, state_, j, {block, 1.0}, distances_[j]) - saved;
            change += problem_.changeOfMoveCost(block, from, j);
            double hard = 0.0;
            if (j == from || (!isLinked && change >= best))
                return;
            if (isLinked) {
                const LinkCost there = linkCost(problem_, state_, block, j);
                change += there.soft - here.soft;
                hard = there.hard - here.hard;
                if (change >= best)
                    return;
            }
            if (std::isnan(leaving))
                leaving = violation(problem_, state_, from, Shift{block, -1.0}) - violated_[from];
            if (leaving + hard + violation(problem_, state_, j, Shift{block, 1.0}) - violated_[j] >
                sameViolation)
                return;
            best = change;
            to = j;
        };
        if (isDirty_[from])
            for (std::size_t j = 0; j != problem_.nClusters; ++j)
                enter(j);
        else
            for (const std::size_t j : active_)
                enter(j);
        if (to == from)
            return false;
        moveBlock(problem_, state_, block, to);
        for (const std::size_t cluster : {from, to}) {
            pack(cluster);
            violated_[cluster] = violation(problem_, state_, cluster);
            changed_[cluster] = 1;
            if (!isDirty_[cluster])
                active_.push_back(cluster);
            isDirty_[cluster] = 1;
        }
        return true;
    }

    // What the cheapest move from each cluster to each other one of a changed pair costs at the centers
    // before this pass: most clusters are so far apart that no exchange between them gains.
    void findLeastMoves() {
        const std::size_t k = problem_.nClusters;
        leastMove_.assign(k * k, std::numeric_limits<double>::infinity());
        for (std::size_t to = 0; to != k; ++to)
            for (std::size_t from = 0; from != k; ++from)
                if (from != to && (isDirty_[from] || isDirty_[to])) {
                    double& least = leastMove_[from * k + to];
                    for (const std::size_t block : members_[from])
                        least = std::min(least, costOfMove(block, from, to));
                    context_.work += 2.0 * static_cast<double>(members_[from].size());
                }
    }

    // Soft links may pay for any move.
    double costOfMove(std::size_t block, std::size_t from, std::size_t to) const {
        if (problem_.isLinked(block))
            return std::numeric_limits<double>::lowest();
        return context_.costs.at(block, to) - context_.costs.at(block, from);
    }

    // Swaps, and moves of two blocks the same way, between pairs of clusters of which one has changed.
    std::size_t exchangePairs() {
        const std::size_t k = problem_.nClusters;
        context_.work += context_.costs.refresh(state_.centers);
        listMembers(problem_, state_, members_);
        findLeastMoves();
        std::size_t nChanges = 0;
        for (std::size_t a = 0; a != k && !context_.expired(); ++a)
            for (std::size_t b = a + 1; b != k; ++b) {
                const double there = leastMove_[a * k + b], back = leastMove_[b * k + a];
                // While centers stay, a swap changes the cost by the sum of its two moves, and two moves the
                // same way by the sum of theirs: where the least moves save nothing, none of these does.
                const bool mayGain =
                    there + back < 0.0 || (problem_.nRules > 1 && std::min(there, back) < 0.0);
                if ((!isDirty_[a] && !isDirty_[b]) || !mayGain)
                    continue;
                context_.work +=
                    static_cast<double>((members_[a].size() + members_[b].size()) * (problem_.nRules + 8));
                rankCandidates(context_, state_, members_[a], a, b, repairParams.candidates, there_);
                rankCandidates(context_, state_, members_[b], b, a, repairParams.candidates, back_);
                const std::size_t before = nChanges;
                nChanges += swapBlocks(a, b);
                nChanges += moveTwo(a, b, there_) + moveTwo(b, a, back_);
                if (nChanges != before)
                    changed_[a] = changed_[b] = 1;
            }
        return nChanges;
    }

    // Swaps of the ranked candidates, best first, at the costs of the pass; the exact change decides. O(c^2)
    // per round with c candidates a side.
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
                    double rise = violation(problem_, state_, a, Shift{y, 1.0}, Shift{x, -1.0}) - violated;
                    if (rise > sameViolation)
                        continue;
                    rise += violation(problem_, state_, b, Shift{x, 1.0}, Shift{y, -1.0});
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
        const std::size_t a = state_.label(x), b = state_.label(y);
        double change = problem_.hasLinks() ? swapLinks(problem_, state_, x, y).soft : 0.0;
        change += problem_.changeOfMoveCost(x, a, b) + problem_.changeOfMoveCost(y, b, a);
        exchange_.start(a);
        exchange_.add(x, -1.0);
        exchange_.add(y, 1.0);
        change += exchange_.change();
        exchange_.start(b);
        exchange_.add(y, -1.0);
        exchange_.add(x, 1.0);
        context_.work += 4.0 * static_cast<double>(problem_.nFeatures);
        return change + exchange_.change();
    }

    // Makes the best move of two blocks the same way: several rules may allow it where they allow no single
    // one.
    std::size_t moveTwo(std::size_t from, std::size_t to, std::vector<Candidate>& candidates) {
        if (problem_.nRules < 2 || !mayLeave(problem_, state_, from, 2))
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
                double rise = violation(problem_, state_, from, Shift{x, -1.0}, Shift{y, -1.0}) - violated;
                if (rise > sameViolation)
                    continue;
                rise += violation(problem_, state_, to, Shift{x, 1.0}, Shift{y, 1.0});
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
        for (const std::size_t block : {x, y}) {
            change +=
                linkCost(problem_, state_, block, to).soft - linkCost(problem_, state_, block, from).soft;
            change += problem_.changeOfMoveCost(block, from, to);
        }
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
        // Still lower bounds: the block that comes is taken in, and without one that left they can only rise.
        for (std::size_t j = 0; j != problem_.nClusters; ++j) {
            double& least = leastMove_[to * problem_.nClusters + j];
            least = std::min(least, costOfMove(block, to, j));
        }
    }

    // Kempe chains: a block changes sides, conflicting blocks on the other side come back, soft must-link
    // partners follow. A chain is closed: a hard link between the two clusters has both ends in it or none,
    // so after the exchange it is kept as before, and links to third clusters are not touched. Single moves
    // and swaps cannot pass such labels without breaking links on the way.
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
        if (!mayLeave(problem_, state_, a, nLeaving) || !mayLeave(problem_, state_, b, -nLeaving))
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

    // Penalties of the soft links of a chain and costs of its moved rows at the labels of the moment; links
    // within the chain count once.
    double chainPenalty() const {
        double total = 0.0;
        for (const std::size_t block : chain_) {
            total += problem_.moveCost(block, state_.label(block));
            forEachLink(problem_, block, [&](Link link) {
                const bool together = state_.label(block) == state_.label(link.to);
                if (!link.isHard() && together == (link.penalty > 0.0))
                    total += (inChain_[link.to] ? 0.5 : 1.0) * std::abs(link.penalty);
            });
        }
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
    const bool isFree_;          // neither rules nor links nor an earlier clustering
    std::vector<double> packed_; // centers, feature by feature
    std::vector<double> distances_;
    std::vector<double> violated_;
    std::vector<char> isDirty_, changed_; // clusters that changed since the last pass, and in this one
    std::vector<std::size_t> active_;     // the dirty ones
    std::size_t nTried_ = 0;              // distances computed for single moves
    std::vector<std::vector<std::size_t>> members_;
    std::vector<double> leastMove_; // nClusters x nClusters
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
