#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::constraints {

using Node = std::int32_t;

inline std::size_t at(Node node) {
    return static_cast<std::size_t>(node);
}

// A conflict graph in compressed rows: symmetric, neighbours sorted within a row, no loops.
struct ConflictView {
    std::span<const std::int64_t> indptr;
    std::span<const Node> indices;

    std::size_t size() const { return indptr.size() - 1; }
    std::span<const Node> neighbours(Node node) const {
        const auto begin = static_cast<std::size_t>(indptr[at(node)]);
        const auto end = static_cast<std::size_t>(indptr[at(node) + 1]);
        return indices.subspan(begin, end - begin);
    }
};

// A graph of its own, cut out of another one; `nodes` are their numbers in the other.
struct Induced {
    std::vector<std::int64_t> indptr;
    std::vector<Node> indices;
    std::vector<Node> nodes;

    ConflictView view() const { return {indptr, indices}; }
};

// Cuts subgraphs out of one graph; keeps its scratch space, so that a cut costs only what is cut.
class Cutter {
public:
    explicit Cutter(const ConflictView& graph) : graph_(graph), local_(graph.size(), -1) {}

    // `members` must ascend, so that the neighbours stay sorted.
    Induced cut(std::span<const Node> members);

private:
    ConflictView graph_;
    std::vector<Node> local_;
};

// Marks the nodes that survive when nodes with fewer than `least` neighbours are removed again and again: the
// k-core of Seidman (1983). The others can be coloured last, whatever the survivors' colours are.
std::vector<char> survivors(const ConflictView& graph, std::int64_t least);

// The connected components among the nodes marked alive, each ascending.
std::vector<std::vector<Node>> connectedParts(const ConflictView& graph, std::vector<char> alive);

// Order in which a node of smallest remaining degree is removed each time, with the core number of each node.
struct Degeneracy {
    std::vector<Node> order;
    std::vector<std::int64_t> coreNumber;
};

// Linear in the number of conflicts (Matula and Beck 1983).
Degeneracy degeneracy(const ConflictView& graph);

bool adjacent(const ConflictView& graph, Node a, Node b);

} // namespace konstrain::constraints
