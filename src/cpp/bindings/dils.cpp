#include "dils.h"
#include "arrays.h"

namespace konstrain::baselines {

namespace {

auto search(Matrix<double> rows, std::size_t nClusters, Matrix<std::int32_t> mustLink,
            Matrix<std::int32_t> cannotLink, std::int64_t maxEvaluations, std::size_t segment,
            std::int64_t maxNeighbours, double inheritance, double restartGap, std::uint64_t seed,
            double timeLimit) {
    const PairDistances distances({rows.values, rows.nRows, rows.nColumns});
    auto result = searchDually(
        distances, {rows.nRows, mustLink, cannotLink}, nClusters,
        {maxEvaluations, segment, maxNeighbours, inheritance, restartGap, seed, deadlineIn(timeLimit)});
    return std::make_tuple(Array<std::int32_t>(std::move(result.labels)), result.fitness, result.nEvaluations,
                           result.nGenerations, result.nRestarts);
}

} // namespace

void bindDils(nb::module_& m) {
    m.def("search_dually", &search, "rows"_a, "n_clusters"_a, "must_link"_a, "cannot_link"_a,
          "max_evaluations"_a, "segment"_a, "max_neighbours"_a, "inheritance"_a, "restart_gap"_a, "seed"_a,
          "time_limit"_a, WithoutGil(),
          "Labels found by dual iterated local search, their fitness, the numbers of evaluations, "
          "generations and restarts.");
}

} // namespace konstrain::baselines
