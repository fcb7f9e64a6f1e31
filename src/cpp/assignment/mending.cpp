#include "mending.h"

#include <algorithm>
#include <cassert>

#include "infinity.h"

namespace konstrain {

Mending::Mending(const MendingProblem& problem, std::span<std::int32_t> labels)
    : problem_(problem), labels_(labels), sizes_(problem.nClusters()) {
    assert(problem.costs.size() == problem.nBlocks() * problem.nClusters());
    assert(labels.size() == problem.nBlocks() && problem.high.size() == problem.nClusters());
    sumSizes();
}

void Mending::sumSizes() {
    std::ranges::fill(sizes_, 0.0);
    for (std::size_t block = 0; block != labels_.size(); ++block)
        sizes_[label(block)] += problem_.demand[block];
}

// By how much a cluster is out of bounds, with so much more demand in it.
double Mending::missing(std::size_t cluster, double more) const {
    const double size = sizes_[cluster] + more;
    return std::max(std::max(size - problem_.high[cluster], problem_.low[cluster] - size), 0.0);
}

bool Mending::isAnyMissing() const {
    for (std::size_t j = 0; j != sizes_.size(); ++j)
        if (missing(j) > 0.0)
            return true;
    return false;
}

void Mending::move(std::size_t block, std::size_t cluster) {
    sizes_[label(block)] -= problem_.demand[block];
    sizes_[cluster] += problem_.demand[block];
    labels_[block] = static_cast<std::int32_t>(cluster);
}

void Mending::exchange(std::size_t one, std::size_t other) {
    const std::size_t target = label(one);
    move(one, label(other));
    move(other, target);
}

bool Mending::mendSizes(double least, std::size_t mostPairs) {
    for (std::size_t n = 0; n != 2 * labels_.size(); ++n) {
        if (!isAnyMissing())
            return true;
        if (!moveOne(least) && !exchangeTwo(least, mostPairs))
            return false;
    }
    return false;
}

bool Mending::moveOne(double least) {
    Move best{infinity, 0, 0};
    for (const std::int32_t movable : problem_.movable) {
        const auto block = static_cast<std::size_t>(movable);
        const std::size_t home = label(block);
        const double demand = problem_.demand[block];
        const double leaving = missing(home, -demand) - missing(home);
        for (std::size_t j = 0; j != sizes_.size(); ++j) {
            const double mended = j == home ? 0.0 : -(leaving + (missing(j, demand) - missing(j)));
            if (mended > least && rise(block, j) / mended < best.value)
                best = {rise(block, j) / mended, block, j};
        }
    }
    if (best.value == infinity)
        return false;
    move(best.block, best.other);
    return true;
}

bool Mending::exchangeTwo(double least, std::size_t mostPairs) {
    std::vector<std::size_t> wrong; // blocks of clusters that are out of bounds
    for (const std::int32_t block : problem_.movable)
        if (missing(label(static_cast<std::size_t>(block))) > 0.0)
            wrong.push_back(static_cast<std::size_t>(block));
    if (wrong.size() * problem_.movable.size() > mostPairs)
        return false;
    Move best{infinity, 0, 0};
    for (const std::size_t one : wrong)
        for (const std::int32_t movable : problem_.movable) {
            const auto other = static_cast<std::size_t>(movable);
            const std::size_t here = label(one);
            const std::size_t there = label(other);
            if (here == there)
                continue;
            const double more = problem_.demand[other] - problem_.demand[one];
            const double mended =
                missing(here) + missing(there) - missing(here, more) - missing(there, -more);
            if (!(mended > least))
                continue;
            const double price = (rise(one, there) + rise(other, here)) / mended;
            if (price < best.value)
                best = {price, one, other};
        }
    if (best.value == infinity)
        return false;
    exchange(best.block, best.other);
    return true;
}

void Mending::makeCheaper(double worth, bool isNonempty) {
    for (;;) {
        const Move alone = cheapestMove(isNonempty);
        const Move together = cheapestExchange(std::min(alone.value, -worth));
        if (std::min(alone.value, together.value) >= -worth)
            return;
        if (alone.value <= together.value)
            move(alone.block, alone.other);
        else
            exchange(together.block, together.other);
        // Anew, as they will be judged: moves would add up what rounding did to each.
        sumSizes();
    }
}

Mending::Move Mending::cheapestMove(bool isNonempty) const {
    std::vector<std::size_t> counts(sizes_.size());
    for (const std::int32_t cluster : labels_)
        ++counts[static_cast<std::size_t>(cluster)];
    Move best{infinity, 0, 0};
    for (const std::int32_t movable : problem_.movable) {
        const auto block = static_cast<std::size_t>(movable);
        const std::size_t home = label(block);
        const double demand = problem_.demand[block];
        if (missing(home, -demand) != 0.0 || (isNonempty && counts[home] == 1))
            continue;
        for (std::size_t j = 0; j != sizes_.size(); ++j)
            if (j != home && rise(block, j) < best.value && missing(j, demand) == 0.0)
                best = {rise(block, j), block, j};
    }
    return best;
}

// Sizes are looked at last: few pairs cost less than the best so far.
Mending::Move Mending::cheapestExchange(double below) const {
    Move best{below, 0, 0};
    bool isAny = false;
    for (std::size_t m = 0; m != problem_.movable.size(); ++m) {
        const auto one = static_cast<std::size_t>(problem_.movable[m]);
        const std::size_t here = label(one);
        for (std::size_t n = m + 1; n < problem_.movable.size(); ++n) {
            const auto other = static_cast<std::size_t>(problem_.movable[n]);
            const std::size_t there = label(other);
            if (here == there)
                continue;
            const double value = rise(one, there) + rise(other, here);
            if (!(value < best.value))
                continue;
            const double more = problem_.demand[other] - problem_.demand[one];
            if (missing(here, more) == 0.0 && missing(there, -more) == 0.0) {
                best = {value, one, other};
                isAny = true;
            }
        }
    }
    return isAny ? best : Move{infinity, 0, 0};
}

} // namespace konstrain
