#include "greedy_pass.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "infinity.h"

namespace konstrain::baselines {

using namespace linked;

namespace {

constexpr double forbidden = infinity;

std::int32_t cheapest(std::span<const double> totals, std::int32_t present) {
    const auto best = std::ranges::min_element(totals);
    if (present >= 0 && totals[static_cast<std::size_t>(present)] <= *best)
        return present;
    return static_cast<std::int32_t>(best - totals.begin());
}

std::span<const double> rowOf(std::span<const double> matrix, std::size_t nColumns, std::size_t row) {
    return matrix.subspan(row * nColumns, nColumns);
}

} // namespace

GreedyPass greedyPass(std::span<const double> costs, std::size_t nClusters,
                      std::span<const std::int32_t> order, const LinkView& links, bool stopWhenStuck,
                      std::span<std::int32_t> labels) {
    assert(costs.size() == labels.size() * nClusters && links.indptr.size() == labels.size() + 1);
    GreedyPass result{0, 0, -1};
    std::vector<double> totals(nClusters);
    for (const std::int32_t next : order) {
        const auto row = static_cast<std::size_t>(next);
        const auto own = rowOf(costs, nClusters, row);
        std::ranges::copy(own, totals.begin());
        for (auto at = links.indptr[row]; at != links.indptr[row + 1]; ++at) {
            const auto entry = static_cast<std::size_t>(at);
            const std::int32_t theirs = labels[static_cast<std::size_t>(links.indices[entry])];
            // A penalty of being apart and a bonus for being together differ by a constant.
            if (theirs >= 0)
                totals[static_cast<std::size_t>(theirs)] += links.weights[entry];
        }
        std::int32_t label = cheapest(totals, labels[row]);
        if (totals[static_cast<std::size_t>(label)] == forbidden) {
            ++result.nStuck;
            result.firstStuck = result.firstStuck < 0 ? next : result.firstStuck;
            if (stopWhenStuck)
                return result;
            label = cheapest(own, -1);
        }
        result.nChanged += label != labels[row];
        labels[row] = label;
    }
    return result;
}

std::int64_t pricedGreedyPass(std::span<const double> costs, std::size_t nClusters,
                              std::span<const std::int32_t> order, const PricedLinks& links,
                              std::span<std::int32_t> labels) {
    assert(costs.size() == labels.size() * nClusters && links.indptr.size() == labels.size() + 1);
    std::int64_t nChanged = 0;
    std::vector<double> totals(nClusters);
    for (const std::int32_t next : order) {
        const auto row = static_cast<std::size_t>(next);
        std::ranges::copy(rowOf(costs, nClusters, row), totals.begin());
        for (auto at = links.indptr[row]; at != links.indptr[row + 1]; ++at) {
            const auto entry = static_cast<std::size_t>(at);
            const std::int32_t theirs = labels[static_cast<std::size_t>(links.indices[entry])];
            if (theirs < 0)
                continue;
            const auto link = static_cast<std::size_t>(links.links[entry]);
            const auto penalty = rowOf(links.penalties, nClusters, link);
            const auto shared = static_cast<std::size_t>(theirs);
            if (!links.isMust[link]) {
                totals[shared] += penalty[shared];
                continue;
            }
            for (std::size_t h = 0; h != nClusters; ++h)
                totals[h] += h == shared ? 0.0 : penalty[h] + penalty[shared];
        }
        const std::int32_t label = cheapest(totals, labels[row]);
        nChanged += label != labels[row];
        labels[row] = label;
    }
    return nChanged;
}

} // namespace konstrain::baselines
