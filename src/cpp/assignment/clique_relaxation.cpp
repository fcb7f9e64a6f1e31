#include "clique_relaxation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "clique_cover.h"

namespace konstrain {

CliqueRelaxation::CliqueRelaxation(const Potts& potts)
    : nColours_(potts.nColours()), colours_(potts.nNodes(), -1), nodes_(potts.nNodes()) {
    std::iota(nodes_.begin(), nodes_.end(), 0);
    const std::vector<std::vector<std::int32_t>> cliques = coverByCliques(potts);
    start_.push_back(0);
    for (const auto& clique : cliques) {
        members_.insert(members_.end(), clique.begin(), clique.end());
        start_.push_back(members_.size());
    }
    prices_.assign(cliques.size() * nColours_, 0.0);
    reduced_.resize(potts.nNodes() * nColours_);
    for (std::size_t node = 0; node != potts.nNodes(); ++node)
        std::ranges::copy(potts.cost(node), reduced_.begin() + static_cast<std::ptrdiff_t>(node * nColours_));
}

double CliqueRelaxation::evaluate(std::span<const double> reduced, std::span<const double> prices,
                                  std::span<std::int32_t> cheapestColours) const {
    double sum = constant_;
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const double* cost = reduced.data() + open * nColours_;
        std::size_t best = 0;
        for (std::size_t colour = 1; colour != nColours_; ++colour)
            best = cost[colour] < cost[best] ? colour : best;
        cheapestColours[open] = static_cast<std::int32_t>(best);
        sum += cost[best];
    }
    return sum - std::accumulate(prices.begin(), prices.end(), 0.0);
}

// Barahona and Anbil's volume algorithm: every step starts at the best prices so far and follows the average
// of the directions seen, recent ones counting more.
void CliqueRelaxation::raise(int steps, double stepLength, double memory, double target) {
    constexpr int patience = 5;
    std::vector<double> prices = prices_;
    std::vector<double> reduced = reduced_;
    std::vector<double> direction(prices_.size(), 0.0);
    std::vector<double> gradient(nColours_);
    std::vector<std::int32_t> chosen(nodes_.size());
    bound_ = -infinity;
    int failures = 0;
    for (int step = 0; step != steps; ++step) {
        const double value = evaluate(reduced, prices, chosen);
        const double fresh = step == 0 ? 1.0 : 1.0 - memory;
        double along = 0.0; // how much further the old direction would still have led upwards
        double norm = 0.0;
        const bool better = value > bound_;
        const std::vector<double>& centre = better ? prices : prices_;
        for (std::size_t clique = 0; clique + 1 != start_.size(); ++clique) {
            std::ranges::fill(gradient, -1.0);
            for (std::size_t i = start_[clique]; i != start_[clique + 1]; ++i)
                gradient[static_cast<std::size_t>(chosen[static_cast<std::size_t>(members_[i])])] += 1.0;
            for (std::size_t colour = 0; colour != nColours_; ++colour) {
                double& d = direction[clique * nColours_ + colour];
                along += d * gradient[colour];
                d += fresh * (gradient[colour] - d);
                norm += d > 0.0 || centre[clique * nColours_ + colour] > 0.0 ? d * d : 0.0;
            }
        }
        if (better) {
            bound_ = value;
            prices_ = prices;
            reduced_ = reduced;
            failures = 0;
            if (along > 0.0)
                stepLength = std::min(2.0, 1.1 * stepLength);
        } else if (++failures == patience) {
            stepLength *= 0.66;
            failures = 0;
        }
        if (bound_ >= target || !(norm > 1e-14))
            return;
        const double goal = target < infinity ? target : bound_ + 0.05 * std::abs(bound_);
        const double length = stepLength * (goal - bound_) / norm;
        for (std::size_t clique = 0; clique + 1 != start_.size(); ++clique)
            for (std::size_t colour = 0; colour != nColours_; ++colour) {
                const std::size_t entry = clique * nColours_ + colour;
                const double price = std::max(0.0, prices_[entry] + length * direction[entry]);
                const double change = price - prices[entry];
                if (change == 0.0)
                    continue;
                prices[entry] = price;
                for (std::size_t i = start_[clique]; i != start_[clique + 1]; ++i)
                    reduced[static_cast<std::size_t>(members_[i]) * nColours_ + colour] += change;
            }
    }
}

bool CliqueRelaxation::forbid(std::size_t open, std::size_t colour) {
    double& cost = reduced_[open * nColours_ + colour];
    if (cost == infinity)
        return true;
    cost = infinity;
    const auto left = std::ranges::count_if(reduced(open), [](double c) { return c < infinity; });
    if (left == 1)
        forced_.push_back(open);
    return left > 0;
}

bool CliqueRelaxation::forbidAllBut(const Potts& potts, std::size_t open, std::size_t colour) {
    for (std::size_t other = 0; other != nColours_; ++other)
        if (other != colour)
            forbid(open, other);
    return propagateForced(potts);
}

bool CliqueRelaxation::forbidDearer(const Potts& potts, double cutoff) {
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const double most = std::ranges::min(reduced(open)) + (cutoff - bound_);
        for (std::size_t colour = 0; colour != nColours_; ++colour)
            if (reduced_[open * nColours_ + colour] >= most && !forbid(open, colour))
                return false;
    }
    return propagateForced(potts);
}

bool CliqueRelaxation::propagate(const Potts& potts) {
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const auto left = std::ranges::count_if(reduced(open), [](double c) { return c < infinity; });
        if (left == 0)
            return false;
        if (left == 1)
            forced_.push_back(open);
    }
    return propagateForced(potts);
}

bool CliqueRelaxation::propagateForced(const Potts& potts) {
    std::vector<std::int32_t> position(potts.nNodes(), -1);
    for (std::size_t open = 0; open != nodes_.size(); ++open)
        position[node(open)] = static_cast<std::int32_t>(open);
    while (!forced_.empty()) {
        const std::size_t open = forced_.back();
        forced_.pop_back();
        const auto colour = static_cast<std::size_t>(cheapest(reduced(open)).colour);
        for (const Neighbour& neighbour : potts.neighbours(node(open))) {
            const std::int32_t other = position[static_cast<std::size_t>(neighbour.node)];
            if (other >= 0 && !forbid(static_cast<std::size_t>(other), colour))
                return false;
        }
    }
    return true;
}

void CliqueRelaxation::settle(const Potts& potts) {
    assert(forced_.empty());
    std::vector<std::int32_t> position(nodes_.size(), -1);
    std::vector<std::int32_t> left;
    std::vector<double> reduced;
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const auto cost = this->reduced(open);
        if (std::ranges::count_if(cost, [](double c) { return c < infinity; }) == 1) {
            const std::int32_t colour = cheapest(cost).colour;
            colours_[node(open)] = colour;
            constant_ += potts.cost(node(open))[static_cast<std::size_t>(colour)];
            continue;
        }
        position[open] = static_cast<std::int32_t>(left.size());
        left.push_back(nodes_[open]);
        for (std::size_t colour = 0; colour != nColours_; ++colour)
            reduced.push_back(cost[colour] < infinity ? potts.cost(node(open))[colour] : infinity);
    }
    nodes_ = std::move(left);
    reduced_ = std::move(reduced);
    shrinkCliques(position);
}

// Keeps the cliques among open nodes and adds their prices to the costs, which hold none.
void CliqueRelaxation::shrinkCliques(std::span<const std::int32_t> position) {
    std::vector<std::size_t> start{0};
    std::vector<std::int32_t> members;
    std::vector<double> prices;
    for (std::size_t clique = 0; clique + 1 != start_.size(); ++clique) {
        for (std::size_t i = start_[clique]; i != start_[clique + 1]; ++i)
            if (position[static_cast<std::size_t>(members_[i])] >= 0)
                members.push_back(position[static_cast<std::size_t>(members_[i])]);
        if (members.size() < start.back() + 2) {
            members.resize(start.back());
            continue;
        }
        for (std::size_t colour = 0; colour != nColours_; ++colour) {
            // A colour that at most one member may take needs no price, and the bound rises without it.
            const std::span fresh = std::span(members).subspan(start.back());
            const auto takers = std::ranges::count_if(fresh, [&](std::int32_t member) {
                return reduced_[static_cast<std::size_t>(member) * nColours_ + colour] < infinity;
            });
            const double price = takers > 1 ? prices_[clique * nColours_ + colour] : 0.0;
            prices.push_back(price);
            for (const std::int32_t member : fresh)
                reduced_[static_cast<std::size_t>(member) * nColours_ + colour] += price;
        }
        start.push_back(members.size());
    }
    start_ = std::move(start);
    members_ = std::move(members);
    prices_ = std::move(prices);
}

} // namespace konstrain
