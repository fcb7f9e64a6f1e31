#include "potts.h"

#include <algorithm>
#include <cassert>

namespace konstrain::linked {

void Potts::finish() {
    start_.assign(nNodes_ + 1, 0);
    for (const PottsLink& link : links_) {
        ++start_[static_cast<std::size_t>(link.first) + 1];
        ++start_[static_cast<std::size_t>(link.second) + 1];
    }
    for (std::size_t node = 0; node != nNodes_; ++node)
        start_[node + 1] += start_[node];
    neighbours_.resize(2 * links_.size());
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    for (const PottsLink& link : links_) {
        neighbours_[next[static_cast<std::size_t>(link.first)]++] = {link.second, link.weight};
        neighbours_[next[static_cast<std::size_t>(link.second)]++] = {link.first, link.weight};
    }
}

std::ptrdiff_t countAllowed(std::span<const double> cost) {
    return std::ranges::count_if(cost, [](double c) { return c < infinity; });
}

Cheapest cheapest(std::span<const double> cost) {
    assert(!cost.empty());
    Cheapest best{0, cost[0], infinity};
    for (std::size_t colour = 1; colour != cost.size(); ++colour) {
        if (cost[colour] < best.cost)
            best = {static_cast<std::int32_t>(colour), cost[colour], best.cost};
        else if (cost[colour] < best.second)
            best.second = cost[colour];
    }
    return best;
}

void chargeFixedNeighbour(std::span<double> cost, double weight, std::int32_t colour) {
    if (weight > 0) {
        cost[static_cast<std::size_t>(colour)] += weight;
        return;
    }
    for (std::size_t other = 0; other != cost.size(); ++other)
        if (other != static_cast<std::size_t>(colour))
            cost[other] -= weight;
}

} // namespace konstrain::linked
