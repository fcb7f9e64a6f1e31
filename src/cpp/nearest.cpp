#include "nearest.h"

#include <cassert>

#include "multiversion.h"

namespace konstrain {

namespace {

KONSTRAIN_MULTIVERSION
double nearestRows(const double* costs, std::size_t nRows, std::size_t nClusters, std::int32_t* labels) {
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
    return nearestRows(costs.data(), labels.size(), nClusters, labels.data());
}

} // namespace konstrain
