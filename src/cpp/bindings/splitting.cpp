#include "splitting.h"

#include "arrays.h"
#include "bindings.h"
#include "infinity.h"

void bindSplitting(nb::module_& m) {
    m.def(
        "deal_rows",
        [](Matrix<double> points, Vector<double> weight, Vector<std::int32_t> label, std::size_t nClusters,
           std::size_t nParts, std::size_t nSweeps, std::size_t nPartners, std::uint64_t seed,
           OutVector<std::int32_t> part, double timeLimit) {
            nb::gil_scoped_release release;
            konstrain::exact::dealRows({view<double>(points), points.shape(1), view<double>(weight),
                                        view<std::int32_t>(label), nClusters},
                                       {nParts, nSweeps, nPartners, seed, konstrain::deadlineIn(timeLimit)},
                                       {part.data(), part.size()});
        },
        "points"_a.noconvert(), "weight"_a.noconvert(), "label"_a.noconvert(), "n_clusters"_a, "n_parts"_a,
        "n_sweeps"_a, "n_partners"_a, "seed"_a, "part"_a.noconvert(), "time_limit"_a = konstrain::infinity,
        "Partition rows marked -1 in `part` so that every cluster has the same moments in each part.");
}
