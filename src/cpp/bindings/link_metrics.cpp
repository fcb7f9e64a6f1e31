#include "arrays.h"
#include "bindings.h"
#include "itml.h"

namespace {

std::size_t learnByProjections(OutMatrix<double> metric, Matrix<double> differences,
                               Vector<std::int8_t> isShort, Vector<double> squaredLength,
                               Vector<double> slackPrice, std::size_t maxSweeps, double tolerance) {
    nb::gil_scoped_release release;
    const konstrain::link_metrics::LengthGoals goals{view<double>(differences), view<std::int8_t>(isShort),
                                                     view<double>(squaredLength), view<double>(slackPrice)};
    return konstrain::link_metrics::learnByProjections({metric.data(), metric.size()}, goals, maxSweeps,
                                                       tolerance);
}

} // namespace

void bindLinkMetrics(nb::module_& m) {
    m.def("learn_by_projections", &learnByProjections, "metric"_a.noconvert(), "differences"_a.noconvert(),
          "is_short"_a.noconvert(), "squared_length"_a.noconvert(), "slack_price"_a.noconvert(),
          "max_sweeps"_a, "tolerance"_a,
          "Information-theoretic metric learning: changes the metric given, returns the number of sweeps.");
}
