#include "cliques.h"

#include <algorithm>
#include <cstddef>

#include "nearest.h"
#include "rectangular_assignment.h"

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

std::span<const std::int32_t> rowOf(std::span<const std::int64_t> indptr,
                                    std::span<const std::int32_t> indices, std::size_t node) {
    const auto begin = static_cast<std::size_t>(indptr[node]);
    return indices.subspan(begin, static_cast<std::size_t>(indptr[node + 1]) - begin);
}

bool allDistinct(std::vector<std::int32_t> values) {
    std::ranges::sort(values);
    return std::ranges::adjacent_find(values) == values.end();
}

} // namespace

bool isDisjointCliques(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices) {
    for (std::size_t node = 0; node + 1 < indptr.size(); ++node) {
        const auto neighbours = rowOf(indptr, indices, node);
        // Comparing with the smallest neighbour is enough: all of a clique share it.
        if (!neighbours.empty() &&
            !sameClosedNeighbours(neighbours, static_cast<std::int32_t>(node),
                                  rowOf(indptr, indices, static_cast<std::size_t>(neighbours.front())),
                                  neighbours.front()))
            return false;
    }
    return true;
}

std::vector<std::int32_t> matchCliques(std::span<const double> costs, std::size_t nClusters,
                                       std::span<const std::int64_t> indptr,
                                       std::span<const std::int32_t> indices, std::span<std::int32_t> labels,
                                       double& cost) {
    cost = nearest(costs, nClusters, labels);
    std::vector<std::int32_t> members;
    std::vector<std::int32_t> chosen;
    std::vector<double> local;
    for (std::size_t node = 0; node != labels.size(); ++node) {
        const auto neighbours = rowOf(indptr, indices, node);
        if (neighbours.empty() || static_cast<std::size_t>(neighbours.front()) < node)
            continue; // a clique is handled at its smallest member
        members.assign(1, static_cast<std::int32_t>(node));
        members.insert(members.end(), neighbours.begin(), neighbours.end());
        if (members.size() > nClusters)
            return members;
        chosen.clear();
        for (const std::int32_t member : members)
            chosen.push_back(labels[static_cast<std::size_t>(member)]);
        if (allDistinct(chosen))
            continue;
        local.clear();
        for (const std::int32_t member : members) {
            const auto row = costs.subspan(static_cast<std::size_t>(member) * nClusters, nClusters);
            local.insert(local.end(), row.begin(), row.end());
            cost -= row[static_cast<std::size_t>(labels[static_cast<std::size_t>(member)])];
        }
        cost += assignRows(local, nClusters, chosen);
        for (std::size_t i = 0; i != members.size(); ++i)
            labels[static_cast<std::size_t>(members[i])] = chosen[i];
    }
    return {};
}

} // namespace konstrain
