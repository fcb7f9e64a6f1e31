#include "arrays.h"
#include "greedy_pass.h"
#include "quantization.h"

namespace konstrain::baselines {

namespace {

void bindGreedyPasses(nb::module_& m) {
    m.def(
        "greedy_pass",
        [](Matrix<double> costs, Vector<std::int32_t> order, Vector<std::int64_t> indptr,
           Vector<std::int32_t> indices, Vector<double> weights, bool stopWhenStuck,
           OutVector<std::int32_t> labels) {
            const auto [nChanged, nStuck, firstStuck] =
                greedyPass(costs, costs.nColumns, order, {indptr, indices, weights}, stopWhenStuck, labels);
            return std::make_tuple(nChanged, nStuck, firstStuck);
        },
        "costs"_a, "order"_a, "indptr"_a, "indices"_a, "weights"_a, "stop_when_stuck"_a, "labels"_a,
        WithoutGil(),
        "Label rows in order, each at least cost given its neighbours' labels: number of changes, of rows "
        "with no cluster left, and the first of these (-1: none).");
    m.def(
        "priced_greedy_pass",
        [](Matrix<double> costs, Vector<std::int32_t> order, Vector<std::int64_t> indptr,
           Vector<std::int32_t> indices, Vector<std::int32_t> links, Matrix<double> penalties,
           Vector<std::uint8_t> isMust, OutVector<std::int32_t> labels) {
            return pricedGreedyPass(costs, costs.nColumns, order, {indptr, indices, links, penalties, isMust},
                                    labels);
        },
        "costs"_a, "order"_a, "indptr"_a, "indices"_a, "links"_a, "penalties"_a, "is_must"_a, "labels"_a,
        WithoutGil(), "Like greedy_pass, for links whose penalty depends on the cluster: number of changes.");
}

void bindQuantization(nb::module_& m) {
    m.def(
        "cvqe_pass",
        [](Matrix<double> costs, Matrix<double> separation, Matrix<std::int32_t> mustLink,
           Matrix<std::int32_t> cannotLink, OutVector<std::int32_t> labels) {
            cvqePass(costs, costs.nColumns, separation, {mustLink, cannotLink}, labels);
        },
        "costs"_a, "separation"_a, "must_link"_a, "cannot_link"_a, "labels"_a, WithoutGil(),
        "Move the rows of broken links to the two clusters of least cost and penalty, link by link.");
    m.def(
        "lcvqe_pass",
        [](Matrix<double> costs, Matrix<std::int32_t> mustLink, Matrix<std::int32_t> cannotLink,
           OutVector<std::int32_t> labels) {
            lcvqePass(costs, costs.nColumns, {mustLink, cannotLink}, labels);
        },
        "costs"_a, "must_link"_a, "cannot_link"_a, "labels"_a, WithoutGil(),
        "Settle broken links one after the other by the three moves of LCVQE.");
}

} // namespace

void bindBaselines(nb::module_& m) {
    bindGreedyPasses(m);
    bindQuantization(m);
}

} // namespace konstrain::baselines
