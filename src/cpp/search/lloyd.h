#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "costs.h"
#include "state.h"

namespace konstrain::search {

// What all parts of a search share: the problem, the costs at the current centers, and what was spent.
struct Context {
    const Problem& problem;
    Params params;
    Costs costs;
    double work = 0.0;        // multiply-adds so far
    double meanCost = 0.0;    // of a block at the first centers: the unit of penalties and steps
    bool hasFeasible = false; // whether feasible labels were found already
    // Whether time is up; lets interrupts through.
    std::function<bool()> expired;
};

// What a block costs in a cluster at the duals of its rules.
double reducedCost(const Context& context, const State& state, std::size_t block, std::size_t cluster);

// A block that may leave for another cluster: its rank, by reduced cost, and the change of its own cost.
struct Candidate {
    double rank;
    double cost;
    std::size_t block;

    bool operator<(const Candidate& other) const {
        return rank < other.rank || (rank == other.rank && block < other.block);
    }
};

// Keeps the n candidates of least rank, sorted.
void keepCheapest(std::vector<Candidate>& candidates, std::size_t n);
// The n members of a cluster that go to another at the least reduced cost, with what soft links change.
void rankCandidates(const Context& context, const State& state, const std::vector<std::size_t>& members,
                    std::size_t from, std::size_t to, std::size_t n, std::vector<Candidate>& candidates);

// Lower bound on the cost of any feasible labels at the centers of a state: the Lagrangian at duals that some
// steps raise it with. Links are left out, which only lowers it. `cost` is that of the labels of the state.
double lagrangianBound(Context& context, State state, double cost);

// What one run of Lloyd's loop may do.
struct LoopLimits {
    int maxIterations;
    double tolerance; // squared movement of all centers that counts as none
    bool priced;      // whether duals follow the loads; otherwise they stay as they are
    double best;      // objective of the best feasible labels so far: runs far above it are given up
};

// Alternates labels at reduced costs and means until the labels converge. Labels may break rules and links by
// a little: repair follows. Returns the number of iterations; 0: the run was given up.
int lloyd(Context& context, State& state, const LoopLimits& limits);

} // namespace konstrain::search
