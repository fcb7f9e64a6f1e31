#pragma once

#include <cstddef>
#include <span>

namespace konstrain {

// Cholesky's factor of a symmetric n x n matrix, in place of its lower triangle. Where rounding leaves
// nothing of a row that repeats others, its diagonal becomes zero.
void factorize(std::span<double> matrix, std::size_t n);

// Solves for a right-hand side, in place; rows whose diagonal is zero get zero.
void solveFactorized(std::span<const double> factor, std::size_t n, std::span<double> side);

} // namespace konstrain
