#include "gaining_blocks.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "multiversion.h"

namespace konstrain {

namespace {

// Whether one of the clusters costs less than `gain`, what is saved by leaving; the own one does not count.
KONSTRAIN_MULTIVERSION
bool isAnyBelow(const double* costs, const double* factors, std::size_t nClusters, std::size_t home,
                double gain) {
    std::int64_t count = 0;
    for (std::size_t j = 0; j != nClusters; ++j)
        count += costs[j] * factors[j] < gain ? 1 : 0;
    return count > (costs[home] * factors[home] < gain ? 1 : 0);
}

} // namespace

std::vector<std::int32_t> gainingBlocks(std::span<const double> costs, std::span<const std::int32_t> labels,
                                        std::span<const double> weight,
                                        std::span<const double> clusterWeight) {
    const std::size_t nClusters = clusterWeight.size();
    assert(costs.size() == labels.size() * nClusters && weight.size() == labels.size());
    const double heaviest = weight.empty() ? 0.0 : *std::ranges::max_element(weight);
    std::vector<double> factors(nClusters);
    for (std::size_t j = 0; j != nClusters; ++j)
        factors[j] = clusterWeight[j] > 0.0 ? clusterWeight[j] / (clusterWeight[j] + heaviest) : 0.0;
    std::vector<std::int32_t> found;
    for (std::size_t block = 0; block != labels.size(); ++block) {
        const auto home = static_cast<std::size_t>(labels[block]);
        const double rest = clusterWeight[home] - weight[block];
        if (!(rest > 0.0))
            continue; // nothing is saved where no one stays
        const double* cost = costs.data() + block * nClusters;
        if (isAnyBelow(cost, factors.data(), nClusters, home, cost[home] * clusterWeight[home] / rest))
            found.push_back(static_cast<std::int32_t>(block));
    }
    return found;
}

} // namespace konstrain
