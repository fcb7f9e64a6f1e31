#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "random.h"
#include "row_pricer.h"

namespace konstrain {

// Labels that keep all bounds, looked for by annealing among the choices that cost least beside the cheapest:
// where rows hold amounts of their own, few moves at a time rarely make all sums fit at once.
//
// A row goes elsewhere, or two rows change places, if that costs no more than chance allows at a temperature
// that falls. Missing a bound has a price per cluster and rule, which rises while the bound is missed and
// falls while it is kept, so that the walk stays near labels that keep all of them.
class ResourceWalk {
public:
    // `pricer` has taken `prices`; the walk begins at `labels` and is among so many choices beside the
    // cheapest.
    ResourceWalk(const ResourceProblem& problem, const RowPricer& pricer, std::span<const double> prices,
                 std::span<const std::int32_t> labels, std::size_t nChoices);

    // True, and the best labels seen on the way, if some kept all bounds. Warmth 1 forgets the labels that it
    // begins with, a small one stays near them.
    bool run(std::span<std::int32_t> labels, double warmth, std::size_t nSteps, std::uint64_t seed,
             TimePoint deadline);

private:
    // A row in play: its choices, and which of them it has.
    struct Player {
        std::size_t row;
        std::uint32_t first; // of its choices
        std::uint32_t last;
        std::uint32_t now;
        std::size_t arcs; // first of its entries in arcOf_
    };
    struct Choice {
        std::uint32_t player;
        std::uint32_t cluster;
        double cost;
        std::uint32_t placeInArc;
        std::uint32_t placeAmongOthers;
    };
    // A player goes to another choice; perhaps one of that cluster goes the other way.
    struct Move {
        std::uint32_t to;
        bool isExchange;
        std::uint32_t back;
    };

    void choose(const RowPricer& pricer, std::span<const std::int32_t> labels, std::size_t nChoices);
    void numberArcs();
    void begin(std::span<const std::int32_t> labels);
    void adapt();
    std::size_t arcOf(const Player& player, std::uint32_t from, std::uint32_t to) const {
        return arcOf_[player.arcs + (from - player.first) * (player.last - player.first) +
                      (to - player.first)];
    }
    Move draw(std::uint64_t bits) const;
    bool tryMove(const Move& move, double most);
    double costOf(std::uint32_t to) const;
    double penaltyWith(std::size_t cluster, double sign) const;
    double missedBy(std::size_t entry, double value) const;
    void enterArcs(const Player& player);
    void leaveArcs(const Player& player);
    void go(std::uint32_t to);
    void remember();

    const ResourceProblem& problem_;
    std::vector<Player> players_;
    std::vector<Choice> choices_;
    std::vector<std::uint32_t> others_; // choices that are not taken
    std::vector<std::uint32_t> arcOf_;  // of each player from each choice to each
    // Choices that lead from one cluster to another, and the arc that leads back.
    std::vector<std::vector<std::uint32_t>> arcs_;
    std::vector<std::uint32_t> reverse_;
    std::vector<double> held_;   // of each player, per rule
    std::vector<double> moving_; // per rule
    std::vector<double> values_; // nClusters x nRules
    std::vector<double> leastWeight_;
    std::vector<double> weights_;     // what missing a bound costs
    std::vector<double> penalties_;   // of each cluster
    std::size_t nMissing_ = 0;        // clusters that miss a bound
    std::vector<std::uint32_t> best_; // choice of each player
    double warmest_ = 0.0;
    double cost_ = 0.0;
    double bestCost_;
};

} // namespace konstrain
