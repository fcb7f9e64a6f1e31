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
        std::size_t first; // of its choices
        std::size_t last;
        std::size_t now;
        std::size_t place; // among the players of its cluster
    };
    struct Choice {
        std::size_t cluster;
        double cost;
    };
    // One player goes to another choice; perhaps one of that cluster comes in exchange.
    struct Move {
        std::size_t player;
        std::size_t to;
        bool isExchange;
        std::size_t other;
        std::size_t back;
    };

    void choose(const RowPricer& pricer, std::span<const std::int32_t> labels, std::size_t nChoices);
    void begin(std::span<const std::int32_t> labels);
    void adapt();
    Move draw(Random& random) const;
    bool tryMove(const Move& move, double temperature, Random& random);
    double costOf(const Move& move) const;
    double penaltyAfter(std::size_t cluster, const Move& move, double sign) const;
    double penaltyOf(std::size_t cluster) const;
    double missedBy(std::size_t entry, double value) const;
    void go(std::size_t player, std::size_t to);
    bool keepsAll() const;
    void remember();

    const ResourceProblem& problem_;
    std::vector<Player> players_;
    std::vector<Choice> choices_;
    std::vector<double> held_;   // of each player, per rule
    std::vector<double> values_; // nClusters x nRules
    std::vector<double> leastWeight_;
    std::vector<double> weights_;                   // what missing a bound costs
    std::vector<double> penalties_;                 // of each cluster
    std::vector<std::vector<std::size_t>> members_; // players of each cluster
    std::vector<std::size_t> best_;                 // choice of each player
    double warmest_ = 0.0;
    double cost_ = 0.0;
    double bestCost_;
};

} // namespace konstrain
