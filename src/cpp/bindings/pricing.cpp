#include "pricing.h"
#include "arrays.h"
#include "bindings.h"
#include "deadline.h"
#include "signal_poll.h"

namespace {

// Capacities as rows of amounts with their limits, pair budgets as stacked square matrices with theirs.
konstrain::exact::ClusterRules clusterRules(const Matrix<double>& amounts, const Vector<double>& amountLimits,
                                            const Matrix<double>& counts, const Vector<double>& countLimits,
                                            const nb::object& mayJoin) {
    const std::size_t n = amounts.shape(1);
    std::vector<konstrain::exact::Capacity> capacities;
    for (std::size_t i = 0; i != amountLimits.size(); ++i)
        capacities.push_back(
            {{amounts.data() + i * n, amounts.data() + (i + 1) * n}, amountLimits.data()[i]});
    std::vector<konstrain::exact::PairBudget> budgets;
    for (std::size_t i = 0; i != countLimits.size(); ++i)
        budgets.push_back(
            {{counts.data() + i * n * n, counts.data() + (i + 1) * n * n}, countLimits.data()[i]});
    konstrain::exact::ClusterRules::Question ask;
    if (!mayJoin.is_none())
        ask = [mayJoin](std::span<const std::int32_t> members, std::int32_t block) {
            nb::gil_scoped_acquire acquire;
            return nb::cast<bool>(mayJoin(copyVector<std::int32_t>(members), block));
        };
    return {n, std::move(capacities), std::move(budgets), std::move(ask)};
}

auto priceExactly(const konstrain::exact::PricingBlocks& self, Vector<double> profit, double cutoff,
                  std::int64_t nodeLimit, std::int64_t nodesAfterFind, double timeLimit, bool costless) {
    konstrain::exact::PricingLimits limits{nodeLimit, nodesAfterFind, {}, signalPoll()};
    limits.deadline = konstrain::deadlineIn(timeLimit);
    konstrain::exact::ExactPrice found;
    {
        nb::gil_scoped_release release;
        found = konstrain::exact::priceExactly(self, view<double>(profit), cutoff, limits, costless);
    }
    return std::make_tuple(found.columns, found.bound, found.finished, found.nNodes);
}

} // namespace

void bindPricing(nb::module_& m) {
    using konstrain::exact::PricingBlocks;
    nb::class_<PricingBlocks>(m, "PricingBlocks", "Blocks and rules that clusters are priced from.")
        .def(
            "__init__",
            [](PricingBlocks* self, Matrix<double> means, Vector<double> weight, Vector<std::int64_t> indptr,
               Vector<std::int32_t> indices, Matrix<double> amounts, Vector<double> amountLimits,
               Matrix<double> counts, Vector<double> countLimits, nb::object mayJoin) {
                new (self) PricingBlocks(view<double>(means), means.shape(1), view<double>(weight),
                                         view<std::int64_t>(indptr), view<std::int32_t>(indices),
                                         clusterRules(amounts, amountLimits, counts, countLimits, mayJoin));
            },
            "means"_a.noconvert(), "weight"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
            "amounts"_a.noconvert(), "amount_limits"_a.noconvert(), "counts"_a.noconvert(),
            "count_limits"_a.noconvert(), "may_join"_a.none())
        .def(
            "price_locally",
            [](const PricingBlocks& self, Vector<double> profit,
               const std::vector<konstrain::exact::Column>& starts, double threshold, std::size_t limit,
               bool costless) {
                std::vector<konstrain::exact::Column> found;
                {
                    nb::gil_scoped_release release;
                    found = konstrain::exact::priceLocally(self, view<double>(profit), starts, threshold,
                                                           limit, costless);
                }
                return found;
            },
            "profit"_a.noconvert(), "starts"_a, "threshold"_a, "limit"_a, "costless"_a = false,
            "Locally best sets with a reduced cost below the threshold, cheapest first.")
        .def("price_exactly", &priceExactly, "profit"_a.noconvert(), "cutoff"_a, "node_limit"_a,
             "nodes_after_find"_a, "time_limit"_a, "costless"_a = false,
             "Sets below the cutoff (the last is the best), proved lower bound, whether it is exact, nodes.");
}
