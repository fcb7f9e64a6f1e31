#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain {

// Whether a graph in compressed rows (neighbours sorted within each row) consists of cliques and isolated
// nodes.
bool isDisjointCliques(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices);

// Sends each block to its cheapest cluster, and the members of each clique to distinct ones at least total
// cost. The graph must consist of disjoint cliques. Returns the blocks of a clique that is larger than the
// number of clusters; empty when all went well.
std::vector<std::int32_t> matchCliques(std::span<const double> costs, std::size_t nClusters,
                                       std::span<const std::int64_t> indptr,
                                       std::span<const std::int32_t> indices, std::span<std::int32_t> labels,
                                       double& cost);

} // namespace konstrain
