#include "normal_matrix.h"

namespace konstrain::exact {

void addNormalMatrix(std::span<const std::int64_t> start, std::span<const std::int32_t> members,
                     std::span<const double> scale, std::size_t stride, std::span<double> matrix) {
    for (std::size_t c = 0; c != scale.size(); ++c) {
        const auto begin = static_cast<std::size_t>(start[c]);
        const auto end = static_cast<std::size_t>(start[c + 1]);
        for (std::size_t q = begin; q != end; ++q) {
            double* column = matrix.data() + static_cast<std::size_t>(members[q]) * stride;
            for (std::size_t p = q; p != end; ++p)
                column[members[p]] += scale[c];
        }
    }
}

} // namespace konstrain::exact
