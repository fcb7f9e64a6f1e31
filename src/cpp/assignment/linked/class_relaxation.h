#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "potts.h"
#include "stable_sets.h"

namespace konstrain {

// What is left of a colouring problem with hard links once some nodes have their colours, as a choice of
// classes: every colour takes a set of nodes that no link joins, and every node must be taken once.
//
// Without "once" the colours choose alone. A node that is taken earns its colour the node's worth less its
// cost there, and whatever the worths, their sum less what the colours can earn is a lower bound. It is at
// least as tight as any prices for cliques, odd holes or other rules about single colours could make it, at
// the price of a heaviest stable set per colour and look: on dense conflicts a third of the gap that cliques
// leave.
class ClassRelaxation {
public:
    // All links must be hard. Worths may be any numbers; the least costs at prices for cliques are a good
    // start, for the bound that follows is not below theirs.
    ClassRelaxation(const Potts& potts, const StableSets& sets, std::vector<double> worth);

    double bound() const { return bound_; }
    // Colours of the settled nodes; -1 for open ones.
    const std::vector<std::int32_t>& colours() const { return colours_; }
    bool isAllowed(std::size_t node, std::size_t colour) const {
        return allowed_[node * nColours_ + colour] != 0;
    }
    std::size_t nAllowed(std::size_t node) const;
    // Colours of the nodes that some colour's best class holds; -1 for the others.
    std::vector<std::int32_t> suggestion() const;

    // Raises the bound by at most `steps` changes of the worths, with `target` a cost that it is not expected
    // to exceed; ends when it reaches the target, or when time is up.
    void raise(int steps, double stepLength, double memory, double target, TimePoint end);

    // After `raise`, before colours are forbidden: for each colour of an open node an estimate of by how much
    // the bound rises if the node takes it; infinite when forbidden, or when that is proved to cost `cutoff`
    // or more.
    std::vector<double> rises(std::size_t node, double cutoff) const;

    // Forbids a colour, and all that follows from nodes with one colour left. False when a node has none
    // left.
    bool forbid(std::size_t node, std::size_t colour);
    bool forbidAllBut(std::size_t node, std::size_t colour);

private:
    bool isOpen(std::size_t node) const { return colours_[node] < 0; }
    // What a node earns a colour at these worths; not positive when it may not take it.
    double gain(std::size_t node, std::size_t colour, std::span<const double> worth) const;
    double gain(std::size_t node, std::size_t colour) const { return gain(node, colour, worth_); }
    double look(std::span<const double> worth, std::vector<StableSet>& classes) const;
    double mostWithout(std::size_t colour, std::size_t node) const;
    double mostWith(std::size_t colour, std::size_t node, double floor) const;
    double leastWith(std::size_t colour, std::size_t node) const;
    bool settle(std::size_t node, std::size_t colour);

    const Potts& potts_;
    const StableSets& sets_;
    std::size_t nColours_;
    double constant_ = 0.0; // cost of the settled nodes
    double bound_ = -infinity;
    std::vector<std::int32_t> colours_;
    std::vector<char> allowed_;      // per node and colour
    std::vector<double> worth_;      // per node, at the best bound
    std::vector<StableSet> classes_; // per colour, at the best bound
};

} // namespace konstrain
