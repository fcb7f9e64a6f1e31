#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace konstrain::regions {

// Which rows are neighbours, in compressed rows. Rows of one block that are connected among themselves are
// one node, a part of the block; a block whose rows are not connected has several. A cluster of blocks is
// connected by its rows exactly when it is connected by its parts.
struct Graph {
    std::vector<std::int64_t> start;     // nParts + 1
    std::vector<std::int32_t> to;        // parts; those of the own block do not occur
    std::vector<std::int64_t> firstPart; // nBlocks + 1: the parts of a block are consecutive
    std::vector<std::int32_t> blockOf;   // nParts

    std::size_t nParts() const { return blockOf.size(); }
    std::size_t nBlocks() const { return firstPart.size() - 1; }
    bool hasSplitBlocks() const { return nParts() != nBlocks(); }
    std::size_t block(std::size_t part) const { return static_cast<std::size_t>(blockOf[part]); }
    std::size_t partBegin(std::size_t block) const { return static_cast<std::size_t>(firstPart[block]); }
    std::size_t partEnd(std::size_t block) const { return static_cast<std::size_t>(firstPart[block + 1]); }
    bool isSplit(std::size_t block) const { return partEnd(block) - partBegin(block) > 1; }
    // Neighbours of all parts of a block, as positions in `to`.
    std::size_t edgeBegin(std::size_t block) const {
        return static_cast<std::size_t>(start[partBegin(block)]);
    }
    std::size_t edgeEnd(std::size_t block) const { return static_cast<std::size_t>(start[partEnd(block)]); }
    std::size_t end(std::size_t edge) const { return static_cast<std::size_t>(to[edge]); }
};

template <typename Visit> void forEachNeighbour(const Graph& graph, std::size_t part, Visit visit) {
    const auto last = static_cast<std::size_t>(graph.start[part + 1]);
    for (auto edge = static_cast<std::size_t>(graph.start[part]); edge != last; ++edge)
        visit(graph.end(edge));
}

} // namespace konstrain::regions
