#include "arrays.h"
#include "deadline.h"
#include "newton_duals.h"

namespace konstrain::priced {

namespace {

auto newtonDuals(Matrix<double> costs, Matrix<double> amounts, Matrix<double> weights, Matrix<double> low,
                 Matrix<double> high, Matrix<double> start, bool isWarm, double timeLimit) {
    const RuleProblem problem{costs, costs.nColumns, amounts, amounts.nColumns, weights, low, high};
    Array<double> duals(start);
    PricedLabels rows = NewtonDuals(problem, deadlineIn(timeLimit)).find(duals, isWarm);
    return std::make_tuple(Array<std::int32_t>(std::move(rows.labels)), std::move(duals), rows.least);
}

} // namespace

void bindPriced(nb::module_& m) {
    m.def(
        "newton_duals", &newtonDuals, "costs"_a, "amounts"_a, "weights"_a, "low"_a, "high"_a, "start"_a,
        "is_warm"_a, "time_limit"_a, WithoutGil(),
        "Cheapest clusters at the best duals found, these duals (flat, clusters x rules), and what rows pay "
        "at them.");
}

} // namespace konstrain::priced
