#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "contiguity.h"
#include "deadline.h"
#include "graph.h"
#include "random.h"
#include "state.h"

// Constrained k-means in which every cluster is connected in a graph over the rows.
namespace konstrain::regions {

// Tunable numbers, chosen on random planar graphs.
struct Params {
    // First and last temperature, in medians of what a move across a boundary changes: a higher first one
    // leaves the start further behind, a lower last one ends nearer to a local optimum.
    double hottest = 0.3;
    double coldest = 0.003;
    // The first temperature where so large a share of the blocks was outside the heaviest piece of its
    // cluster that the start has little to do with the graph: as above.
    double hottestApart = 30.0;
    double shareApart = 0.1;
    // Share of the steps that move a second block on: more of them, slower steps that keep loads.
    double shareOfPairs = 0.3;
    // Cost of a unit of violation, in the same medians, and its growth over the last fifth of a run.
    double price = 10.0;
    double priceGrowth = 30.0;
    // What the duals of violated rules move by at each update of duals and temperature, and the steps
    // between two updates; duals of other rules decay a thousandth as fast.
    double dualStep = 0.1;
    std::int64_t stepsPerUpdate = 200;
    // Runs, each at four times the price of the last, before a start that leads to no feasible labels is
    // given up.
    int maxAttempts = 5;
};

struct AnnealLimits {
    std::int64_t nSteps;
    TimePoint deadline = TimePoint::max();
    std::function<void()> poll; // ends a run by what it throws
};

// Simulated annealing over boundary moves: a block on a boundary joins a cluster next to it; in some steps a
// block of that cluster moves on as well. The energy is the objective, plus what duals charge for loads, plus
// a price on violations. Clusters stay in one piece, or, where blocks have several parts, an extra piece is a
// violation.
class Regions {
public:
    Regions(search::Problem problem, Graph graph, std::uint64_t seed);
    Regions(const Regions&) = delete;
    Regions& operator=(const Regions&) = delete;

    // Makes the clusters of these labels contiguous and anneals them. What was found is below, also after
    // `poll` has ended the run.
    void run(std::span<const std::int32_t> labels, const AnnealLimits& limits);

    const std::vector<std::int32_t>& labels() const { return found_; }
    // Of the labels found: the objective without the scatter within blocks; by how much they miss rules, in
    // the units of the rules, plus broken hard links and extra pieces. 0: all constraints are kept.
    double cost() const { return cost_; }
    double violation() const { return violation_; }

private:
    struct BoundaryMove {
        std::size_t block;
        std::size_t to;
        double change = 0.0;    // of the objective
        double charge = 0.0;    // of what duals charge
        double violation = 0.0; // of rules and hard links
        int joining = 0;        // of the pieces of either cluster
        int leaving = 0;
    };

    bool isOver(const AnnealLimits& limits) const;
    void anneal(double heat, double price, const AnnealLimits& limits);
    bool draw(BoundaryMove& move, const std::vector<std::size_t>& blocks);
    void rate(BoundaryMove& move) const;
    bool changePieces(BoundaryMove& move);
    void apply(const BoundaryMove& move);
    void undo(const BoundaryMove& move, std::size_t from);
    bool step(double temperature, double price);
    bool stepTwice(double temperature, double price);
    bool accepts(double energy, double temperature);
    double energy(const BoundaryMove& move, double price) const;
    void account(const BoundaryMove& move);
    double changeOfOne(std::size_t block, std::size_t cluster, double sign) const;
    void updateBoundary(std::size_t block);
    void updateDuals(double unitCost);
    void balanceDuals();
    void recountAll();
    double medianChange() const;
    template <typename Visit> void forEachCrossing(Visit visit) const;
    void keepBest();
    void finish();

    search::Problem problem_;
    Graph graph_;
    Params params_;
    Random random_;
    search::State state_;
    Contiguity contiguity_;
    // Blocks with a neighbour in another cluster, in no order: all, and by cluster, with the positions of
    // each block in both lists and the cluster in whose list it is, if any.
    std::vector<std::size_t> boundary_;
    std::vector<std::vector<std::size_t>> boundaryOf_; // nClusters
    std::vector<std::size_t> position_, positionIn_, listedIn_;
    double current_ = 0.0; // objective of the state
    double missed_ = 0.0;  // violation of the state
    std::vector<std::int32_t> found_;
    std::vector<std::size_t> changed_; // blocks moved since labels were kept
    double cost_ = std::numeric_limits<double>::infinity();
    double violation_ = std::numeric_limits<double>::infinity();
};

} // namespace konstrain::regions
