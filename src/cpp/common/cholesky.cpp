#include "cholesky.h"

#include <algorithm>
#include <cmath>

namespace konstrain {

void factorize(std::span<double> matrix, std::size_t n) {
    for (std::size_t z = 0; z != n; ++z) {
        double* pivot = matrix.data() + z * n;
        pivot[z] = std::sqrt(std::max(pivot[z], 0.0));
        for (std::size_t x = z + 1; x != n; ++x)
            matrix[x * n + z] = pivot[z] > 0.0 ? matrix[x * n + z] / pivot[z] : 0.0;
        // The column above the diagonal is free: there it lies in one piece.
        for (std::size_t x = z + 1; x != n; ++x)
            pivot[x] = matrix[x * n + z];
        for (std::size_t x = z + 1; x != n; ++x)
            for (std::size_t y = z + 1; y <= x; ++y)
                matrix[x * n + y] -= pivot[x] * pivot[y];
    }
}

void solveFactorized(std::span<const double> factor, std::size_t n, std::span<double> side) {
    for (std::size_t x = 0; x != n; ++x) {
        double rest = side[x];
        for (std::size_t z = 0; z != x; ++z)
            rest -= factor[x * n + z] * side[z];
        side[x] = factor[x * n + x] > 0.0 ? rest / factor[x * n + x] : 0.0;
    }
    for (std::size_t x = n; x-- != 0;) {
        double rest = side[x];
        for (std::size_t z = x + 1; z != n; ++z)
            rest -= factor[z * n + x] * side[z];
        side[x] = factor[x * n + x] > 0.0 ? rest / factor[x * n + x] : 0.0;
    }
}

} // namespace konstrain
