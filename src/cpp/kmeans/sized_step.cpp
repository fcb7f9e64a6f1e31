#include "sized_step.h"

#include <utility>
#include <vector>

#include "priced_bounds.h"

namespace konstrain {

template <typename Rows>
TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                          std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                          std::span<double> prices, std::size_t nThreads, TimePoint deadline,
                          std::span<double> costs, std::span<const std::int32_t> columns,
                          std::span<std::int32_t> labels, ClusterSums clusters) {
    dropIdlePrices(prices, lower, upper, rows.nRows);
    PricedRows priced{std::vector<float>(rows.nRows), std::vector<std::int64_t>(prices.size()), {}};
    priced.sums = pricedPass(rows, weight, centers, prices, nThreads,
                             {costs, columns, labels, priced.gaps, priced.sizes, clusters});
    const std::vector<std::int32_t> cheapest(labels.begin(), labels.end());
    TransportOptions options;
    options.deadline = deadline;
    const TransportResult result =
        solveTransport(costs, lower, upper, prices, labels, std::move(priced), options);
    moveRows(rows, weight, cheapest, labels, nThreads, clusters);
    return result;
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template TransportResult sizedStep(const __VA_ARGS__&, const double*, const Points&,                     \
                                       std::span<const std::int64_t>, std::span<const std::int64_t>,         \
                                       std::span<double>, std::size_t, TimePoint, std::span<double>,         \
                                       std::span<const std::int32_t>, std::span<std::int32_t>, ClusterSums);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain
