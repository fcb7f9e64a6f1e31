#include "clique_relaxation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "clique_cover.h"
#include "infinity.h"
#include "tolerances.h"

namespace konstrain::linked {

namespace {

// Step lengths of Barahona and Anbil's volume algorithm (2000): every step starts at the best duals so far
// and follows the average of the directions seen, recent ones counting more. The factors by which the length
// grows and shrinks are theirs; they wait for 20 failures, but make thousands of steps where we make at most
// hundreds.
class VolumeStep {
public:
    explicit VolumeStep(double length) : length_(length) {}

    // A step raised the bound; `along` is how much further the old direction would still have led upwards.
    void succeed(double along) {
        failures_ = 0;
        if (along > 0.0)
            length_ = std::min(longest, growth * length_);
    }

    void fail() {
        if (++failures_ == patience) {
            length_ *= shrinkage;
            failures_ = 0;
        }
    }

    // How far to go along a direction of this squared length towards a cost that the bound is not expected to
    // exceed; while none is known, the step aims a share above the bound.
    double towards(double target, double bound, double norm) const {
        const double goal = target < infinity ? target : bound + aim * std::abs(bound);
        return length_ * (goal - bound) / norm;
    }

    // Whether a direction of this squared length is more than rounding; else the duals are best.
    static bool leads(double norm) { return norm > tolerances::direction; }

private:
    static constexpr int patience = 5;        // failures before the length shrinks; larger: longer steps
    static constexpr double growth = 1.1;     // fact: as printed by Barahona and Anbil
    static constexpr double shrinkage = 0.66; // fact: as printed there
    static constexpr double aim = 0.05;       // fact: as printed there
    static constexpr double longest = 2.0;    // fact: beyond it no step is sure to come nearer (Polyak 1969)

    double length_;
    int failures_ = 0;
};

} // namespace

CliqueRelaxation::CliqueRelaxation(const Potts& potts)
    : nColours_(potts.nColours()), colours_(potts.nNodes(), -1), nodes_(potts.nNodes()) {
    std::iota(nodes_.begin(), nodes_.end(), 0);
    const std::vector<std::vector<std::int32_t>> cliques = coverByCliques(potts);
    start_.push_back(0);
    for (const auto& clique : cliques) {
        members_.insert(members_.end(), clique.begin(), clique.end());
        start_.push_back(members_.size());
    }
    duals_.assign(cliques.size() * nColours_, 0.0);
    reduced_.resize(potts.nNodes() * nColours_);
    for (std::size_t node = 0; node != potts.nNodes(); ++node)
        std::ranges::copy(potts.cost(node), reduced_.begin() + static_cast<std::ptrdiff_t>(node * nColours_));
}

// Lagrangian relaxation of the clique rules: for every clique Q and colour c, at most one member takes c.
// With duals p >= 0 the bound is
//
//     sum over nodes of min over c of (cost(c) + sum of p(Q, c) over its cliques Q) - sum of all p(Q, c),
//
// a concave function whose supergradient at (Q, c) is the number of members that choose c, less one. Rules
// for cliques dominate those for single links: with x = 1/2 for two colours every link is kept, but a
// triangle would hold three halves of a colour.
//
// The duals while they move. Of all (clique, colour) pairs few matter: those with a dual, and those that
// more than one member wants. Only these are active, that is, looked at in a step.
class CliqueRelaxation::Ascent {
public:
    explicit Ascent(const CliqueRelaxation& at)
        : at_(at), k_(at.nColours_), reduced_(at.reduced_), pairs_(at.duals_.size()),
          chosen_(at.nodes_.size(), -1) {
        listCliques();
        for (std::size_t i = 0; i != pairs_.size(); ++i)
            if (at.duals_[i] > 0.0) {
                pairs_[i].dual = pairs_[i].best = at.duals_[i];
                activate(static_cast<std::uint32_t>(i));
            }
    }

    // Evaluates the bound, O(nodes x colours + active pairs).
    // Lets every node choose its cheapest colour; returns the bound that follows.
    double choose() {
        double sum = at_.constant_;
        for (std::size_t open = 0; open != chosen_.size(); ++open) {
            const double* cost = reduced_.data() + open * k_;
            std::size_t best = 0;
            for (std::size_t colour = 1; colour != k_; ++colour)
                best = cost[colour] < cost[best] ? colour : best;
            sum += cost[best];
            if (chosen_[open] != static_cast<std::int32_t>(best))
                change(open, static_cast<std::int32_t>(best));
        }
        double paid = 0.0;
        for (const std::uint32_t i : active_)
            paid += pairs_[i].dual;
        return sum - paid;
    }

    // Turns the direction towards what the present choices say, which count by `fresh`. Returns how much
    // further the old direction would still have led upwards.
    double turn(double fresh) {
        double along = 0.0;
        for (const std::uint32_t i : active_) {
            Pair& pair = pairs_[i];
            const double gradient = pair.wanted - 1.0;
            along += pair.direction * gradient;
            pair.direction += fresh * (gradient - pair.direction);
        }
        return along;
    }

    // Takes the present duals as the best.
    void keep(CliqueRelaxation& at) {
        for (const std::uint32_t i : active_)
            at.duals_[i] = pairs_[i].best = pairs_[i].dual;
        at.reduced_ = reduced_;
    }

    // Squared length of the direction at the best duals; forgets pairs that have no dual and get none.
    double norm() {
        double sum = 0.0;
        std::erase_if(active_, [&](std::uint32_t i) {
            Pair& pair = pairs_[i];
            if (pair.direction > 0.0 || pair.best > 0.0) {
                sum += pair.direction * pair.direction;
                return false;
            }
            if (pair.dual > 0.0)
                return false;
            pair.direction = 0.0;
            pair.isActive = false;
            return true;
        });
        return sum;
    }

    // Steps from the best duals along the direction.
    void move(double length) {
        for (const std::uint32_t i : active_) {
            Pair& pair = pairs_[i];
            const double dual = std::max(0.0, pair.best + length * pair.direction);
            const double change = dual - pair.dual;
            if (change == 0.0)
                continue;
            pair.dual = dual;
            const std::size_t clique = i / k_;
            const std::size_t colour = i % k_;
            for (std::size_t m = at_.start_[clique]; m != at_.start_[clique + 1]; ++m)
                reduced_[static_cast<std::size_t>(at_.members_[m]) * k_ + colour] += change;
        }
    }

private:
    struct Pair {
        double dual = 0.0;
        double best = 0.0; // its dual at the best bound so far
        double direction = 0.0;
        std::int32_t wanted = 0; // members that choose the colour
        bool isActive = false;
    };

    // For each node, where its cliques' pairs start.
    void listCliques() {
        firstOf_.assign(chosen_.size() + 1, 0);
        for (const std::int32_t member : at_.members_)
            ++firstOf_[static_cast<std::size_t>(member) + 1];
        std::partial_sum(firstOf_.begin(), firstOf_.end(), firstOf_.begin());
        cliquesOf_.resize(at_.members_.size());
        std::vector<std::size_t> next(firstOf_.begin(), firstOf_.end() - 1);
        for (std::size_t clique = 0; clique + 1 != at_.start_.size(); ++clique)
            for (std::size_t i = at_.start_[clique]; i != at_.start_[clique + 1]; ++i)
                cliquesOf_[next[static_cast<std::size_t>(at_.members_[i])]++] =
                    static_cast<std::uint32_t>(clique * k_);
    }

    void activate(std::uint32_t i) {
        pairs_[i].isActive = true;
        active_.push_back(i);
    }

    void change(std::size_t open, std::int32_t colour) {
        const std::int32_t before = chosen_[open];
        chosen_[open] = colour;
        for (std::size_t c = firstOf_[open]; c != firstOf_[open + 1]; ++c) {
            if (before >= 0)
                --pairs_[cliquesOf_[c] + static_cast<std::uint32_t>(before)].wanted;
            const std::uint32_t i = cliquesOf_[c] + static_cast<std::uint32_t>(colour);
            if (++pairs_[i].wanted > 1 && !pairs_[i].isActive)
                activate(i);
        }
    }

    const CliqueRelaxation& at_;
    std::size_t k_;
    std::vector<double> reduced_;
    std::vector<Pair> pairs_; // per clique and colour
    std::vector<std::uint32_t> active_;
    std::vector<std::int32_t> chosen_;
    std::vector<std::size_t> firstOf_;
    std::vector<std::uint32_t> cliquesOf_;
};

void CliqueRelaxation::raise(int steps, double stepLength, double memory, double target, TimePoint end) {
    Ascent ascent(*this);
    VolumeStep volume(stepLength);
    bound_ = -infinity;
    for (int step = 0; step != steps; ++step) {
        const double value = ascent.choose();
        const double along = ascent.turn(step == 0 ? 1.0 : 1.0 - memory);
        if (value > bound_) {
            bound_ = value;
            ascent.keep(*this);
            volume.succeed(along);
        } else {
            volume.fail();
        }
        const double norm = ascent.norm();
        if (bound_ >= target || !VolumeStep::leads(norm) || isPast(end))
            return;
        ascent.move(volume.towards(target, bound_, norm));
    }
}

bool CliqueRelaxation::forbid(std::size_t open, std::size_t colour) {
    double& cost = reduced_[open * nColours_ + colour];
    if (cost == infinity)
        return true;
    cost = infinity;
    const auto left = countAllowed(reduced(open));
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

// Giving a colour to a node takes it away from its neighbours. In the relaxation all other terms of the bound
// stay, so it rises by the node's own regret plus, for every neighbour whose cheapest colour this is, the
// distance to its second choice. Each neighbour adds to one colour only, so no rise is counted twice.
std::vector<double> CliqueRelaxation::risesOfColours(const Potts& potts) const {
    std::vector<double> rise(reduced_.size());
    const std::vector<std::int32_t> position = positions(potts);
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const double least = std::ranges::min(reduced(open));
        for (std::size_t colour = 0; colour != nColours_; ++colour)
            rise[open * nColours_ + colour] = reduced(open)[colour] - least;
    }
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const Cheapest best = cheapest(reduced(open));
        const double loss = best.second - best.cost;
        if (!(loss > 0.0))
            continue;
        for (const Neighbour& neighbour : potts.neighbours(node(open))) {
            const std::int32_t other = position[static_cast<std::size_t>(neighbour.node)];
            if (other >= 0)
                rise[static_cast<std::size_t>(other) * nColours_ + static_cast<std::size_t>(best.colour)] +=
                    loss;
        }
    }
    return rise;
}

bool CliqueRelaxation::forbidAbove(const Potts& potts, double cutoff) {
    const std::vector<double> rise = risesOfColours(potts);
    for (std::size_t open = 0; open != nodes_.size(); ++open)
        for (std::size_t colour = 0; colour != nColours_; ++colour)
            if (rise[open * nColours_ + colour] >= cutoff - bound_ && !forbid(open, colour))
                return false;
    return propagateForced(potts);
}

std::vector<std::int32_t> CliqueRelaxation::positions(const Potts& potts) const {
    std::vector<std::int32_t> position(potts.nNodes(), -1);
    for (std::size_t open = 0; open != nodes_.size(); ++open)
        position[node(open)] = static_cast<std::int32_t>(open);
    return position;
}

bool CliqueRelaxation::propagate(const Potts& potts) {
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const auto left = countAllowed(reduced(open));
        if (left == 0)
            return false;
        if (left == 1)
            forced_.push_back(open);
    }
    return propagateForced(potts);
}

// Unit propagation: a node with one colour left takes it from all its neighbours, which may leave some of
// them with one. Every (node, colour) is forbidden at most once, so the loop ends.
bool CliqueRelaxation::propagateForced(const Potts& potts) {
    const std::vector<std::int32_t> position = positions(potts);
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

void CliqueRelaxation::fix(const Potts& potts) {
    assert(forced_.empty());
    std::vector<std::int32_t> position(nodes_.size(), -1);
    std::vector<std::int32_t> left;
    std::vector<double> reduced;
    for (std::size_t open = 0; open != nodes_.size(); ++open) {
        const auto cost = this->reduced(open);
        if (countAllowed(cost) == 1) {
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

// Keeps the cliques among open nodes and adds their duals to the costs, which hold none.
void CliqueRelaxation::shrinkCliques(std::span<const std::int32_t> position) {
    std::vector<std::size_t> start{0};
    std::vector<std::int32_t> members;
    std::vector<double> duals;
    for (std::size_t clique = 0; clique + 1 != start_.size(); ++clique) {
        for (std::size_t i = start_[clique]; i != start_[clique + 1]; ++i)
            if (position[static_cast<std::size_t>(members_[i])] >= 0)
                members.push_back(position[static_cast<std::size_t>(members_[i])]);
        if (members.size() < start.back() + 2) {
            members.resize(start.back());
            continue;
        }
        for (std::size_t colour = 0; colour != nColours_; ++colour) {
            // A colour that at most one member may take needs no dual, and the bound rises without it.
            const std::span fresh = std::span(members).subspan(start.back());
            const auto takers = std::ranges::count_if(fresh, [&](std::int32_t member) {
                return reduced_[static_cast<std::size_t>(member) * nColours_ + colour] < infinity;
            });
            const double dual = takers > 1 ? duals_[clique * nColours_ + colour] : 0.0;
            duals.push_back(dual);
            for (const std::int32_t member : fresh)
                reduced_[static_cast<std::size_t>(member) * nColours_ + colour] += dual;
        }
        start.push_back(members.size());
    }
    start_ = std::move(start);
    members_ = std::move(members);
    duals_ = std::move(duals);
}

} // namespace konstrain::linked
