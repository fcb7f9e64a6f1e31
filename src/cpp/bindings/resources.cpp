#include "arrays.h"
#include "bindings.h"
#include "deadline.h"
#include "resource_prices.h"
#include "resource_repair.h"

namespace {

auto placeByResources(Matrix<double> costs, Matrix<double> amounts, Matrix<double> rules, Matrix<double> low,
                      Matrix<double> high, Matrix<double> start, bool isWarm, double timeLimit) {
    const konstrain::ResourceProblem problem{view<double>(costs), costs.shape(1),      view<double>(amounts),
                                             amounts.shape(1),    view<double>(rules), view<double>(low),
                                             view<double>(high)};
    auto prices = copyVector<double>(view<double>(start));
    auto labels = makeVector<std::int32_t>(costs.shape(0));
    const auto deadline = konstrain::deadlineIn(timeLimit);
    double least = 0.0;
    bool isKept = false;
    {
        nb::gil_scoped_release release;
        const konstrain::RowKinds kinds(problem);
        const konstrain::PricedRows rows =
            konstrain::ResourcePrices(problem, kinds, deadline).find({prices.data(), prices.size()}, isWarm);
        konstrain::RowPricer pricer(problem, kinds);
        pricer.take({prices.data(), prices.size()});
        least = rows.least;
        std::ranges::copy(rows.labels, labels.data());
        isKept = konstrain::ResourceRepair(problem, kinds, pricer, rows, {labels.data(), labels.size()})
                     .run(deadline);
    }
    return std::make_tuple(labels, prices, least, isKept);
}

} // namespace

void bindResources(nb::module_& m) {
    m.def(
        "place_by_resources", &placeByResources, "costs"_a.noconvert(), "amounts"_a.noconvert(),
        "rules"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "start"_a.noconvert(), "is_warm"_a,
        "time_limit"_a,
        "Labels, prices (flat, clusters x rules), what rows pay in their cheapest clusters at these prices, "
        "and whether the labels keep all bounds.");
}
