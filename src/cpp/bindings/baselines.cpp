#include "arrays.h"
#include "bindings.h"
#include "greedy_pass.h"
#include "quantization.h"

namespace {

std::span<std::int32_t> fill(OutVector<std::int32_t>& labels) {
    return {labels.data(), labels.size()};
}

void bindGreedyPasses(nb::module_& m) {
    m.def(
        "greedy_pass",
        [](Matrix<double> costs, Vector<std::int32_t> order, Vector<std::int64_t> indptr,
           Vector<std::int32_t> indices, Vector<double> weights, bool stopWhenStuck,
           OutVector<std::int32_t> labels) {
            nb::gil_scoped_release release;
            const auto [nChanged, nStuck, firstStuck] = konstrain::baselines::greedyPass(
                view<double>(costs), costs.shape(1), view<std::int32_t>(order),
                {view<std::int64_t>(indptr), view<std::int32_t>(indices), view<double>(weights)},
                stopWhenStuck, fill(labels));
            return std::make_tuple(nChanged, nStuck, firstStuck);
        },
        "costs"_a.noconvert(), "order"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
        "weights"_a.noconvert(), "stop_when_stuck"_a, "labels"_a.noconvert(),
        "Label rows in order, each at least cost given its neighbours' labels: number of changes, of rows "
        "with "
        "no cluster left, and the first of these (-1: none).");
    m.def(
        "priced_greedy_pass",
        [](Matrix<double> costs, Vector<std::int32_t> order, Vector<std::int64_t> indptr,
           Vector<std::int32_t> indices, Vector<std::int32_t> links, Matrix<double> penalties,
           Vector<std::uint8_t> isMust, OutVector<std::int32_t> labels) {
            nb::gil_scoped_release release;
            return konstrain::baselines::pricedGreedyPass(
                view<double>(costs), costs.shape(1), view<std::int32_t>(order),
                {view<std::int64_t>(indptr), view<std::int32_t>(indices), view<std::int32_t>(links),
                 view<double>(penalties), view<std::uint8_t>(isMust)},
                fill(labels));
        },
        "costs"_a.noconvert(), "order"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(),
        "links"_a.noconvert(), "penalties"_a.noconvert(), "is_must"_a.noconvert(), "labels"_a.noconvert(),
        "Like greedy_pass, for links whose penalty depends on the cluster: number of changes.");
}

void bindQuantization(nb::module_& m) {
    m.def(
        "cvqe_pass",
        [](Matrix<double> costs, Matrix<double> separation, Matrix<std::int32_t> mustLink,
           Matrix<std::int32_t> cannotLink, OutVector<std::int32_t> labels) {
            nb::gil_scoped_release release;
            konstrain::baselines::cvqePass(view<double>(costs), costs.shape(1), view<double>(separation),
                                           {view<std::int32_t>(mustLink), view<std::int32_t>(cannotLink)},
                                           fill(labels));
        },
        "costs"_a.noconvert(), "separation"_a.noconvert(), "must_link"_a.noconvert(),
        "cannot_link"_a.noconvert(), "labels"_a.noconvert(),
        "Move the rows of broken links to the two clusters of least cost and penalty, link by link.");
    m.def(
        "lcvqe_pass",
        [](Matrix<double> costs, Matrix<std::int32_t> mustLink, Matrix<std::int32_t> cannotLink,
           OutVector<std::int32_t> labels) {
            nb::gil_scoped_release release;
            konstrain::baselines::lcvqePass(view<double>(costs), costs.shape(1),
                                            {view<std::int32_t>(mustLink), view<std::int32_t>(cannotLink)},
                                            fill(labels));
        },
        "costs"_a.noconvert(), "must_link"_a.noconvert(), "cannot_link"_a.noconvert(), "labels"_a.noconvert(),
        "Settle broken links one after the other by the three moves of LCVQE.");
}

} // namespace

void bindBaselines(nb::module_& m) {
    bindGreedyPasses(m);
    bindQuantization(m);
}
