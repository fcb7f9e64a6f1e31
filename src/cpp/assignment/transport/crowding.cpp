#include "crowding.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace konstrain::transport {

std::int64_t countCrowded(std::span<const std::int64_t> sizes, std::span<const std::int64_t> upper) {
    std::int64_t count = 0;
    for (std::size_t j = 0; j != sizes.size(); ++j)
        count += std::max<std::int64_t>(sizes[j] - upper[j], 0);
    return count;
}

void raiseCrowdedPrices(std::span<const std::int32_t> labels, std::span<const float> gaps,
                        std::span<const std::int64_t> sizes, std::span<const std::int64_t> upper,
                        std::span<double> prices) {
    std::vector<std::vector<float>> inside(sizes.size());
    for (std::size_t j = 0; j != sizes.size(); ++j)
        if (sizes[j] > upper[j])
            inside[j].reserve(static_cast<std::size_t>(sizes[j]));
    for (std::size_t i = 0; i != labels.size(); ++i) {
        const auto j = static_cast<std::size_t>(labels[i]);
        if (sizes[j] > upper[j])
            inside[j].push_back(gaps[i]);
    }
    for (std::size_t j = 0; j != sizes.size(); ++j) {
        if (sizes[j] <= upper[j])
            continue;
        // Between the last row that has to go and the first that stays; all go when nothing fits.
        const auto first = inside[j].begin();
        const auto stays = first + (sizes[j] - upper[j]);
        std::nth_element(first, stays - 1, inside[j].end());
        const double goes = *(stays - 1);
        const double next = stays == inside[j].end() ? goes : *std::min_element(stays, inside[j].end());
        prices[j] += 0.5 * (goes + next);
    }
}

double spreadTies(std::span<const double> costs, std::span<const double> prices, std::span<const float> gaps,
                  std::span<std::int64_t> excess, std::span<std::int32_t> labels) {
    const std::size_t nClusters = prices.size();
    double added = 0.0;
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const auto from = static_cast<std::size_t>(labels[row]);
        if (gaps[row] != 0.0F || excess[from] <= 0)
            continue;
        const double* cost = costs.data() + row * nClusters;
        // The gap was rounded to a float; only exact ties are free to move.
        const double least = cost[from] + prices[from];
        for (std::size_t to = 0; to != nClusters; ++to) {
            if (excess[to] >= 0 || cost[to] + prices[to] != least)
                continue;
            --excess[from];
            ++excess[to];
            labels[row] = static_cast<std::int32_t>(to);
            added += cost[to] - cost[from];
            break;
        }
    }
    return added;
}

double levelPrices(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                   std::size_t nRows, std::span<double> prices) {
    // The bound as a function of the shift is concave with a kink at each price; its slope left of all of
    // them is what the upper bounds leave free.
    std::vector<std::size_t> order(prices.size());
    std::int64_t slope = -static_cast<std::int64_t>(nRows);
    for (std::size_t j = 0; j != prices.size(); ++j) {
        order[j] = j;
        slope += upper[j];
    }
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return prices[a] < prices[b]; });
    double shift = 0.0;
    for (const std::size_t j : order) {
        if (slope <= 0)
            break;
        slope += lower[j] - upper[j];
        shift = prices[j];
    }
    for (double& price : prices)
        price -= shift;
    return shift;
}

} // namespace konstrain::transport
