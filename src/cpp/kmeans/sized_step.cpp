#include "sized_step.h"

#include <utility>
#include <vector>

#include "priced_bounds.h"

namespace konstrain::kmeans {

using namespace transport;

template <typename Rows>
TransportResult sizedStep(const Rows& rows, const double* weight, const Points& centers,
                          const SizedProblem& problem, std::span<double> duals, const SweptCosts& swept,
                          std::span<std::int32_t> labels, ClusterSums clusters) {
    dropIdleDuals(duals, problem.lower, problem.upper, rows.nRows);
    PricedRows priced{std::vector<float>(rows.nRows), std::vector<std::int64_t>(duals.size()), {}};
    priced.sums = pricedPass(rows, weight, centers, duals, problem.nThreads,
                             {swept.costs, swept.columns, labels, priced.gaps, priced.sizes, clusters});
    const std::vector<std::int32_t> cheapest(labels.begin(), labels.end());
    TransportOptions options;
    options.deadline = problem.deadline;
    const TransportResult result =
        solveTransport(swept.costs, problem.lower, problem.upper, duals, labels, std::move(priced), options);
    moveRows(rows, weight, cheapest, labels, problem.nThreads, clusters);
    return result;
}

#define KONSTRAIN_INSTANTIATE(...)                                                                           \
    template TransportResult sizedStep(const __VA_ARGS__&, const double*, const Points&,                     \
                                       const SizedProblem&, std::span<double>, const SweptCosts&,            \
                                       std::span<std::int32_t>, ClusterSums);
KONSTRAIN_FOR_EACH_ROWS(KONSTRAIN_INSTANTIATE)
#undef KONSTRAIN_INSTANTIATE

} // namespace konstrain::kmeans
