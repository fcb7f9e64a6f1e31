#pragma once

#include <cstdint>
#include <span>

namespace konstrain {

// Gives each row of a row-major matrix a column of its own at least total cost (shortest augmenting
// paths: Jonker and Volgenant 1987).
// There must not be more rows than columns. Infinite entries are forbidden. Returns the total, infinite when
// no such choice exists; `columns` (one per row) is then meaningless.
double assignRows(std::span<const double> costs, std::size_t nColumns, std::span<std::int32_t> columns);

} // namespace konstrain
