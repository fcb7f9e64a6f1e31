#include "pricing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "infinity.h"
#include "tolerances.h"

// Branch and bound over sets of blocks (Babaki, Guns, Nijssen 2014, Algorithm 1), with three stronger tests.
// Let X be part of a best set X* with mean z and weight w* at most w. Rules are anti-monotone, so any member
// may leave: leaving must not pay, so |mean_b - z|^2 <= profit_b / weight_b (1 - weight_b / w) for each
// member.
// * Two blocks whose balls do not meet are never together. (This implies the paper's compatibility test.)
// * The weighted sum of the members' inequalities puts z into a ball around the mean of X, of squared radius
//   (-g(X) - sum profit_b weight_b / w) / weight(X): a candidate whose own ball does not meet it can go.
// * A block left out that could join X* whatever else is chosen must not pay either: z is outside its ball.
// What is left is bounded for each total weight by a knapsack that counts half of the cheapest distances a
// candidate can have to the other newcomers; the paper counts nothing for them. Total weights at either end
// whose bound is too high are out of the question for the whole subtree, which in turn shrinks the balls.

namespace konstrain::exact {

namespace {

// Geometric tests leave a margin for rounding in squared distances: they only ever keep more.
constexpr double slack = tolerances::bound + 1.0;
// Steps of the weight in the knapsack bound; larger: tighter bounds, slower nodes.
constexpr std::size_t maxWeightSteps = 256;

struct Stop {};

// Blocks with a positive profit, and which of them may stand together.
class Compatible {
public:
    Compatible(const PricingBlocks& blocks, std::span<const double> profit, bool costless)
        : nBlocks_(blocks.size()), allowed_(nBlocks_ * nBlocks_, 0), radius_(nBlocks_, 0.0) {
        for (std::size_t b = 0; b != nBlocks_; ++b) {
            if (!(profit[b] > 0.0) || !blocks.rules().allow({}, static_cast<std::int32_t>(b)))
                continue;
            const double w = costless ? 0.0 : blocks.weight(b);
            radius_[b] = w > 0.0 ? std::sqrt(profit[b] / w) : infinity;
            active_.push_back(b);
        }
        for (const auto b : active_)
            for (const auto c : active_)
                allowed_[b * nBlocks_ + c] =
                    b != c && !blocks.conflict(b, c) &&
                    std::sqrt(blocks.squaredDistance(b, c)) <= (radius_[b] + radius_[c]) * slack;
    }

    const std::vector<std::size_t>& active() const { return active_; }
    bool operator()(std::size_t b, std::size_t c) const { return allowed_[b * nBlocks_ + c] != 0; }
    double radius(std::size_t b) const { return radius_[b]; }

    // Fewest partners first, counted among those still to come: dense parts come last, when little is left.
    std::vector<std::size_t> order() const {
        std::vector<std::size_t> rest(active_), result;
        std::vector<std::size_t> degree(nBlocks_, 0);
        for (const auto b : rest)
            for (const auto c : rest)
                degree[b] += (*this)(b, c);
        while (!rest.empty()) {
            const auto next = std::ranges::min_element(rest, {}, [&](std::size_t b) { return degree[b]; });
            const std::size_t b = *next;
            rest.erase(next);
            result.push_back(b);
            for (const auto c : rest)
                degree[c] -= (*this)(b, c);
        }
        return result;
    }

private:
    std::size_t nBlocks_;
    std::vector<char> allowed_;
    std::vector<double> radius_;
    std::vector<std::size_t> active_;
};

// What all branches share.
struct Progress {
    double best; // prune at this: the cutoff, then the best value found
    std::vector<Column> columns;
    std::int64_t nNodes = 0;
    std::int64_t firstFind = -1;
    const PricingLimits& limits;

    void count() {
        ++nNodes;
        if (nNodes > limits.nodes || (firstFind >= 0 && nNodes > firstFind + limits.nodesAfterFind))
            throw Stop{};
        if (nNodes % callsPerReading == 0) {
            if (isPast(limits.deadline))
                throw Stop{};
            if (limits.poll)
                limits.poll();
        }
    }

    void offer(double value, const std::vector<std::int32_t>& members) {
        if (value >= best)
            return;
        best = value;
        if (firstFind < 0)
            firstFind = nNodes;
        columns.push_back(members);
        std::ranges::sort(columns.back());
    }
};

// One set of the search tree.
struct BranchNode {
    double weight = 0.0;
    double pairs = 0.0; // sum over pairs of members of both weights times squared distance
    double profit = 0.0;
    double shed = 0.0;            // sum of profit times weight
    double lightest = 0.0;        // total weight that better sets below have at least ...
    double heaviest = infinity;   // ... and at most
    std::vector<double> reach;    // per local block: sum over members of weight times squared distance
    std::vector<std::size_t> in;  // candidates
    std::vector<std::size_t> out; // excluded blocks that no member conflicts with

    double cost() const { return weight > 0.0 ? pairs / weight : 0.0; }
    double value() const { return cost() - profit; }
};

// All sets that hold `root` and otherwise only blocks that come after it in the order.
class Branch {
public:
    Branch(const PricingBlocks& blocks, std::span<const double> profit, const Compatible& compatible,
           bool costless, std::size_t root, const std::vector<std::size_t>& rank, Progress& progress)
        : blocks_(blocks), progress_(progress), costless_(costless) {
        for (const auto b : compatible.active())
            if (b == root || compatible(root, b))
                local_.push_back(b);
        const std::size_t n = local_.size();
        weight_.resize(n);
        profit_.resize(n);
        radius_.resize(n);
        distance_.resize(n * n);
        conflict_.resize(n * n);
        allowed_.resize(n * n);
        for (std::size_t i = 0; i != n; ++i)
            fillRow(i, profit, compatible);
        rankNeighbours();
        rank_ = &rank;
        root_ = root;
    }

    // Explores the whole branch.
    void run() {
        BranchNode node = start();
        explore(node);
    }

    // Lower bound of every set in the branch.
    double bound() {
        const BranchNode node = start();
        const double below = costless_ || node.weight <= 0.0 ? costlessBound(node) : knapsackBound(node);
        return std::min(node.value(), below);
    }

private:
    void fillRow(std::size_t i, std::span<const double> profit, const Compatible& compatible) {
        const std::size_t n = local_.size(), b = local_[i];
        weight_[i] = costless_ ? 0.0 : blocks_.weight(b);
        profit_[i] = profit[b];
        radius_[i] = compatible.radius(b);
        for (std::size_t j = 0; j != n; ++j) {
            const std::size_t c = local_[j];
            distance_[i * n + j] = costless_ ? 0.0 : blocks_.squaredDistance(b, c);
            conflict_[i * n + j] = blocks_.conflict(b, c);
            allowed_[i * n + j] = compatible(b, c);
        }
    }

    // Per block its possible partners, nearest first.
    void rankNeighbours() {
        const std::size_t n = local_.size();
        nearest_.resize(n);
        for (std::size_t i = 0; i != n; ++i) {
            for (std::size_t j = 0; j != n; ++j)
                if (allowed_[i * n + j])
                    nearest_[i].push_back(static_cast<std::uint32_t>(j));
            std::ranges::sort(nearest_[i], {}, [&](std::uint32_t j) { return distance_[i * n + j]; });
        }
        isIn_.assign(n, 0);
    }

    BranchNode start() {
        BranchNode node;
        const std::size_t n = local_.size();
        std::size_t first = 0;
        members_.clear();
        for (std::size_t i = 0; i != n; ++i) {
            if (local_[i] == root_)
                first = i;
            else if ((*rank_)[local_[i]] > (*rank_)[root_])
                node.in.push_back(i);
            else
                node.out.push_back(i);
        }
        node.reach.assign(n, 0.0);
        include(node, first);
        return node;
    }

    void include(BranchNode& node, std::size_t i) {
        const std::size_t n = local_.size();
        node.pairs += weight_[i] * node.reach[i];
        node.weight += weight_[i];
        node.profit += profit_[i];
        node.shed += profit_[i] * weight_[i];
        const double* row = distance_.data() + i * n;
        for (std::size_t j = 0; j != n; ++j)
            node.reach[j] += weight_[i] * row[j];
        members_.push_back(static_cast<std::int32_t>(local_[i]));
        std::erase_if(node.in, [&](std::size_t j) {
            return !allowed_[i * n + j] ||
                   !blocks_.rules().allow(members_, static_cast<std::int32_t>(local_[j]));
        });
        std::erase_if(node.out, [&](std::size_t j) { return conflict_[i * n + j] != 0; });
        limitWeight(node);
        dropFarCandidates(node);
    }

    void limitWeight(BranchNode& node) const {
        double total = node.weight;
        for (const auto j : node.in)
            total += weight_[j];
        node.heaviest = std::min({node.heaviest, total * slack, node.weight + remainingWeight(node)});
    }

    void dropFarCandidates(BranchNode& node) const {
        const double region = regionRadius(node);
        if (region == infinity)
            return;
        std::erase_if(node.in, [&](std::size_t j) {
            const double share = std::max(0.0, 1.0 - weight_[j] / node.heaviest);
            return meanDistance(node, j) > (region + radius_[j] * std::sqrt(share)) * slack;
        });
    }

    // By how much the members' profits exceed what a best set around them can cost; negative: there is none.
    static double excess(const BranchNode& node) {
        return -node.value() - (node.heaviest > 0.0 ? node.shed / node.heaviest : 0.0);
    }

    // Where the mean of a best set around the members can be: this far from the members' mean.
    static double regionRadius(const BranchNode& node) {
        return node.weight > 0.0 ? std::sqrt(std::max(0.0, excess(node) / node.weight)) : infinity;
    }

    static double meanDistance(const BranchNode& node, std::size_t j) {
        return node.weight > 0.0 ? std::sqrt(std::max(0.0, (node.reach[j] - node.cost()) / node.weight))
                                 : 0.0;
    }

    void explore(BranchNode& node) {
        progress_.offer(node.value(), members_);
        while (true) {
            progress_.count();
            if (node.in.empty() || missesBlock(node) || isHopeless(node))
                return;
            const std::size_t next = mostAttractive(node);
            std::erase(node.in, next);
            BranchNode child = node;
            include(child, next);
            // A part of a best set never costs more than it brings.
            if (excess(child) >= -1e-9 * child.profit)
                explore(child);
            members_.pop_back();
            node.out.push_back(next);
        }
    }

    std::size_t mostAttractive(const BranchNode& node) const {
        return *std::ranges::max_element(node.in, {}, [&](std::size_t j) {
            const double distance = meanDistance(node, j);
            return profit_[j] - weight_[j] * distance * distance;
        });
    }

    // Whether some excluded block would improve every set below: then the best one is elsewhere.
    bool missesBlock(const BranchNode& node) const {
        if (!blocks_.rules().hasOnlyCapacities() || node.weight <= 0.0)
            return false;
        const double region = regionRadius(node);
        return std::ranges::any_of(node.out, [&](std::size_t j) {
            return (meanDistance(node, j) + region) * slack < radius_[j] && canAlwaysJoin(node, j);
        });
    }

    bool canAlwaysJoin(const BranchNode& node, std::size_t j) const {
        const std::size_t n = local_.size();
        for (const auto i : node.in)
            if (conflict_[j * n + i])
                return false;
        for (const auto& capacity : blocks_.rules().capacities()) {
            double sum = capacity.amount[local_[j]];
            for (const auto i : node.in)
                sum += capacity.amount[local_[i]];
            for (const auto member : members_)
                sum += capacity.amount[static_cast<std::size_t>(member)];
            if (sum > capacity.limit)
                return false;
        }
        return true;
    }

    // Whether no set below is better than the best one known; narrows the range of weights on the way.
    bool isHopeless(BranchNode& node) {
        if (costless_ || node.weight <= 0.0)
            return costlessBound(node) >= progress_.best;
        const Steps steps = prepare(node);
        const auto fails = [&](std::size_t step) { return boundAt(node, steps, step) >= progress_.best; };
        std::size_t first = steps.first, last = steps.last;
        if (weightless_ <= 0.0 || node.value() - weightless_ >= progress_.best) {
            while (first != last && fails(first))
                ++first;
            if (first == last)
                return true;
            while (last != first + 1 && fails(last - 1))
                --last;
            // Weightless candidates join at any weight, so only here can the light end be closed.
            node.lightest = std::max(node.lightest, node.weight + steps.below(first));
        }
        node.heaviest = std::min(node.heaviest, node.weight + steps.above(last - 1) * slack);
        dropFarCandidates(node);
        return excess(node) < -1e-9 * node.profit;
    }

    // Without costs: profits of one block per clique of conflicts, and what capacities allow.
    double costlessBound(const BranchNode& node) {
        double open = 0.0;
        for (const auto j : node.in)
            open += profit_[j];
        double bound = -node.profit - std::min(open, cliqueProfit(node));
        for (const auto& capacity : blocks_.rules().capacities())
            bound = std::max(bound, -node.profit - capacityProfit(node, capacity));
        return bound;
    }

    double cliqueProfit(const BranchNode& node) const {
        const std::size_t n = local_.size();
        std::vector<std::size_t> rest(node.in);
        std::ranges::sort(rest, std::greater{}, [&](std::size_t j) { return profit_[j]; });
        double sum = 0.0;
        while (!rest.empty()) {
            std::vector<std::size_t> clique, others;
            for (const auto j : rest) {
                const bool joins =
                    std::ranges::all_of(clique, [&](std::size_t i) { return conflict_[i * n + j] != 0; });
                (joins ? clique : others).push_back(j);
            }
            sum += profit_[clique.front()];
            rest.swap(others);
        }
        return sum;
    }

    double capacityProfit(const BranchNode& node, const Capacity& capacity) const {
        double remaining = capacity.limit, sum = 0.0;
        for (const auto member : members_)
            remaining -= capacity.amount[static_cast<std::size_t>(member)];
        const auto amount = [&](std::size_t j) { return capacity.amount[local_[j]]; };
        std::vector<std::size_t> rest(node.in);
        std::ranges::sort(rest, {}, [&](std::size_t j) { return amount(j) / profit_[j]; });
        for (const auto j : rest) {
            const double share = amount(j) <= remaining ? 1.0 : std::max(0.0, remaining) / amount(j);
            sum += share * profit_[j];
            remaining -= share * amount(j);
        }
        return sum;
    }

    // Weights of newcomers cut into steps; those from `first` to before `last` are to be looked at.
    struct Steps {
        std::size_t first, last;
        double width;
        bool exact; // weights are whole numbers and a step is one unit

        double above(std::size_t step) const { return width * static_cast<double>(step + 1); }
        double below(std::size_t step) const {
            return exact ? above(step) : width * static_cast<double>(step) / slack;
        }
    };

    Steps weightSteps(const BranchNode& node) const {
        double total = 0.0;
        bool whole = true;
        for (const auto j : node.in) {
            total += weight_[j];
            whole = whole && weight_[j] == std::floor(weight_[j]);
        }
        total = std::min(total, std::max(0.0, node.heaviest - node.weight) * slack);
        const double least = std::max(0.0, (node.lightest - node.weight) / slack);
        const bool exact = whole && total <= static_cast<double>(maxWeightSteps);
        const double width = exact ? 1.0 : total * slack / static_cast<double>(maxWeightSteps);
        const auto last = exact ? static_cast<std::size_t>(std::floor(total)) : maxWeightSteps;
        // Step i stands for weights in (i, i + 1] widths, exact ones for i + 1 alone.
        const auto first = static_cast<std::size_t>(std::max(0.0, std::ceil(least / width) - 1.0));
        return {std::min(first, last), total > 0.0 ? last : 0, width, exact};
    }

    // Most weight that remaining capacities allow.
    double remainingWeight(const BranchNode& node) const {
        double most = infinity;
        for (const auto& capacity : blocks_.rules().capacities()) {
            double remaining = capacity.limit, ratio = infinity;
            for (const auto member : members_)
                remaining -= capacity.amount[static_cast<std::size_t>(member)];
            for (const auto j : node.in)
                if (weight_[j] > 0.0)
                    ratio = std::min(ratio, capacity.amount[local_[j]] / weight_[j]);
            if (ratio > 0.0 && ratio < infinity)
                most = std::min(most, std::max(0.0, remaining) / ratio * slack);
        }
        return most;
    }

    // Per candidate: cumulated weight and cost of its cheapest partners among the candidates.
    void sumPartners(const BranchNode& node) {
        const std::size_t n = local_.size(), m = node.in.size();
        for (const auto j : node.in)
            isIn_[j] = 1;
        partnerWeight_.resize(m * (m + 1));
        partnerCost_.resize(m * (m + 1));
        partners_.resize(m);
        for (std::size_t k = 0; k != m; ++k) {
            const std::size_t j = node.in[k];
            double weight = 0.0, cost = 0.0;
            std::size_t size = 0;
            double* weights = partnerWeight_.data() + k * (m + 1);
            double* costs = partnerCost_.data() + k * (m + 1);
            weights[0] = costs[0] = 0.0;
            for (const auto c : nearest_[j])
                if (isIn_[c]) {
                    weight += weight_[c];
                    cost += weight_[c] * distance_[j * n + c];
                    ++size;
                    weights[size] = weight;
                    costs[size] = cost;
                }
            partners_[k] = size;
        }
        for (const auto j : node.in)
            isIn_[j] = 0;
    }

    // Least cost per unit of its own weight at which candidate `k` finds `weight` among its partners.
    double partnerCost(std::size_t k, std::size_t m, double weight) const {
        const double* weights = partnerWeight_.data() + k * (m + 1);
        const double* costs = partnerCost_.data() + k * (m + 1);
        const std::size_t size = partners_[k];
        if (weight <= 0.0)
            return 0.0;
        if (weight > weights[size] * slack)
            return infinity;
        const auto above =
            static_cast<std::size_t>(std::lower_bound(weights, weights + size + 1, weight) - weights);
        if (above > size)
            return costs[size];
        const double step = weights[above] - weights[above - 1];
        return costs[above] - (costs[above] - costs[above - 1]) * (weights[above] - weight) / step;
    }

    Steps prepare(const BranchNode& node) {
        sumPartners(node);
        weightless_ = 0.0;
        for (const auto j : node.in)
            if (weight_[j] <= 0.0)
                weightless_ += profit_[j];
        return weightSteps(node);
    }

    double knapsackBound(const BranchNode& node) {
        const Steps steps = prepare(node);
        // Candidates without weight may be all that joins.
        double bound = weightless_ > 0.0 ? node.value() - weightless_ : infinity;
        for (std::size_t step = steps.first; step != steps.last; ++step)
            bound = std::min(bound, boundAt(node, steps, step));
        return bound;
    }

    // Bound of sets whose newcomers weigh (step, step + 1] times the width.
    double boundAt(const BranchNode& node, const Steps& steps, std::size_t step) {
        const std::size_t m = node.in.size();
        const double most = steps.above(step);
        const double least = steps.below(step);
        const double total = node.weight + most;
        items_.clear();
        for (std::size_t k = 0; k != m; ++k) {
            const std::size_t j = node.in[k];
            if (weight_[j] <= 0.0 || weight_[j] > most)
                continue;
            const double partners = partnerCost(k, m, least - weight_[j]);
            if (partners < infinity)
                items_.push_back(
                    {(node.reach[j] + 0.5 * partners) / total - profit_[j] / weight_[j], weight_[j]});
        }
        const double packed = pack(least, most);
        return packed == infinity ? infinity : node.pairs / total - node.profit - weightless_ + packed;
    }

    struct Item {
        double price; // per unit of weight
        double weight;
    };

    // Cheapest way to fill a knapsack to a weight in [least, most], parts of items allowed.
    double pack(double least, double most) {
        std::ranges::sort(items_, {}, &Item::price);
        double weight = 0.0, sum = 0.0;
        for (const auto& item : items_) {
            const double goal = item.price < 0.0 ? most : least;
            if (weight >= goal)
                break;
            const double taken = std::min(item.weight, goal - weight);
            sum += taken * item.price;
            weight += taken;
        }
        return weight * slack < least ? infinity : sum;
    }

    const PricingBlocks& blocks_;
    Progress& progress_;
    bool costless_;
    std::vector<std::size_t> local_; // the root and all blocks compatible with it
    std::vector<double> weight_, profit_, radius_, distance_;
    std::vector<char> conflict_, allowed_;
    std::vector<std::vector<std::uint32_t>> nearest_;
    const std::vector<std::size_t>* rank_ = nullptr;
    std::size_t root_ = 0;
    Column members_;
    double weightless_ = 0.0; // profit of candidates that cost nothing
    std::vector<char> isIn_;
    std::vector<double> partnerWeight_, partnerCost_;
    std::vector<std::size_t> partners_;
    std::vector<Item> items_;
};

} // namespace

ExactPrice priceExactly(const PricingBlocks& blocks, std::span<const double> profit, double cutoff,
                        const PricingLimits& limits, bool costless) {
    const Compatible compatible(blocks, profit, costless);
    const std::vector<std::size_t> order = compatible.order();
    std::vector<std::size_t> rank(blocks.size(), 0);
    for (std::size_t i = 0; i != order.size(); ++i)
        rank[order[i]] = i;
    Progress progress{cutoff, {}, 0, -1, limits};
    ExactPrice result{{}, 0.0, true, 0};
    double open = infinity; // least bound of a branch that is not finished
    for (const auto root : order) {
        Branch branch(blocks, profit, compatible, costless, root, rank, progress);
        if (result.finished) {
            try {
                branch.run();
                continue;
            } catch (const Stop&) {
                result.finished = false;
            }
        }
        open = std::min(open, branch.bound());
    }
    result.bound = std::min(progress.best, open);
    result.nNodes = progress.nNodes;
    result.columns = std::move(progress.columns);
    return result;
}

} // namespace konstrain::exact
