#include "dual_ascent.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tolerances.h"

namespace konstrain::linked {

namespace {

// Invariant: for every colouring, the reduced costs of its colours plus what is left of the penalties of the
// links it breaks add up to no more than its cost. So the sum of the least reduced costs is a lower bound
// throughout. Each move shifts a part of one link's penalty into costs of its two ends, never more than is
// left of it, and raises the bound by that part or leaves it as it is: the ascent is monotone. It may stop
// below the optimum of the dual, as coordinate ascent on a function with kinks does (Kolmogorov 2006).
class Ascent {
public:
    explicit Ascent(const Potts& potts)
        : reduced_(potts), best_(potts.nNodes()), left_(potts.links().size()) {
        for (std::size_t node = 0; node != potts.nNodes(); ++node) {
            best_[node] = cheapest(reduced_.cost(node));
            value_ += best_[node].cost;
        }
        for (std::size_t i = 0; i != left_.size(); ++i)
            left_[i] = std::abs(potts.links()[i].weight);
    }

    // One pass over all links; returns by how much the bound rose.
    double sweep() {
        const double before = value_;
        for (std::size_t i = 0; i != left_.size() && value_ < infinity; ++i) {
            const PottsLink& link = reduced_.links()[i];
            if (link.weight > 0)
                separate(link, left_[i]);
            else
                attract(link, left_[i]);
        }
        return value_ - before;
    }

    double value() const { return value_; }
    DualBound take() {
        std::vector<double> least(best_.size());
        std::ranges::transform(best_, least.begin(), &Cheapest::cost);
        return {value_, std::move(reduced_), std::move(least)};
    }

private:
    // A cannot-link whose ends both prefer one colour: at least one of them, or the penalty, pays the
    // difference.
    void separate(const PottsLink& link, double& left) {
        const auto u = static_cast<std::size_t>(link.first);
        const auto v = static_cast<std::size_t>(link.second);
        if (best_[u].colour != best_[v].colour)
            return;
        const double step =
            std::min({best_[u].second - best_[u].cost, best_[v].second - best_[v].cost, left});
        if (!(step > 0))
            return;
        if (step == infinity) { // neither end has another colour, and the link is hard
            value_ = infinity;
            return;
        }
        const auto colour = static_cast<std::size_t>(best_[u].colour);
        left -= step;
        raise(u, colour, step);
        raise(v, colour, step);
        value_ -= step; // the constant of the constraint "at most one of the two"
    }

    // A soft must-link whose ends prefer different colours: move the dual from one end's colour to the
    // other's.
    void attract(const PottsLink& link, double& left) {
        const auto u = static_cast<std::size_t>(link.first);
        const auto v = static_cast<std::size_t>(link.second);
        if (best_[u].colour == best_[v].colour)
            return;
        const auto colour = static_cast<std::size_t>(best_[u].colour);
        const double slack = reduced_.cost(v)[colour] - best_[v].cost;
        const double step = std::min({best_[u].second - best_[u].cost, slack, left});
        if (!(step > 0) || step == infinity)
            return;
        left -= step;
        raise(u, colour, step);
        raise(v, colour, -step);
    }

    void raise(std::size_t node, std::size_t colour, double step) {
        reduced_.cost(node)[colour] += step;
        const double before = best_[node].cost;
        best_[node] = cheapest(reduced_.cost(node));
        value_ += best_[node].cost - before;
    }

    Potts reduced_;
    std::vector<Cheapest> best_;
    std::vector<double> left_; // how much of each link's dual is still unused
    double value_ = 0.0;
};

// Sweeps of the ascent; larger: slower bounds, which prune few further branches.
constexpr int maxSweeps = 20;

} // namespace

DualBound ascend(const Potts& potts) {
    Ascent ascent(potts);
    for (int i = 0; i != maxSweeps && ascent.value() < infinity; ++i)
        if (!(ascent.sweep() > tolerances::sum * std::abs(ascent.value())))
            break;
    return ascent.take();
}

} // namespace konstrain::linked
