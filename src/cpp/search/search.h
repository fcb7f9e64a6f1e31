#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>

#include "deadline.h"
#include "graph.h"
#include "lloyd.h"
#include "random.h"

namespace konstrain::search {

// When a run ends: by its iterations, by the movement of its centers, by the clock, or by what `poll` throws.
struct RunLimits {
    int maxIterations = 300;
    double tolerance = 0.0;
    TimePoint deadline = TimePoint::max();
    std::function<void()> poll;
};

// A search for constrained k-means, with or without a graph, that keeps the best labels of all its runs. A
// run is Lloyd's loop with the duals of the rules (or with duals that stay as they are), repair of what is
// still violated, and polish. Deterministic by its seed; work is counted, so that limits on it are the same
// on every machine.
class Search {
public:
    Search(Problem problem, regions::Graph graph, std::uint64_t seed);
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    // A run from given centers, duals at zero.
    void runFrom(std::span<const double> centers, bool priced, const RunLimits& limits);
    // A run from the best clustering with one center moved, or with the bounds of two clusters exchanged.
    void relocate(bool priced, const RunLimits& limits);
    // Repair and polish of given labels.
    void improve(std::span<const std::int32_t> labels, const RunLimits& limits);
    // Annealing from given labels, of clusters that stay connected in the graph; a run without feasible
    // labels raises the price of violations for those that follow.
    void anneal(std::span<const std::int32_t> labels, std::int64_t nSteps, const RunLimits& limits);

    const State& best() const { return best_; }
    bool isFeasible() const { return violation_ == 0.0; }
    double violation() const { return violation_; }  // of the best labels; 0: all constraints are kept
    double cost() const { return cost_; }            // of the best labels, without the scatter within blocks
    int nIterations() const { return nIterations_; } // of the run that found them
    bool hasConverged() const { return hasConverged_; }
    double work() const { return context_.work; }
    // Lower bound on the cost of labels at the best centers.
    double stepBound() { return lagrangianBound(context_, best_, cost_); }

private:
    void exchangeBounds(State& state);
    void moveCenter(State& state);
    std::size_t drawBlock(const State& state);
    void begin(const RunLimits& limits);
    void run(State& state, bool priced, const RunLimits& limits);
    void finish(State& state, int nIterations, const RunLimits& limits);
    bool keep(State& state, double left);

    Problem problem_;
    regions::Graph graph_; // empty where clusters need not be connected and are not annealed
    Context context_;
    Random random_;
    bool boundsDiffer_ = false; // between clusters
    State best_;
    double violation_ = std::numeric_limits<double>::infinity();
    double cost_ = std::numeric_limits<double>::infinity();
    double priceFactor_ = 1.0; // of violations, while clusters are annealed
    int nIterations_ = 0;
    bool hasConverged_ = false;
};

} // namespace konstrain::search
