// The only file that sees Python. It checks nothing beyond dtype and layout: Python validates, kernels
// assert. Every array argument is taken as it is (`noconvert`): a wrong dtype or order is an error, never a
// silent copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "cliques.h"
#include "nearest.h"
#include "transport.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;

template <typename T, typename Array> std::span<const T> view(const Array& array) {
    return {array.data(), array.size()};
}

// A numpy array that owns `size` fresh elements; the kernel fills them through `.data()`.
template <typename T> NewVector<T> makeVector(std::size_t size) {
    auto* data = new T[size]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewVector<T>(data, {size}, owner);
}

void bindNearest(nb::module_& m) {
    m.def(
        "nearest",
        [](Matrix<double> costs) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            const std::span<std::int32_t> out{labels.data(), labels.size()};
            double cost = 0.0;
            {
                nb::gil_scoped_release release;
                cost = konstrain::nearest(view<double>(costs), costs.shape(1), out);
            }
            return std::make_pair(labels, cost);
        },
        "costs"_a.noconvert(), "First cheapest column of each row, and the sum of the minima.");
}

konstrain::TransportOptions transportOptions(double timeLimit, bool trustPrices, std::size_t listLength,
                                             std::size_t coreRows, std::size_t sampleRows) {
    konstrain::TransportOptions options;
    options.listLength = listLength;
    options.coreRows = coreRows;
    options.sampleRows = sampleRows;
    options.trustPrices = trustPrices;
    // A limit of a year or more is none; the clock's counter would overflow.
    if (timeLimit < 3.0e7)
        options.deadline = std::chrono::steady_clock::now() +
                           std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                               std::chrono::duration<double>(std::max(0.0, timeLimit)));
    return options;
}

void bindTransport(nb::module_& m) {
    m.def(
        "transport",
        [](Matrix<double> costs, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool trustPrices, std::size_t listLength, std::size_t coreRows,
           std::size_t sampleRows) {
            auto labels = makeVector<std::int32_t>(costs.shape(0));
            auto prices = makeVector<double>(costs.shape(1));
            std::copy_n(start.data(), start.size(), prices.data());
            const auto options = transportOptions(timeLimit, trustPrices, listLength, coreRows, sampleRows);
            konstrain::TransportResult result;
            {
                nb::gil_scoped_release release;
                result = konstrain::solveTransport(view<double>(costs), view<std::int64_t>(lower),
                                                   view<std::int64_t>(upper), {prices.data(), prices.size()},
                                                   {labels.data(), labels.size()}, options);
            }
            return std::make_tuple(labels, prices, result.cost, result.bound, result.finished);
        },
        "costs"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "start"_a.noconvert(),
        "time_limit"_a, "trust_prices"_a, "list_length"_a = 0, "core_rows"_a = 0, "sample_rows"_a = 0,
        "Labels of least cost with sizes in bounds, prices, cost, lower bound, whether it ended in time.");
}

void bindCliques(nb::module_& m) {
    m.def(
        "is_disjoint_cliques",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices) {
            nb::gil_scoped_release release;
            return konstrain::isDisjointCliques(view<std::int64_t>(indptr), view<std::int32_t>(indices));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(),
        "Whether a graph in compressed rows consists of cliques and isolated nodes.");
}

} // namespace

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of konstrain; see src/cpp/README.md.";
    bindNearest(m);
    bindTransport(m);
    bindCliques(m);
}
