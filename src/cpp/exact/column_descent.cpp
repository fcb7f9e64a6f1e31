#include "column_descent.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_set>

#include "infinity.h"

namespace konstrain::exact {

namespace {

// Random-looking number of a point (splitmix64); the key of a set is the exclusive or over its members
// (Zobrist 1970), whatever their order. Of n sets, two share a key with probability n^2 / 2^65; if that
// happens, one column is not found, and nothing is wrong.
std::uint64_t keyOf(std::int32_t point) {
    std::uint64_t z = (static_cast<std::uint64_t>(point) + 1) * 0x9e3779b97f4a7c15ULL;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
}

std::uint64_t keyOf(std::span<const std::int32_t> members) {
    std::uint64_t key = 0;
    for (const std::int32_t i : members)
        key ^= keyOf(i);
    return key;
}

std::size_t at(std::int32_t i) {
    return static_cast<std::size_t>(i);
}

// Moves a center to the mean of the members; leaves it where they have no weight.
void moveToMean(const ClusterPoints& points, std::span<const std::int32_t> members,
                std::span<double> center) {
    double total = 0.0;
    for (const std::int32_t i : members)
        total += points.weight(at(i));
    if (total <= 0.0)
        return;
    std::ranges::fill(center, 0.0);
    for (const std::int32_t i : members)
        for (std::size_t a = 0; a != points.nFeatures(); ++a)
            center[a] += points.weight(at(i)) * points.point(at(i))[a];
    for (double& coordinate : center)
        coordinate /= total;
}

bool hasMember(std::span<const std::int32_t> points, const std::vector<char>& isMember) {
    return std::ranges::any_of(points, [&](std::int32_t j) { return isMember[at(j)] != 0; });
}

} // namespace

// The greedy rule for knapsacks (Dantzig 1957): ascending ratios of reduced distance to demand are the
// optimum of the relaxation that takes parts of points, and its multiplier is the ratio at which the cluster
// is full. With whole points and conflicts the choice may be worse than the best one: columns stay valid, as
// `addColumn` computes what they cost, and bounds hold for any multiplier.
Filling fillCluster(const ClusterPoints& points, std::span<const double> reduced,
                    std::span<const std::int32_t> candidates, double demand, std::vector<char>& isMember) {
    Filling filling{demand, 0.0, 0.0};
    std::vector<std::pair<double, std::int32_t>> order(candidates.size());
    double leastDemand = infinity;
    std::ranges::transform(candidates, order.begin(), [&](std::int32_t i) {
        leastDemand = std::min(leastDemand, points.demand(at(i)));
        return std::pair(points.ratio(at(i), reduced[at(i)]), i);
    });
    AscendingQueue queue(std::move(order));
    double last = -infinity;
    bool isFull = false;
    while (!queue.isEmpty()) {
        const auto [ratio, i] = queue.pop();
        if (ratio >= 0.0 && filling.demand >= points.sizeMin())
            break;
        if (isFull && filling.demand + leastDemand > points.sizeMax())
            break;
        if (hasMember(points.conflicts(at(i)), isMember))
            continue;
        const bool fits = filling.demand + points.demand(at(i)) <= points.sizeMax();
        if (!fits && !isFull) {
            // Between the last point that fits and the first that does not, where the cluster is full
            // exactly.
            filling.multiplier =
                filling.demand >= points.sizeMax() && std::isfinite(last) ? -0.5 * (last + ratio) : -ratio;
            isFull = true;
        }
        if (!fits)
            continue;
        isMember[at(i)] = 1;
        filling.demand += points.demand(at(i));
        filling.value += reduced[at(i)];
        if (!isFull && ratio > 0.0)
            filling.multiplier = -ratio;
        last = ratio;
    }
    if (filling.demand < points.sizeMin())
        filling.value = infinity;
    return filling;
}

// Without sizes and conflicts the best cluster at a center is all points of negative reduced distance: O(n
// d).
void chooseMembers(const ClusterPoints& points, std::span<const double> duals, std::span<const double> center,
                   const Fixed& fixed, std::vector<double>& reduced, std::vector<std::int32_t>& members) {
    const std::size_t n = points.size();
    reduced.resize(n);
    members.clear();
    for (std::size_t i = 0; i != n; ++i)
        reduced[i] = points.reducedDistance(i, center, duals);
    if (points.isFree()) {
        for (std::size_t i = 0; i != n; ++i)
            if (reduced[i] < 0.0)
                members.push_back(static_cast<std::int32_t>(i));
        return;
    }
    std::vector<char> isMember(n, 0);
    double demand = 0.0;
    for (const std::int32_t i : fixed.in) {
        isMember[at(i)] = 1;
        demand += points.demand(at(i));
    }
    std::vector<std::int32_t> candidates;
    for (std::size_t i = 0; i != n; ++i) {
        const auto point = static_cast<std::int32_t>(i);
        if (isMember[i] != 0 || std::ranges::find(fixed.out, point) != fixed.out.end())
            continue;
        if (points.hasSizes() || (reduced[i] < 0.0 && !points.conflicts(i).empty()))
            candidates.push_back(point);
        else if (reduced[i] < 0.0)
            isMember[i] = 1; // without sizes only points in conflict need a choice
    }
    if (fillCluster(points, reduced, candidates, demand, isMember).value == infinity)
        return;
    for (std::size_t i = 0; i != n; ++i)
        if (isMember[i] != 0)
            members.push_back(static_cast<std::int32_t>(i));
}

void addColumn(const ClusterPoints& points, std::span<const double> duals,
               std::span<const std::int32_t> members, double threshold, ColumnSet& columns) {
    std::vector<double> center(points.nFeatures(), 0.0);
    moveToMean(points, members, center);
    double cost = 0.0;
    double reduced = 0.0;
    for (const std::int32_t i : members) {
        const double g = points.reducedDistance(at(i), center, duals);
        reduced += g;
        cost += g + duals[at(i)];
    }
    if (members.empty() || reduced >= threshold)
        return;
    columns.members.insert(columns.members.end(), members.begin(), members.end());
    columns.start.push_back(static_cast<std::int64_t>(columns.members.size()));
    columns.cost.push_back(cost);
    columns.reduced.push_back(reduced);
    columns.centers.insert(columns.centers.end(), center.begin(), center.end());
}

// A descent alternates like Lloyd's loop. Where the choice at a center is exact, the reduced cost falls with
// each step: members are best for the center, then the center, the mean, is best for the members. So no set
// comes twice and it ends. A step depends on the members alone; once a descent meets one that passed here
// before, it would follow it to its end.
ColumnSet descendToColumns(const ClusterPoints& points, std::span<const double> duals,
                           std::span<const double> starts, double threshold, std::size_t most,
                           TimePoint deadline, const std::function<void()>& poll) {
    const std::size_t d = points.nFeatures();
    ColumnSet found;
    std::unordered_set<std::uint64_t> passed;
    std::vector<double> center(d);
    std::vector<double> reduced;
    std::vector<std::int32_t> members;
    std::vector<std::uint64_t> path;
    for (std::size_t s = 0; s != starts.size() / d; ++s) {
        if (s % 16 == 15) {
            poll();
            if (isPast(deadline))
                break;
        }
        std::ranges::copy(starts.subspan(s * d, d), center.begin());
        bool isKnown = false;
        path.clear();
        while (true) {
            chooseMembers(points, duals, center, {}, reduced, members);
            if (members.empty())
                break;
            const std::uint64_t key = keyOf(members);
            moveToMean(points, members, center);
            // Choices under sizes and conflicts are greedy, so a descent may go round in circles.
            if (std::ranges::find(path, key) != path.end())
                break;
            path.push_back(key);
            // Descents that meet end at the same cluster.
            isKnown = !passed.insert(key).second;
            if (isKnown)
                break;
        }
        if (!isKnown)
            addColumn(points, duals, members, threshold, found);
    }
    // Ties by place: the same columns whatever the sorting algorithm.
    std::vector<std::size_t> order(found.cost.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t j) { return std::pair(found.reduced[j], j); });
    order.resize(std::min(order.size(), most));
    ColumnSet sorted;
    for (const std::size_t j : order) {
        sorted.members.insert(sorted.members.end(), found.members.begin() + found.start[j],
                              found.members.begin() + found.start[j + 1]);
        sorted.start.push_back(static_cast<std::int64_t>(sorted.members.size()));
        sorted.cost.push_back(found.cost[j]);
        sorted.reduced.push_back(found.reduced[j]);
        const auto from = found.centers.begin() + static_cast<std::ptrdiff_t>(j * d);
        sorted.centers.insert(sorted.centers.end(), from, from + static_cast<std::ptrdiff_t>(d));
    }
    return sorted;
}

} // namespace konstrain::exact
