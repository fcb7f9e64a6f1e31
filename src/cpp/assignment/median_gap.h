#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "infinity.h"

namespace konstrain {

// The least and the second-least of the values taken so far, and where the least one stands.
struct LeastTwo {
    double first = infinity;
    double second = infinity;
    std::size_t best = 0;

    void take(double value, std::size_t at) {
        second = std::min(second, std::max(first, value));
        best = value < first ? at : best;
        first = std::min(first, value);
    }
    double gap() const { return second - first; }
};

// Clusters whose reduced cost is higher by more temperatures than this take no share of a row; larger: shares
// are more exact, and more of them are computed.
inline constexpr double shareCutoff = 7.0;

// Rows of a sample: for the scale of gaps, for first duals, and for rows that a repair moves first; larger:
// better ones, slower.
inline constexpr std::size_t sampleRows = 2048;

// Median of the gaps between the cheapest and the second-cheapest choice of a row, over a sample of the rows
// with a gap. `leastOf(row)` gives the two. 0 when there is no such row.
template <class LeastOf> double medianGap(std::size_t nRows, LeastOf&& leastOf) {
    std::vector<double> gaps;
    const std::size_t stride = std::max<std::size_t>(1, nRows / sampleRows);
    for (std::size_t row = 0; row < nRows; row += stride) {
        const LeastTwo least = leastOf(row);
        if (least.second < infinity && least.gap() > 0.0)
            gaps.push_back(least.gap());
    }
    if (gaps.empty())
        return 0.0;
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    return *middle;
}

} // namespace konstrain
