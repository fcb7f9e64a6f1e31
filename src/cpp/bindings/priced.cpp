#include "arrays.h"
#include "bindings.h"
#include "deadline.h"
#include "newton_duals.h"

namespace {

auto newtonDuals(Matrix<double> costs, Matrix<double> amounts, Matrix<double> weights, Matrix<double> low,
                 Matrix<double> high, Matrix<double> start, bool isWarm, double timeLimit) {
    const konstrain::priced::RuleProblem problem{
        view<double>(costs),   costs.shape(1),    view<double>(amounts), amounts.shape(1),
        view<double>(weights), view<double>(low), view<double>(high)};
    auto duals = copyVector<double>(view<double>(start));
    auto labels = makeVector<std::int32_t>(costs.shape(0));
    double least = 0.0;
    {
        nb::gil_scoped_release release;
        const konstrain::priced::PricedLabels rows =
            konstrain::priced::NewtonDuals(problem, konstrain::deadlineIn(timeLimit))
                .find({duals.data(), duals.size()}, isWarm);
        least = rows.least;
        std::ranges::copy(rows.labels, labels.data());
    }
    return std::make_tuple(labels, duals, least);
}

} // namespace

void bindPriced(nb::module_& m) {
    m.def(
        "newton_duals", &newtonDuals, "costs"_a.noconvert(), "amounts"_a.noconvert(), "weights"_a.noconvert(),
        "low"_a.noconvert(), "high"_a.noconvert(), "start"_a.noconvert(), "is_warm"_a, "time_limit"_a,
        "Cheapest clusters at the best duals found, these duals (flat, clusters x rules), and what rows pay "
        "at them.");
}
