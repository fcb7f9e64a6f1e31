#include "pricing.h"
#include "arrays.h"
#include "deadline.h"
#include "signal_poll.h"

namespace konstrain::exact {

namespace {

// Capacities as rows of amounts with their limits, pair budgets as stacked square matrices with theirs.
ClusterRules clusterRules(Matrix<double> amounts, Vector<double> amountLimits, Matrix<double> counts,
                          Vector<double> countLimits, const nb::object& mayJoin) {
    const std::size_t n = amounts.nColumns;
    std::vector<Capacity> capacities;
    for (std::size_t i = 0; i != amountLimits.size(); ++i)
        capacities.push_back({{amounts.values + i * n, amounts.values + (i + 1) * n}, amountLimits[i]});
    std::vector<PairBudget> budgets;
    for (std::size_t i = 0; i != countLimits.size(); ++i)
        budgets.push_back({{counts.values + i * n * n, counts.values + (i + 1) * n * n}, countLimits[i]});
    ClusterRules::Question ask;
    if (!mayJoin.is_none())
        ask = [mayJoin](std::span<const std::int32_t> members, std::int32_t block) {
            nb::gil_scoped_acquire acquire;
            return nb::cast<bool>(mayJoin(Array<std::int32_t>(members), block));
        };
    return {n, std::move(capacities), std::move(budgets), std::move(ask)};
}

auto priceExactlyWithin(const PricingBlocks& self, Vector<double> profit, double cutoff,
                        std::int64_t nodeLimit, std::int64_t nodesAfterFind, double timeLimit,
                        bool costless) {
    PricingLimits limits{nodeLimit, nodesAfterFind, {}, signalPoll()};
    limits.deadline = deadlineIn(timeLimit);
    ExactPrice found = priceExactly(self, profit, cutoff, limits, costless);
    return std::make_tuple(std::move(found.columns), found.bound, found.finished, found.nNodes);
}

} // namespace

void bindPricing(nb::module_& m) {
    nb::class_<PricingBlocks>(m, "PricingBlocks", "Blocks and rules that clusters are priced from.")
        .def(
            "__init__",
            [](PricingBlocks* self, Matrix<double> means, Vector<double> weight, Vector<std::int64_t> indptr,
               Vector<std::int32_t> indices, Matrix<double> amounts, Vector<double> amountLimits,
               Matrix<double> counts, Vector<double> countLimits, nb::object mayJoin) {
                new (self) PricingBlocks(means, means.nColumns, weight, indptr, indices,
                                         clusterRules(amounts, amountLimits, counts, countLimits, mayJoin));
            },
            "means"_a, "weight"_a, "indptr"_a, "indices"_a, "amounts"_a, "amount_limits"_a, "counts"_a,
            "count_limits"_a, "may_join"_a.none())
        .def(
            "price_locally",
            [](const PricingBlocks& self, Vector<double> profit, const std::vector<Column>& starts,
               double threshold, std::size_t limit,
               bool costless) { return priceLocally(self, profit, starts, threshold, limit, costless); },
            "profit"_a, "starts"_a, "threshold"_a, "limit"_a, "costless"_a = false, WithoutGil(),
            "Locally best sets with a reduced cost below the threshold, cheapest first.")
        .def("price_exactly", &priceExactlyWithin, "profit"_a, "cutoff"_a, "node_limit"_a,
             "nodes_after_find"_a, "time_limit"_a, "costless"_a = false, WithoutGil(),
             "Sets below the cutoff (the last is the best), proved lower bound, whether it is exact, nodes.");
}

} // namespace konstrain::exact
