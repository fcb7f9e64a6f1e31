#include "splitting.h"

#include "arrays.h"
#include "infinity.h"

namespace konstrain::exact {

void bindSplitting(nb::module_& m) {
    m.def(
        "deal_rows",
        [](Matrix<double> points, Vector<double> weight, Vector<std::int32_t> label, std::size_t nClusters,
           std::size_t nParts, std::size_t nSweeps, std::size_t nPartners, std::uint64_t seed,
           OutVector<std::int32_t> part, double timeLimit) {
            dealRows({points, points.nColumns, weight, label, nClusters},
                     {nParts, nSweeps, nPartners, seed, deadlineIn(timeLimit)}, part);
        },
        "points"_a, "weight"_a, "label"_a, "n_clusters"_a, "n_parts"_a, "n_sweeps"_a, "n_partners"_a,
        "seed"_a, "part"_a, "time_limit"_a = infinity, WithoutGil(),
        "Partition rows marked -1 in `part` so that every cluster has the same moments in each part.");
}

} // namespace konstrain::exact
