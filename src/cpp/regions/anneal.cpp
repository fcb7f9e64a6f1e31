#include "anneal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "cholesky.h"
#include "contiguity.h"
#include "repair_pieces.h"

namespace konstrain::regions {

namespace {

using search::Problem;
using search::Shift;

constexpr std::size_t notThere = std::numeric_limits<std::size_t>::max();
constexpr double infinity = std::numeric_limits<double>::infinity();

void append(std::vector<std::size_t>& blocks, std::vector<std::size_t>& position, std::size_t block) {
    position[block] = blocks.size();
    blocks.push_back(block);
}

void remove(std::vector<std::size_t>& blocks, std::vector<std::size_t>& position, std::size_t block) {
    blocks[position[block]] = blocks.back();
    position[blocks.back()] = position[block];
    blocks.pop_back();
}

// A number below n from 32 random bits; a step takes too little time for a division.
std::size_t scaled(std::uint64_t bits, std::size_t n) {
    return static_cast<std::size_t>((bits * n) >> 32);
}

class Annealing {
public:
    Annealing(search::Context& context, const Graph& graph, search::State& state, Random& random)
        : context_(context), problem_(context.problem), graph_(graph), state_(state), random_(random),
          contiguity_(graph, problem_.nClusters), boundaryOf_(problem_.nClusters),
          position_(problem_.nBlocks), positionIn_(problem_.nBlocks), listedIn_(problem_.nBlocks, notThere) {}

    void run(std::int64_t nSteps, double priceFactor) {
        const auto nStrays = static_cast<double>(repairPieces(problem_, graph_, state_));
        recountAll();
        fillEmpty();
        found_ = state_.labels;
        keepBest();
        balanceDuals();
        try {
            // A cool run only refines: a start that breaks constraints after earlier runs needs a hot one.
            const double hottest = params_.hottest * (violation_ > 0.0 ? priceFactor : 1.0);
            const double heat = params_.heatOfStrays * nStrays / static_cast<double>(problem_.nBlocks);
            anneal(std::max(hottest, heat), params_.price * priceFactor, nSteps);
        } catch (...) {
            finish();
            throw;
        }
        finish();
    }

private:
    struct BoundaryMove {
        std::size_t block;
        std::size_t to;
        double change = 0.0;    // of the objective
        double charge = 0.0;    // of what duals charge
        double violation = 0.0; // of rules and hard links
        int joining = 0;        // of the pieces of either cluster
        int leaving = 0;
    };

    // What was kept move by move is counted anew: that is what counts.
    void finish() {
        state_.labels = found_;
        recount(problem_, state_);
    }
    void anneal(double heat, double price, std::int64_t nSteps);
    bool draw(BoundaryMove& move, const std::vector<std::size_t>& blocks);
    void rate(BoundaryMove& move) const;
    bool changePieces(BoundaryMove& move, double price, double most);
    void apply(const BoundaryMove& move);
    void undo(const BoundaryMove& move, std::size_t from);
    bool step(double temperature, double price);
    bool stepTwice(double temperature, double price);
    double drawRise(double temperature);
    double energy(const BoundaryMove& move, double price) const;
    void account(const BoundaryMove& move);
    double changeOfMove(std::size_t block, std::size_t to) const;
    void updateBoundary(std::size_t block);
    void updateDuals(double unitCost);
    void balanceDuals();
    void recountAll();
    void fillEmpty();
    double medianChange() const;
    template <typename Visit> void forEachCrossing(Visit visit) const;
    void keepBest();

    search::Context& context_;
    const Problem& problem_;
    const Graph& graph_;
    search::State& state_;
    Random& random_;
    Params params_;
    Contiguity contiguity_;
    // Blocks with a neighbour in another cluster, in no order: all, and by cluster, with the positions of
    // each block in both lists and the cluster in whose list it is, if any.
    std::vector<std::size_t> boundary_;
    std::vector<std::vector<std::size_t>> boundaryOf_; // nClusters
    std::vector<std::size_t> position_, positionIn_, listedIn_;
    double current_ = 0.0; // objective of the state
    double missed_ = 0.0;  // violation of the state
    std::vector<std::int32_t> found_;
    std::vector<std::size_t> changed_; // blocks moved since labels were kept
    double cost_ = infinity;
    double violation_ = infinity;
};

void Annealing::recountAll() {
    recount(problem_, state_);
    contiguity_.assign(state_.labels);
    current_ = objective(problem_, state_);
    missed_ = totalViolation(problem_, state_) + static_cast<double>(contiguity_.nExcess());
    for (std::size_t block = 0; block != problem_.nBlocks; ++block)
        updateBoundary(block);
}

// No move enters a cluster without blocks: it gets the block that costs most where it is, of those that leave
// their cluster in one piece.
void Annealing::fillEmpty() {
    for (std::size_t cluster = 0; cluster != problem_.nClusters; ++cluster) {
        if (!problem_.nonempty || state_.count[cluster] != 0)
            continue;
        BoundaryMove move{problem_.nBlocks, cluster};
        double most = -1.0;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            const std::size_t from = state_.label(block);
            const double cost = -changeOf(problem_, state_, from, {block, -1.0});
            if (cost > most && mayLeave(problem_, state_, from) && !graph_.isSplit(block) &&
                contiguity_.changeByLeaving(block) <= 0) {
                most = cost;
                move.block = block;
            }
        }
        if (move.block == problem_.nBlocks)
            return;
        move.leaving = contiguity_.changeByLeaving(move.block);
        move.joining = contiguity_.changeByJoining(move.block, cluster);
        apply(move);
        recountAll();
    }
}

void Annealing::updateBoundary(std::size_t block) {
    const std::int32_t own = contiguity_.label(graph_.partBegin(block));
    bool isAt = false;
    for (std::size_t edge = graph_.edgeBegin(block); !isAt && edge != graph_.edgeEnd(block); ++edge)
        isAt = contiguity_.label(graph_.end(edge)) != own;
    const std::size_t cluster = isAt ? static_cast<std::size_t>(own) : notThere;
    if (cluster == listedIn_[block])
        return;
    if (listedIn_[block] == notThere)
        append(boundary_, position_, block);
    else
        remove(boundaryOf_[listedIn_[block]], positionIn_, block);
    if (isAt)
        append(boundaryOf_[cluster], positionIn_, block);
    else
        remove(boundary_, position_, block);
    listedIn_[block] = cluster;
}

double Annealing::changeOfMove(std::size_t block, std::size_t to) const {
    return changeOf(problem_, state_, state_.label(block), {block, -1.0}) +
           changeOf(problem_, state_, to, {block, 1.0});
}

// One of the blocks, and the cluster of one of its neighbours.
bool Annealing::draw(BoundaryMove& move, const std::vector<std::size_t>& blocks) {
    const std::uint64_t drawn = random_();
    move.block = blocks[scaled(drawn >> 32, blocks.size())];
    const std::size_t own = state_.label(move.block);
    const std::size_t first = graph_.edgeBegin(move.block), n = graph_.edgeEnd(move.block) - first;
    move.to = static_cast<std::size_t>(contiguity_.label(graph_.end(first + scaled(drawn & 0xffffffff, n))));
    return move.to != own && mayLeave(problem_, state_, own);
}

void Annealing::rate(BoundaryMove& move) const {
    const std::size_t from = state_.label(move.block);
    move.change = changeOfMove(move.block, move.to) + problem_.changeOfMoveCost(move.block, from, move.to);
    move.violation =
        violation(problem_, state_, from, Shift{move.block, -1.0}) - violation(problem_, state_, from) +
        violation(problem_, state_, move.to, Shift{move.block, 1.0}) - violation(problem_, state_, move.to);
    move.charge = 0.0;
    const double* amount = problem_.amount(move.block);
    for (std::size_t rule = 0; rule != problem_.nRules; ++rule)
        move.charge += amount[rule] * (state_.duals[move.to * problem_.nRules + rule] -
                                       state_.duals[from * problem_.nRules + rule]);
    if (problem_.isLinked(move.block)) {
        const search::LinkCost in = linkCost(problem_, state_, move.block, move.to);
        const search::LinkCost out = linkCost(problem_, state_, move.block, from);
        move.change += in.soft - out.soft;
        move.violation += in.hard - out.hard;
    }
}

// Counts what the move does to the pieces; false: it breaks a cluster that has to stay in one, or raises the
// energy by more than `most`.
bool Annealing::changePieces(BoundaryMove& move, double price, double most) {
    const std::size_t from = state_.label(move.block);
    if (contiguity_.nPieces(from) == 1 && !graph_.isSplit(move.block) &&
        !contiguity_.isPassable(move.block, state_.labels[move.block])) {
        move.leaving = 1;
        if (!graph_.hasSplitBlocks() || energy(move, price) > most)
            return false;
    }
    if (move.leaving == 1 || contiguity_.nPieces(from) != 1 || graph_.isSplit(move.block))
        move.leaving = contiguity_.changeByLeaving(move.block);
    move.joining = contiguity_.changeByJoining(move.block, move.to);
    return (graph_.hasSplitBlocks() || move.leaving + move.joining <= 0) && energy(move, price) <= most;
}

double Annealing::energy(const BoundaryMove& move, double price) const {
    return move.change + move.charge + price * (move.violation + move.joining + move.leaving);
}

// By how much the energy may rise at most: Metropolis' rule, the random number drawn before the move is
// rated.
double Annealing::drawRise(double temperature) {
    return -temperature * std::log(1.0 - drawUnit(random_));
}

void Annealing::apply(const BoundaryMove& move) {
    contiguity_.move(move.block, move.to, move.joining, move.leaving);
    moveBlock(problem_, state_, move.block, move.to);
    updateBoundary(move.block);
    for (std::size_t edge = graph_.edgeBegin(move.block); edge != graph_.edgeEnd(move.block); ++edge)
        updateBoundary(graph_.block(graph_.end(edge)));
}

void Annealing::undo(const BoundaryMove& move, std::size_t from) {
    apply({move.block, from, 0.0, 0.0, 0.0, -move.leaving, -move.joining});
}

void Annealing::account(const BoundaryMove& move) {
    current_ += move.change;
    missed_ += move.violation + move.joining + move.leaving;
    if (changed_.size() <= problem_.nBlocks)
        changed_.push_back(move.block);
}

bool Annealing::step(double temperature, double price) {
    BoundaryMove move;
    if (!draw(move, boundary_))
        return false;
    rate(move);
    // The search for what is connected comes last: most moves are refused without it.
    const double most = drawRise(temperature);
    const double merged = price * static_cast<double>(contiguity_.mostMerged(move.block, move.to));
    if (energy(move, price) - merged > most || !changePieces(move, price, most))
        return false;
    apply(move);
    account(move);
    return true;
}

bool Annealing::stepTwice(double temperature, double price) {
    BoundaryMove first, second;
    if (!draw(first, boundary_) || !draw(second, boundaryOf_[first.to]) || second.block == first.block)
        return false;
    const std::size_t from = state_.label(first.block);
    rate(first);
    // Only the sums follow the first move until both are accepted.
    moveBlock(problem_, state_, first.block, first.to);
    rate(second);
    const double rise = energy(first, price) + energy(second, price), most = drawRise(temperature);
    moveBlock(problem_, state_, first.block, from);
    if (rise > most || !changePieces(first, price, infinity))
        return false;
    apply(first);
    // The second block may have touched its new cluster by the first one only.
    if (!changePieces(second, price, infinity) ||
        first.joining + first.leaving + second.joining + second.leaving > 0) {
        undo(first, from);
        return false;
    }
    apply(second);
    account(first);
    account(second);
    return true;
}

// Visits each edge across a boundary: a block with weight, its cluster, the cluster that it could join, and
// by how much that would change the sum of squares.
template <typename Visit> void Annealing::forEachCrossing(Visit visit) const {
    for (const std::size_t block : boundary_) {
        const std::size_t from = state_.label(block);
        for (std::size_t edge = graph_.edgeBegin(block); edge != graph_.edgeEnd(block); ++edge) {
            const auto to = static_cast<std::size_t>(contiguity_.label(graph_.end(edge)));
            if (to != from && problem_.weight[block] > 0.0)
                visit(block, from, to, changeOfMove(block, to));
        }
    }
}

// Duals at which moves across boundaries are neutral on the mean, by least squares: moves in both directions
// together show what a cluster's loads are worth.
void Annealing::balanceDuals() {
    const std::size_t nRules = problem_.nRules, n = problem_.nClusters * nRules;
    std::ranges::fill(state_.duals, 0.0);
    std::vector<double> matrix(n * n), side(n), row(nRules);
    forEachCrossing([&](std::size_t block, std::size_t from, std::size_t to, double change) {
        double size = 0.0;
        for (std::size_t rule = 0; rule != nRules; ++rule)
            size += std::abs(problem_.amount(block)[rule]) / problem_.unit[rule];
        if (!(size > 0.0))
            return;
        // Unknowns are duals times units, which have the size of changes.
        for (std::size_t rule = 0; rule != nRules; ++rule)
            row[rule] = problem_.amount(block)[rule] / problem_.unit[rule] / size;
        for (const auto& [cluster, sign] : {std::pair{to, 1.0}, std::pair{from, -1.0}})
            for (std::size_t rule = 0; rule != nRules; ++rule) {
                const std::size_t at = cluster * nRules + rule;
                side[at] -= sign * row[rule] * change / size;
                for (std::size_t other = 0; other != nRules; ++other) {
                    matrix[at * n + to * nRules + other] += sign * row[rule] * row[other];
                    matrix[at * n + from * nRules + other] -= sign * row[rule] * row[other];
                }
            }
    });
    for (std::size_t at = 0; at != n; ++at)
        matrix[at * n + at] += 1.0; // of several solutions, one near zero
    factorize(matrix, n);
    solveFactorized(matrix, n, side);
    for (std::size_t at = 0; at != n; ++at)
        state_.duals[at] = side[at] / problem_.unit[at % nRules];
}

void Annealing::updateDuals(double unitCost) {
    for (std::size_t at = 0; at != state_.duals.size(); ++at) {
        const double unit = problem_.unit[at % problem_.nRules], range = problem_.high[at] - problem_.low[at];
        const double above = state_.load[at] - problem_.high[at], below = problem_.low[at] - state_.load[at];
        if (above <= 0.0 && below <= 0.0) {
            state_.duals[at] *= 1.0 - 1e-3 * params_.dualStep;
            continue;
        }
        const double width = std::isfinite(range) ? std::max(range, unit) : unit;
        state_.duals[at] += params_.dualStep * unitCost / unit *
                            (above > 0.0 ? std::min(1.0, above / width) : -std::min(1.0, below / width));
    }
}

// Half of the moves across boundaries change the objective by less.
double Annealing::medianChange() const {
    std::vector<double> changes;
    forEachCrossing(
        [&](std::size_t, std::size_t, std::size_t, double change) { changes.push_back(std::abs(change)); });
    if (changes.empty())
        return 0.0;
    const auto middle = changes.begin() + static_cast<std::ptrdiff_t>(changes.size() / 2);
    std::ranges::nth_element(changes, middle);
    return *middle > 0.0 ? *middle : *std::ranges::max_element(changes);
}

void Annealing::keepBest() {
    const double missed = missed_ <= search::sameViolation ? 0.0 : missed_;
    const double gain = search::leastGain * std::abs(current_);
    if (missed > violation_ || (missed == violation_ && !(current_ < cost_ - gain)))
        return;
    violation_ = missed;
    cost_ = current_;
    if (changed_.size() > problem_.nBlocks)
        found_ = state_.labels;
    else
        for (const std::size_t block : changed_)
            found_[block] = state_.labels[block];
    changed_.clear();
}

void Annealing::anneal(double heat, double price, std::int64_t n) {
    const double unitCost = medianChange();
    if (boundary_.empty())
        return;
    // Where no move changes the objective, any temperature will do.
    const double scale = unitCost > 0.0 ? unitCost : 1.0;
    const double hottest = heat * scale, coldest = std::min(hottest, params_.coldest * scale);
    const auto nSteps = static_cast<double>(n);
    double temperature = hottest, cost = price * scale;
    for (std::int64_t at = 0; at != n && !boundary_.empty(); ++at) {
        if (at % params_.stepsPerUpdate == 0) {
            if (context_.expired())
                return;
            updateDuals(scale);
            const double done = static_cast<double>(at) / nSteps;
            temperature = hottest * std::pow(coldest / hottest, done);
            cost = price * scale * std::pow(params_.priceGrowth, std::max(0.0, 5.0 * done - 4.0));
            // Sums that follow moves are computed anew before rounding adds up.
            if (at % (params_.stepsPerUpdate * static_cast<std::int64_t>(problem_.nBlocks)) == 0)
                recountAll();
        }
        const bool twice = drawUnit(random_) < params_.shareOfPairs;
        if (twice ? stepTwice(temperature, cost) : step(temperature, cost))
            keepBest();
    }
}

} // namespace

void anneal(search::Context& context, const Graph& graph, search::State& state, Random& random,
            std::int64_t nSteps, double priceFactor) {
    Annealing(context, graph, state, random).run(nSteps, priceFactor);
}

} // namespace konstrain::regions
