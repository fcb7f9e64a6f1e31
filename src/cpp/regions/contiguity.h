#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "graph.h"

namespace konstrain::regions {

// Labels of parts, and the number of connected pieces of each cluster as blocks move.
class Contiguity {
public:
    Contiguity(const Graph& graph, std::size_t nClusters);

    // Takes labels of blocks and counts the pieces anew.
    void assign(std::span<const std::int32_t> labels);
    std::int32_t label(std::size_t part) const { return labels_[part]; }
    std::int64_t nPieces(std::size_t cluster) const { return nPieces_[cluster]; }
    // Pieces of all clusters beyond one for each.
    std::int64_t nExcess() const;
    // The piece of each part, pieces counted over all clusters.
    std::vector<std::int32_t> pieces() const;

    // Whether a block, which has one part, has neighbours in a cluster and these are connected there without
    // the block: leaving or joining then changes no number of pieces. Breadth-first search from one neighbour
    // until all others are met, which nearly always is soon.
    bool isPassable(std::size_t block, std::int32_t cluster);
    // By how much a joining and leaving block can lower the number of pieces at most.
    std::int64_t mostMerged(std::size_t block, std::size_t to) const;
    // By how much the number of pieces of a cluster changes when a block joins it or leaves it.
    int changeByJoining(std::size_t block, std::size_t cluster);
    int changeByLeaving(std::size_t block);
    // Moves a block whose changes are known.
    void move(std::size_t block, std::size_t to, int joining, int leaving);

private:
    // Pieces of the cluster, the block left out, that neighbour the block, and the pieces they form together
    // with the parts of the block.
    struct Around {
        int apart;
        int together;
    };
    Around around(std::size_t block, std::int32_t cluster);
    template <typename Reach> void search(std::size_t from, std::int32_t cluster, Reach reach);

    const Graph& graph_;
    std::vector<std::int32_t> labels_; // nParts
    std::vector<std::int64_t> nPieces_;
    std::vector<std::int64_t> visited_; // nParts: the search that met the part last
    std::vector<std::int64_t> wanted_;  // nParts: the search that has to meet the part
    std::int64_t nSearches_ = 0;
    std::vector<std::size_t> queue_;
};

} // namespace konstrain::regions
