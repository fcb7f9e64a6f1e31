#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "potts.h"

namespace konstrain {

// Nodes of which no two are linked, and what no such set outweighs: the set's own weight, unless the search
// for it was cut short.
struct StableSet {
    std::vector<std::int32_t> nodes;
    double most;
};

// Finds heaviest stable sets of one link graph under changing weights: simplicial nodes are folded into their
// neighbours, what falls apart is solved part by part, covers by cliques bound the rest.
class StableSets {
public:
    static constexpr std::size_t mostNodes = 256; // recursion and bit sets are made for so many

    // Keeps a reference.
    explicit StableSets(const Potts& potts);

    bool areLinked(std::size_t a, std::size_t b) const { return linked_[a * nNodes_ + b] != 0; }

    // The heaviest stable set among candidates, each with a positive weight (indexed by node), if it weighs
    // more than `floor`; else no nodes and `floor` itself.
    StableSet heaviest(std::vector<std::int32_t> candidates, std::span<const double> weight,
                       double floor) const;

private:
    template <std::size_t nWords>
    StableSet search(std::span<const std::int32_t> candidates, std::span<const double> weight,
                     double floor) const;

    const Potts& potts_;
    std::size_t nNodes_;
    std::vector<char> linked_; // pairs of nodes, row-major
};

} // namespace konstrain
