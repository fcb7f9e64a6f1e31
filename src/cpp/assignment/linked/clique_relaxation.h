#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "potts.h"

namespace konstrain::linked {

// What is left of a colouring problem with hard links once some nodes have their colours: the open nodes, the
// cliques that their links form, and a dual per clique and colour.
//
// No two nodes of a clique share a colour, so "at most one of them takes it" holds for every clique and
// colour. Duals for these rules give a lower bound that is far tighter than rules for single links: on dense
// conflicts it comes within a few thousandths of the optimum.
class CliqueRelaxation {
public:
    // All links must be hard. Nodes with a single colour are open too until `fix` is called.
    explicit CliqueRelaxation(const Potts& potts);

    std::size_t nOpen() const { return nodes_.size(); }
    // The node of the problem that an open node is.
    std::size_t node(std::size_t open) const { return static_cast<std::size_t>(nodes_[open]); }
    // Costs of an open node's colours, the duals they have to pay included; infinite when forbidden.
    std::span<const double> reduced(std::size_t open) const {
        return {reduced_.data() + open * nColours_, nColours_};
    }
    // Least cost of all nodes as far as the duals prove it.
    double bound() const { return bound_; }
    // Colours of the fixed nodes; -1 for open ones.
    const std::vector<std::int32_t>& colours() const { return colours_; }

    // Raises the bound by at most `steps` dual changes, with `target` a cost that it is not expected to
    // exceed; ends when it reaches the target, or when time is up.
    void raise(int steps, double stepLength, double memory, double target, TimePoint end);

    // For each open node and colour, row-major: by how much the bound rises, at least, if the node takes it.
    std::vector<double> risesOfColours(const Potts& potts) const;

    // Forbids colours, and all that follows from nodes with one colour left. False when a node has none left.
    bool forbidAllBut(const Potts& potts, std::size_t open, std::size_t colour);
    bool forbidAbove(const Potts& potts, double cutoff);
    bool propagate(const Potts& potts);

    // Closes nodes with a single colour and drops cliques and duals that say nothing any more.
    void fix(const Potts& potts);

private:
    class Ascent;

    bool forbid(std::size_t open, std::size_t colour);
    bool propagateForced(const Potts& potts);
    std::vector<std::int32_t> positions(const Potts& potts) const;
    void shrinkCliques(std::span<const std::int32_t> position);

    std::size_t nColours_;
    double constant_ = 0.0; // cost of the fixed nodes
    double bound_ = -infinity;
    std::vector<std::int32_t> colours_;
    std::vector<std::int32_t> nodes_;
    std::vector<double> reduced_;
    std::vector<std::size_t> start_;    // where each clique's members start
    std::vector<std::int32_t> members_; // as positions among the open nodes
    std::vector<double> duals_;         // per clique and colour
    std::vector<std::size_t>
        forced_; // open nodes that came down to one colour and whose neighbours still have it
};

} // namespace konstrain::linked
