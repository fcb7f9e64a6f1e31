#include "nearest.h"

#include <cassert>
#include <vector>

#include "hardware.h"
#include "multiversion.h"
#include "priced_rows.h"

namespace konstrain {

namespace {

// In short rows the compiler's way, one lane per row, beats lanes across columns; in long rows it is three
// times slower.
constexpr std::size_t shortRow = laneCount * 2;

KONSTRAIN_MULTIVERSION
double nearestShortRows(const double* costs, std::size_t nRows, std::size_t nClusters, std::int32_t* labels) {
    double total = 0.0;
    for (std::size_t row = 0; row != nRows; ++row) {
        const double* cost = costs + row * nClusters;
        double best = cost[0];
        std::int32_t label = 0;
        for (std::size_t j = 1; j != nClusters; ++j) {
            const bool better = cost[j] < best;
            best = better ? cost[j] : best;
            label = better ? static_cast<std::int32_t>(j) : label;
        }
        labels[row] = label;
        total += best;
    }
    return total;
}

} // namespace

double nearest(std::span<const double> costs, std::size_t nClusters, std::span<std::int32_t> labels) {
    assert(nClusters > 0 && costs.size() == labels.size() * nClusters);
    if (nClusters <= shortRow)
        return nearestShortRows(costs.data(), labels.size(), nClusters, labels.data());
    const std::vector<double> noDuals(nClusters, 0.0);
    std::vector<std::int64_t> sizes(nClusters);
    return transport::priceRows(costs, noDuals, labels, {}, sizes).cost;
}

} // namespace konstrain
