#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "infinity.h"

namespace konstrain::linked {

// One end of a link as seen from the other end. Positive weight: dual of sharing a cluster (infinite:
// forbidden); negative weight: minus the dual of not sharing one.
struct Neighbour {
    std::int32_t node;
    double weight;
};

struct PottsLink {
    std::int32_t first;
    std::int32_t second;
    double weight;
};

// A small problem of its own: choose a colour (cluster) for each node at least total of colour costs and link
// duals. A colour that a node may not take has infinite cost. Called Potts after the physicists' model of
// the same form.
class Potts {
public:
    Potts(std::size_t nNodes, std::size_t nColours) : nNodes_(nNodes), nColours_(nColours) {
        costs_.resize(nNodes * nColours);
    }

    std::size_t nNodes() const { return nNodes_; }
    std::size_t nColours() const { return nColours_; }
    std::span<double> cost(std::size_t node) { return {costs_.data() + node * nColours_, nColours_}; }
    std::span<const double> cost(std::size_t node) const {
        return {costs_.data() + node * nColours_, nColours_};
    }

    void addLink(std::int32_t first, std::int32_t second, double weight) {
        links_.push_back({first, second, weight});
    }
    const std::vector<PottsLink>& links() const { return links_; }
    // Builds the neighbour lists; call once after the last `addLink`.
    void finish();
    std::span<const Neighbour> neighbours(std::size_t node) const {
        return {neighbours_.data() + start_[node], start_[node + 1] - start_[node]};
    }

private:
    std::size_t nNodes_;
    std::size_t nColours_;
    std::vector<double> costs_;
    std::vector<PottsLink> links_;
    std::vector<std::size_t> start_;
    std::vector<Neighbour> neighbours_;
};

struct Cheapest {
    std::int32_t colour;
    double cost;
    double second; // cost of the next best colour; infinite when there is none
};

// How many colours a node may take, given their costs.
std::ptrdiff_t countAllowed(std::span<const double> cost);

// The first cheapest colour and the two lowest costs.
Cheapest cheapest(std::span<const double> cost);

// What a link costs when its ends have these colours.
inline double linkPenalty(double weight, std::int32_t a, std::int32_t b) {
    if (weight > 0)
        return a == b ? weight : 0.0;
    return a == b ? 0.0 : -weight;
}

// Adds to a node's costs what a link to a neighbour of fixed colour makes each colour cost.
void chargeFixedNeighbour(std::span<double> cost, double weight, std::int32_t colour);

} // namespace konstrain::linked
