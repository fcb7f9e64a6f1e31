#include "arrays.h"
#include "itml.h"

namespace konstrain::link_metrics {

void bindLinkMetrics(nb::module_& m) {
    m.def(
        "learn_by_projections",
        [](OutMatrix<double> metric, Matrix<double> differences, Vector<std::int8_t> isShort,
           Vector<double> squaredLength, Vector<double> slackPrice, std::size_t maxSweeps, double tolerance) {
            return learnByProjections(metric, {differences, isShort, squaredLength, slackPrice}, maxSweeps,
                                      tolerance);
        },
        "metric"_a, "differences"_a, "is_short"_a, "squared_length"_a, "slack_price"_a, "max_sweeps"_a,
        "tolerance"_a, WithoutGil(),
        "Information-theoretic metric learning: changes the metric given, returns the number of sweeps.");
}

} // namespace konstrain::link_metrics
