#include "local_search.h"
#include "arrays.h"
#include "bindings.h"
#include "deadline.h"
#include "gaining_blocks.h"
#include "relocation.h"

namespace {

// Records of moves as arrays: kind, p, q, delta, where each move's blocks start, blocks.
auto describe(const std::vector<konstrain::MoveRecord>& records) {
    std::vector<std::int8_t> kind;
    std::vector<std::int32_t> p, q, blocks;
    std::vector<double> delta;
    std::vector<std::int64_t> start{0};
    for (const auto& record : records) {
        kind.push_back(static_cast<std::int8_t>(record.kind));
        p.push_back(record.p);
        q.push_back(record.q);
        delta.push_back(record.delta);
        blocks.insert(blocks.end(), record.blocks.begin(), record.blocks.end());
        start.push_back(static_cast<std::int64_t>(blocks.size()));
    }
    return std::make_tuple(copyVector<std::int8_t>(kind), copyVector<std::int32_t>(p),
                           copyVector<std::int32_t>(q), copyVector<double>(delta),
                           copyVector<std::int64_t>(start), copyVector<std::int32_t>(blocks));
}

template <typename T>
auto searchLocally(Matrix<T> means, Vector<double> weight, Vector<std::int32_t> start,
                   std::optional<Vector<std::int64_t>> indptr, std::optional<Vector<std::int32_t>> indices,
                   std::optional<Vector<double>> linkWeights, std::optional<Vector<double>> demand,
                   Vector<double> sizeMin, Vector<double> sizeMax, bool nonempty, std::size_t maxPasses,
                   double timeLimit, std::uint64_t seed, bool keepRecords,
                   std::optional<Vector<std::int32_t>> movable, std::optional<Matrix<double>> amounts,
                   std::optional<Matrix<double>> rules, std::optional<Matrix<double>> ruleLow,
                   std::optional<Matrix<double>> ruleHigh, std::optional<Matrix<double>> clusterMeans,
                   double startCost) {
    const auto given = [](const std::optional<Matrix<double>>& array) {
        return array ? view<double>(*array) : std::span<const double>{};
    };
    const konstrain::SearchProblem problem{{means.data(), means.shape(0), means.shape(1)},
                                           view<double>(weight),
                                           {viewOrEmpty<std::int64_t>(indptr),
                                            viewOrEmpty<std::int32_t>(indices),
                                            viewOrEmpty<double>(linkWeights)},
                                           viewOrEmpty<double>(demand),
                                           view<double>(sizeMin),
                                           view<double>(sizeMax),
                                           nonempty,
                                           given(amounts),
                                           given(rules),
                                           given(ruleLow),
                                           given(ruleHigh)};
    konstrain::LocalSearchOptions options{maxPasses, seed, {}, keepRecords};
    options.deadline = konstrain::deadlineIn(timeLimit);
    if (movable)
        options.movable = view<std::int32_t>(*movable);
    if (clusterMeans)
        options.known = {view<double>(*clusterMeans), startCost};
    auto labels = copyVector<std::int32_t>(view<std::int32_t>(start));
    konstrain::LocalSearchResult result;
    {
        nb::gil_scoped_release release;
        result = konstrain::searchLocally(problem, {labels.data(), labels.size()}, options);
    }
    return std::make_tuple(labels, result.cost, result.nMoves, describe(result.records));
}

template <typename T>
auto estimateRelocations(Matrix<T> means, Vector<double> weight, Vector<std::int32_t> labels,
                         Matrix<double> centers, Matrix<double> costs, std::uint64_t seed, double leastGain) {
    konstrain::RelocationEstimates result;
    {
        nb::gil_scoped_release release;
        const konstrain::BlockMeans blocks{means.data(), means.shape(0), means.shape(1)};
        result = konstrain::estimateRelocations({blocks, view<double>(weight), view<std::int32_t>(labels),
                                                 view<double>(centers), view<double>(costs)},
                                                centers.shape(0), seed, leastGain);
    }
    return std::make_tuple(copyVector<double>(result.removal), copyVector<double>(result.gain),
                           copyVector<double>(result.halves));
}

template <typename T> void bindLocalSearchOf(nb::module_& m) {
    m.def(
        "search_locally", &searchLocally<T>, "means"_a.noconvert(), "weight"_a.noconvert(),
        "labels"_a.noconvert(), "indptr"_a.noconvert().none(), "indices"_a.noconvert().none(),
        "link_weights"_a.noconvert().none(), "demand"_a.noconvert().none(), "size_min"_a.noconvert(),
        "size_max"_a.noconvert(), "nonempty"_a, "max_passes"_a, "time_limit"_a, "seed"_a,
        "keep_records"_a = false, "movable"_a.noconvert().none() = nb::none(),
        "amounts"_a.noconvert().none() = nb::none(), "rules"_a.noconvert().none() = nb::none(),
        "rule_low"_a.noconvert().none() = nb::none(), "rule_high"_a.noconvert().none() = nb::none(),
        "cluster_means"_a.noconvert().none() = nb::none(), "start_cost"_a = 0.0,
        "Labels no move improves, their cost, the number of moves and (kind, p, q, delta, start, blocks) of "
        "each when records are kept.");
    m.def("estimate_relocations", &estimateRelocations<T>, "means"_a.noconvert(), "weight"_a.noconvert(),
          "labels"_a.noconvert(), "centers"_a.noconvert(), "costs"_a.noconvert(), "seed"_a, "least_gain"_a,
          "Cost of removing each cluster, gain of splitting each, centers of the two halves (flat).");
}

} // namespace

void bindLocalSearch(nb::module_& m) {
    m.def(
        "gaining_blocks",
        [](Matrix<double> costs, Vector<std::int32_t> labels, Vector<double> weight,
           Vector<double> clusterWeight) {
            std::vector<std::int32_t> found;
            {
                nb::gil_scoped_release release;
                found = konstrain::gainingBlocks(view<double>(costs), view<std::int32_t>(labels),
                                                 view<double>(weight), view<double>(clusterWeight));
            }
            return adoptVector(std::move(found));
        },
        "costs"_a.noconvert(), "labels"_a.noconvert(), "weight"_a.noconvert(), "cluster_weight"_a.noconvert(),
        "Blocks that would lower the sum of squares by moving alone, constraints left aside.");
    bindLocalSearchOf<double>(m);
    bindLocalSearchOf<float>(m);
}
