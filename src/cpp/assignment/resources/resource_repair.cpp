#include "resource_repair.h"

#include <algorithm>
#include <numeric>

#include "infinity.h"

namespace konstrain {

namespace {

// Rows that may move: the nearest to a second cluster, so many and so many more per price.
constexpr std::size_t fewestRows = 256;
constexpr std::size_t rowsPerPrice = 16;
// Choices of least regret that are tried two at a time: so many, and so many more per price.
constexpr std::size_t triedByTwo = 160;
constexpr std::size_t triedPerPrice = 12;
// Clusters up to which chains of moves are looked for: their number grows with the third power.
constexpr std::size_t mostChained = 64;
// Improvements of labels that keep all bounds already.
constexpr int mostImprovements = 1000;
// An excess that shrinks by less than this part of itself has not shrunk.
constexpr double leastShrinking = 1e-9;

} // namespace

ResourceRepair::ResourceRepair(const ResourceProblem& problem, const RowKinds& kinds, const RowPricer& pricer,
                               const PricedRows& rows, std::span<std::int32_t> labels)
    : problem_(problem), kinds_(kinds), labels_(labels), sums_(rows.sums), excess_(problem.nClusters),
      regret_(labels.size()), moving_(problem.nAmounts) {
    const std::size_t n = problem.nRows();
    const std::size_t wanted = std::min(n, fewestRows + rowsPerPrice * problem.nClusters * problem.nRules());
    const double widest = wanted < n ? nthOf(rows.gaps, wanted) : infinity;
    std::vector<std::uint32_t> nearest;
    for (std::size_t row = 0; row != n; ++row)
        if (rows.gaps[row] < widest || wanted == n)
            nearest.push_back(static_cast<std::uint32_t>(row));
    for (std::size_t row = 0; row != n && nearest.size() < wanted; ++row)
        if (rows.gaps[row] == widest)
            nearest.push_back(static_cast<std::uint32_t>(row));
    std::vector<double> priced(problem.nClusters);
    for (const std::uint32_t row : nearest) {
        const double least = pricer.priceRow(row, priced.data()).first;
        for (std::size_t j = 0; j != problem.nClusters; ++j)
            if (priced[j] - least <= widest)
                choices_.push_back({row, static_cast<std::int32_t>(j), priced[j] - least});
    }
    std::ranges::sort(choices_, [](const Choice& a, const Choice& b) {
        if (a.regret != b.regret)
            return a.regret < b.regret;
        return a.row != b.row ? a.row < b.row : a.cluster < b.cluster;
    });
    for (std::size_t j = 0; j != problem.nClusters; ++j) {
        excess_[j] = excessAfter(j, 0, 0.0);
        total_ += excess_[j];
    }
}

// By how much a cluster misses its bounds once these amounts have joined (sign 1) or left it (-1).
double ResourceRepair::excessWith(std::size_t cluster, const double* amount, double sign) const {
    const double* sums = sums_.data() + cluster * problem_.nAmounts;
    double total = 0.0;
    for (std::size_t r = 0; r != problem_.nRules(); ++r) {
        const double* rule = problem_.rule(r);
        double value = 0.0;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            value += rule[a] * (sums[a] + sign * amount[a]);
        const std::size_t e = cluster * problem_.nRules() + r;
        total += std::max({0.0, problem_.low[e] - value, value - problem_.high[e]});
    }
    return total;
}

double ResourceRepair::changeOf(const Choice& choice) const {
    const auto from = static_cast<std::size_t>(labels_[choice.row]);
    const auto to = static_cast<std::size_t>(choice.cluster);
    return excessAfter(from, choice.row, -1.0) + excessAfter(to, choice.row, 1.0) - excess_[from] -
           excess_[to];
}

double ResourceRepair::costOf(const Choice& choice) const {
    const double* cost = problem_.cost(choice.row);
    return cost[choice.cluster] - cost[labels_[choice.row]];
}

bool ResourceRepair::touchesExcess(const Choice& choice) const {
    return isMove(choice) && (excess_[static_cast<std::size_t>(labels_[choice.row])] > 0.0 ||
                              excess_[static_cast<std::size_t>(choice.cluster)] > 0.0);
}

void ResourceRepair::move(std::size_t row, std::int32_t to) {
    const std::size_t ends[] = {static_cast<std::size_t>(labels_[row]), static_cast<std::size_t>(to)};
    for (std::size_t a = 0; a != problem_.nAmounts; ++a) {
        sums_[ends[0] * problem_.nAmounts + a] -= problem_.amount(row)[a];
        sums_[ends[1] * problem_.nAmounts + a] += problem_.amount(row)[a];
    }
    labels_[row] = to;
    for (const std::size_t j : ends) {
        // Anew rather than by what changed: zero must be zero.
        excess_[j] = excessAfter(j, row, 0.0);
    }
    total_ = std::accumulate(excess_.begin(), excess_.end(), 0.0);
}

// What any move costs beside its regret: one that costs nothing is not worth any number of others.
double ResourceRepair::unitOfRegret() const {
    return choices_.empty() ? 0.0 : choices_[choices_.size() / 2].regret / 16.0;
}

// Moves the row that lowers the excess most for what it costs.
bool ResourceRepair::repairOnce() {
    const double unit = unitOfRegret();
    const Choice* best = nullptr;
    double bestRate = infinity;
    for (const Choice& choice : choices_) {
        if (!touchesExcess(choice))
            continue;
        const double change = changeOf(choice);
        if (change >= -leastShrinking * total_)
            continue;
        const double rate = (std::max(choice.regret - regret_[choice.row], 0.0) + unit) / -change;
        if (rate < bestRate) {
            best = &choice;
            bestRate = rate;
        }
    }
    if (best == nullptr)
        return false;
    regret_[best->row] = best->regret;
    move(best->row, best->cluster);
    return true;
}

// Where every cluster that has a row to spare is far from the one that is short of it, those between pass
// rows on and keep what they hold.
bool ResourceRepair::repairByChain() {
    if (!kinds_.areFew() || problem_.nClusters > mostChained)
        return false;
    const KindChains joined = chains();
    const double unit = unitOfRegret();
    Transfer best;
    double bestRate = infinity;
    for (Transfer now; now.kind != kinds_.count(); ++now.kind)
        for (now.inExchange = 0; now.inExchange != kinds_.count(); ++now.inExchange)
            for (now.from = 0; now.from != problem_.nClusters; ++now.from)
                for (now.to = 0; now.to != problem_.nClusters; ++now.to) {
                    if (now.from == now.to || (excess_[now.from] == 0.0 && excess_[now.to] == 0.0))
                        continue;
                    const double cost = costOf(joined, now);
                    const double change = cost < infinity ? changeOf(now) : 0.0;
                    if (change < -leastShrinking * total_ && (cost + unit) / -change < bestRate) {
                        bestRate = (cost + unit) / -change;
                        best = now;
                    }
                }
    if (bestRate == infinity)
        return false;
    follow(joined.moves(best.kind, best.from, best.to));
    if (best.inExchange != best.kind)
        follow(joined.moves(best.inExchange, best.to, best.from));
    return true;
}

KindChains ResourceRepair::chains() const {
    KindChains joined(kinds_.count(), problem_.nClusters);
    for (std::size_t i = 0; i != choices_.size(); ++i)
        if (const Choice& choice = choices_[i]; isMove(choice))
            joined.offer(kinds_.of(choice.row), static_cast<std::size_t>(labels_[choice.row]),
                         static_cast<std::size_t>(choice.cluster),
                         std::max(choice.regret - regret_[choice.row], 0.0), i);
    joined.join();
    return joined;
}

double ResourceRepair::costOf(const KindChains& chains, const Transfer& transfer) const {
    const double cost = chains.cost(transfer.kind, transfer.from, transfer.to);
    if (transfer.inExchange == transfer.kind)
        return cost;
    return cost + chains.cost(transfer.inExchange, transfer.to, transfer.from);
}

double ResourceRepair::changeOf(const Transfer& transfer) {
    const double* leaving = problem_.amount(kinds_.example(transfer.kind));
    const double* coming = problem_.amount(kinds_.example(transfer.inExchange));
    for (std::size_t a = 0; a != problem_.nAmounts; ++a)
        moving_[a] = leaving[a] - (transfer.inExchange == transfer.kind ? 0.0 : coming[a]);
    return excessWith(transfer.from, moving_.data(), -1.0) + excessWith(transfer.to, moving_.data(), 1.0) -
           excess_[transfer.from] - excess_[transfer.to];
}

void ResourceRepair::follow(const std::vector<std::size_t>& moves) {
    for (const std::size_t i : moves) {
        const Choice& choice = choices_[i];
        regret_[choice.row] = choice.regret;
        move(choice.row, choice.cluster);
    }
}

// The moves of least regret.
std::vector<const ResourceRepair::Choice*> ResourceRepair::likeliest() const {
    const std::size_t most = triedByTwo + triedPerPrice * problem_.nClusters * problem_.nRules();
    std::vector<const Choice*> few;
    for (const Choice& choice : choices_)
        if (isMove(choice) && few.size() < most)
            few.push_back(&choice);
    return few;
}

// Moves the two rows that lower the excess most for what they cost, where single ones do not lower it.
bool ResourceRepair::repairByTwo() {
    const std::vector<const Choice*> few = likeliest();
    const double before = total_;
    const double unit = unitOfRegret();
    const Choice* best[2] = {nullptr, nullptr};
    double bestRate = infinity;
    for (const Choice* first : few) {
        if (!touchesExcess(*first))
            continue;
        const std::int32_t home = labels_[first->row];
        move(first->row, first->cluster);
        for (const Choice* second : few) {
            if (second->row == first->row || !touchesExcess(*second))
                continue;
            const double change = total_ + changeOf(*second) - before;
            if (change >= -leastShrinking * before)
                continue;
            const double regret = first->regret - regret_[first->row] + second->regret - regret_[second->row];
            const double rate = (std::max(regret, 0.0) + unit) / -change;
            if (rate < bestRate) {
                bestRate = rate;
                best[0] = first;
                best[1] = second;
            }
        }
        move(first->row, home);
    }
    if (best[0] == nullptr)
        return false;
    for (const Choice* choice : best) {
        regret_[choice->row] = choice->regret;
        move(choice->row, choice->cluster);
    }
    return true;
}

// Sends the row that saves most to where it costs less, bounds kept.
bool ResourceRepair::improveOnce() {
    const Choice* best = nullptr;
    double least = 0.0;
    for (const Choice& choice : choices_)
        if (isMove(choice) && costOf(choice) < least && changeOf(choice) <= 0.0) {
            best = &choice;
            least = costOf(choice);
        }
    if (best == nullptr)
        return false;
    move(best->row, best->cluster);
    return true;
}

// Sends two rows elsewhere that keep all bounds only together, wherever that saves something.
bool ResourceRepair::improveByTwo() {
    const std::vector<const Choice*> few = likeliest();
    bool improved = false;
    for (const Choice* first : few) {
        if (!isMove(*first))
            continue;
        const double firstCost = costOf(*first);
        const std::int32_t home = labels_[first->row];
        move(first->row, first->cluster);
        const Choice* best = nullptr;
        double least = 0.0;
        for (const Choice* second : few)
            if (second->row != first->row && isMove(*second) && firstCost + costOf(*second) < least &&
                total_ + changeOf(*second) <= 0.0) {
                least = firstCost + costOf(*second);
                best = second;
            }
        if (best == nullptr)
            move(first->row, home);
        else
            move(best->row, best->cluster);
        improved |= best != nullptr;
    }
    return improved;
}

bool ResourceRepair::run(TimePoint deadline) {
    while (total_ > 0.0 && !isPast(deadline))
        if (!repairOnce() && !repairByChain() && !repairByTwo())
            return false;
    for (int i = 0; i != mostImprovements && total_ == 0.0 && !isPast(deadline); ++i)
        if (!improveOnce() && !improveByTwo())
            break;
    return total_ == 0.0;
}

} // namespace konstrain
