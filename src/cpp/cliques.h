#pragma once

#include <cstdint>
#include <span>

namespace konstrain {

// Whether a graph in compressed rows (neighbours sorted within each row) consists of cliques and isolated
// nodes.
bool isDisjointCliques(std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices);

} // namespace konstrain
