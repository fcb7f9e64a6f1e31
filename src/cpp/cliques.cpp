#include "cliques.h"

#include <algorithm>
#include <cstddef>

namespace konstrain {

namespace {

// Two sorted neighbour lists are equal once each list is completed by its own node.
bool sameClosedNeighbours(std::span<const std::int32_t> a, std::int32_t nodeA,
                          std::span<const std::int32_t> b, std::int32_t nodeB) {
    if (a.size() != b.size())
        return false;
    std::size_t i = 0;
    std::size_t j = 0;
    while (i != a.size() || j != b.size()) {
        if (i != a.size() && a[i] == nodeB)
            ++i;
        else if (j != b.size() && b[j] == nodeA)
            ++j;
        else if (i == a.size() || j == b.size() || a[i++] != b[j++])
            return false;
    }
    return true;
}

} // namespace

bool isDisjointCliques(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices) {
    const auto row = [&](std::size_t node) {
        const auto begin = static_cast<std::size_t>(indptr[node]);
        return indices.subspan(begin, static_cast<std::size_t>(indptr[node + 1]) - begin);
    };
    for (std::size_t node = 0; node + 1 < indptr.size(); ++node) {
        const auto neighbours = row(node);
        // Comparing with the smallest neighbour is enough: it stands for the whole clique.
        if (!neighbours.empty() &&
            !sameClosedNeighbours(neighbours, static_cast<std::int32_t>(node),
                                  row(static_cast<std::size_t>(neighbours.front())), neighbours.front()))
            return false;
    }
    return true;
}

} // namespace konstrain
