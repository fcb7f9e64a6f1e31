#include "dils.h"
#include "arrays.h"
#include "bindings.h"

namespace {

konstrain::baselines::SignedLinks readLinks(std::size_t nRows, const Matrix<std::int32_t>& mustLink,
                                            const Matrix<std::int32_t>& cannotLink) {
    return {nRows, view<std::int32_t>(mustLink), view<std::int32_t>(cannotLink)};
}

auto searchDually(Matrix<double> rows, std::size_t nClusters, Matrix<std::int32_t> mustLink,
                  Matrix<std::int32_t> cannotLink, std::int64_t maxEvaluations, std::size_t segment,
                  std::int64_t maxNeighbours, double inheritance, double restartGap, std::uint64_t seed,
                  double timeLimit) {
    konstrain::baselines::DilsResult result;
    {
        nb::gil_scoped_release release;
        const konstrain::baselines::DilsOptions options{maxEvaluations,
                                                        segment,
                                                        maxNeighbours,
                                                        inheritance,
                                                        restartGap,
                                                        seed,
                                                        konstrain::deadlineIn(timeLimit)};
        const konstrain::baselines::PairDistances distances({rows.data(), rows.shape(0), rows.shape(1)});
        const auto links = readLinks(rows.shape(0), mustLink, cannotLink);
        result = konstrain::baselines::searchDually(distances, links, nClusters, options);
    }
    return std::make_tuple(adoptVector(std::move(result.labels)), result.fitness, result.nEvaluations,
                           result.nGenerations, result.nRestarts);
}

} // namespace

void bindDils(nb::module_& m) {
    m.def(
        "search_dually", &searchDually, "rows"_a.noconvert(), "n_clusters"_a, "must_link"_a.noconvert(),
        "cannot_link"_a.noconvert(), "max_evaluations"_a, "segment"_a, "max_neighbours"_a, "inheritance"_a,
        "restart_gap"_a, "seed"_a, "time_limit"_a,
        "Labels found by dual iterated local search, their fitness, the numbers of evaluations, generations "
        "and restarts.");
}
