#include "regions.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cholesky.h"
#include "repair_pieces.h"

namespace konstrain::regions {

namespace {

constexpr std::size_t notThere = std::numeric_limits<std::size_t>::max();
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

} // namespace

Regions::Regions(search::Problem problem, Graph graph, std::uint64_t seed)
    : problem_(std::move(problem)), graph_(std::move(graph)), random_(seed), state_(problem_),
      contiguity_(graph_, problem_.nClusters), boundaryOf_(problem_.nClusters), position_(problem_.nBlocks),
      positionIn_(problem_.nBlocks), listedIn_(problem_.nBlocks, notThere), found_(problem_.nBlocks) {}

bool Regions::isOver(const AnnealLimits& limits) const {
    if (limits.poll)
        limits.poll();
    return isPast(limits.deadline);
}

void Regions::run(std::span<const std::int32_t> labels, const AnnealLimits& limits) {
    std::ranges::copy(labels, state_.labels.begin());
    const std::size_t nStrays = repairPieces(problem_, graph_, state_);
    recountAll();
    found_ = state_.labels;
    changed_.clear();
    cost_ = violation_ = std::numeric_limits<double>::infinity();
    keepBest();
    const bool isApart =
        static_cast<double>(nStrays) > params_.shareApart * static_cast<double>(problem_.nBlocks);
    double price = params_.price;
    try {
        for (int attempt = 0; attempt != params_.maxAttempts; ++attempt, price *= 4.0) {
            balanceDuals();
            anneal(isApart && attempt == 0 ? params_.hottestApart : params_.hottest, price, limits);
            if (violation_ <= search::sameViolation || isPast(limits.deadline))
                break;
        }
    } catch (...) {
        finish();
        throw;
    }
    finish();
}

// What was kept move by move is counted anew: that is what counts.
void Regions::finish() {
    state_.labels = found_;
    recountAll();
    cost_ = current_;
    violation_ = missed_;
    if (contiguity_.nExcess() == 0 && isFeasible(problem_, state_))
        violation_ = 0.0;
    else if (violation_ == 0.0)
        violation_ = std::numeric_limits<double>::min();
}

void Regions::recountAll() {
    recount(problem_, state_);
    contiguity_.assign(state_.labels);
    current_ = objective(problem_, state_);
    missed_ = totalViolation(problem_, state_) + static_cast<double>(contiguity_.nExcess());
    for (std::size_t block = 0; block != problem_.nBlocks; ++block)
        updateBoundary(block);
}

void Regions::updateBoundary(std::size_t block) {
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

// With W the weight of the cluster and c its mean, a block of weight w that joins (leaves) changes its sum of
// squares by w W / (W + w) |x - c|^2 (minus w W / (W - w) |x - c|^2).
double Regions::changeOfOne(std::size_t block, std::size_t cluster, double sign) const {
    const double before = state_.weight[cluster], after = before + sign * problem_.weight[block];
    // A cluster without weight has no mean of its own: what enters it sets the mean.
    if (!(after > search::termRounding * before))
        return 0.0;
    return sign * problem_.weight[block] * before / after *
           search::squaredDistance(problem_.mean(block), state_.center(cluster, problem_),
                                   problem_.nFeatures);
}

// One of the blocks, and the cluster of one of its neighbours.
bool Regions::draw(BoundaryMove& move, const std::vector<std::size_t>& blocks) {
    const std::uint64_t drawn = random_();
    move.block = blocks[scaled(drawn >> 32, blocks.size())];
    const std::size_t own = state_.label(move.block);
    const std::size_t first = graph_.edgeBegin(move.block), n = graph_.edgeEnd(move.block) - first;
    move.to = static_cast<std::size_t>(contiguity_.label(graph_.end(first + scaled(drawn & 0xffffffff, n))));
    return move.to != own && state_.count[own] > problem_.leastCount();
}

void Regions::rate(BoundaryMove& move) const {
    const std::size_t from = state_.label(move.block);
    move.change = changeOfOne(move.block, from, -1.0) + changeOfOne(move.block, move.to, 1.0);
    move.violation = violationWith(problem_, state_, from, move.block, -1.0) -
                     search::violation(problem_, state_, from) +
                     violationWith(problem_, state_, move.to, move.block, 1.0) -
                     search::violation(problem_, state_, move.to);
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

// Counts what the move does to the pieces; false: it breaks a cluster that has to stay in one.
bool Regions::changePieces(BoundaryMove& move) {
    if (!graph_.hasSplitBlocks() && contiguity_.nPieces(state_.label(move.block)) == 1) {
        if (!contiguity_.staysConnected(move.block))
            return false;
        move.leaving = 0;
    } else
        move.leaving = contiguity_.changeByLeaving(move.block);
    move.joining = contiguity_.changeByJoining(move.block, move.to);
    return graph_.hasSplitBlocks() || move.leaving + move.joining <= 0;
}

double Regions::energy(const BoundaryMove& move, double price) const {
    return move.change + move.charge + price * (move.violation + move.joining + move.leaving);
}

bool Regions::accepts(double energy, double temperature) {
    return energy <= 0.0 || drawUnit(random_) < std::exp(-energy / temperature);
}

void Regions::apply(const BoundaryMove& move) {
    contiguity_.move(move.block, move.to, move.joining, move.leaving);
    moveBlock(problem_, state_, move.block, move.to);
    updateBoundary(move.block);
    for (std::size_t edge = graph_.edgeBegin(move.block); edge != graph_.edgeEnd(move.block); ++edge)
        updateBoundary(graph_.block(graph_.end(edge)));
}

void Regions::undo(const BoundaryMove& move, std::size_t from) {
    apply({move.block, from, 0.0, 0.0, 0.0, -move.leaving, -move.joining});
}

void Regions::account(const BoundaryMove& move) {
    current_ += move.change;
    missed_ += move.violation + move.joining + move.leaving;
    if (changed_.size() <= problem_.nBlocks)
        changed_.push_back(move.block);
}

bool Regions::step(double temperature, double price) {
    BoundaryMove move;
    if (!draw(move, boundary_))
        return false;
    rate(move);
    // The search for what is connected comes last: most moves are refused without it. Pieces can only fall in
    // number where there are more than clusters.
    if (graph_.hasSplitBlocks()) {
        if (!changePieces(move) || !accepts(energy(move, price), temperature))
            return false;
    } else if (!accepts(energy(move, price), temperature) || !changePieces(move))
        return false;
    apply(move);
    account(move);
    return true;
}

bool Regions::stepTwice(double temperature, double price) {
    BoundaryMove first, second;
    if (!draw(first, boundary_) || !draw(second, boundaryOf_[first.to]) || second.block == first.block)
        return false;
    const std::size_t from = state_.label(first.block);
    rate(first);
    // Only the sums follow the first move until both are accepted.
    moveBlock(problem_, state_, first.block, first.to);
    rate(second);
    const bool accepted = accepts(energy(first, price) + energy(second, price), temperature);
    moveBlock(problem_, state_, first.block, from);
    if (!accepted || !changePieces(first))
        return false;
    apply(first);
    // The second block may have touched its new cluster by the first one only.
    if (!changePieces(second) || first.joining + first.leaving + second.joining + second.leaving > 0) {
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
template <typename Visit> void Regions::forEachCrossing(Visit visit) const {
    for (const std::size_t block : boundary_) {
        const std::size_t from = state_.label(block);
        for (std::size_t edge = graph_.edgeBegin(block); edge != graph_.edgeEnd(block); ++edge) {
            const auto to = static_cast<std::size_t>(contiguity_.label(graph_.end(edge)));
            if (to != from && problem_.weight[block] > 0.0)
                visit(block, from, to, changeOfOne(block, from, -1.0) + changeOfOne(block, to, 1.0));
        }
    }
}

// Duals at which moves across boundaries are neutral on the mean, by least squares: moves in both directions
// together show what a cluster's loads are worth.
void Regions::balanceDuals() {
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

void Regions::updateDuals(double unitCost) {
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
double Regions::medianChange() const {
    std::vector<double> changes;
    forEachCrossing(
        [&](std::size_t, std::size_t, std::size_t, double change) { changes.push_back(std::abs(change)); });
    if (changes.empty())
        return 0.0;
    const auto middle = changes.begin() + static_cast<std::ptrdiff_t>(changes.size() / 2);
    std::ranges::nth_element(changes, middle);
    return *middle > 0.0 ? *middle : *std::ranges::max_element(changes);
}

void Regions::keepBest() {
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

void Regions::anneal(double heat, double price, const AnnealLimits& limits) {
    const double unitCost = medianChange();
    if (boundary_.empty())
        return;
    // Where no move changes the objective, any temperature will do.
    const double scale = unitCost > 0.0 ? unitCost : 1.0;
    const double hottest = heat * scale, coldest = std::min(hottest, params_.coldest * scale);
    const auto nSteps = static_cast<double>(limits.nSteps);
    double temperature = hottest, cost = price * scale;
    for (std::int64_t at = 0; at != limits.nSteps && !boundary_.empty(); ++at) {
        if (at % params_.stepsPerUpdate == 0) {
            if (isOver(limits))
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

} // namespace konstrain::regions
