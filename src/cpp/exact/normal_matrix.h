#pragma once

#include <cstdint>
#include <span>

namespace konstrain::exact {

// Adds sum over columns j of scale_j a_j a_j' to the lower triangle of a matrix, where a_j marks the members
// of a column, which ascend. The entry (i, j) lies at `j * stride + i`: a stride of n is a dense matrix by
// columns, a stride of b the band storage of LAPACK with b entries below the diagonal.
void addNormalMatrix(std::span<const std::int64_t> start, std::span<const std::int32_t> members,
                     std::span<const double> scale, std::size_t stride, std::span<double> matrix);

} // namespace konstrain::exact
