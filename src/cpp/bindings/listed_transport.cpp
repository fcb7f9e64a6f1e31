#include "listed_transport.h"
#include "arrays.h"
#include "bindings.h"
#include "distances.h"
#include "rows.h"

namespace {

konstrain::transport::ListedOptions listedOptions(double timeLimit, bool isWarm, std::size_t nThreads,
                                                  std::size_t listLength) {
    konstrain::transport::ListedOptions options;
    options.listLength = listLength;
    options.isWarm = isWarm;
    options.nThreads = nThreads;
    options.deadline = konstrain::deadlineIn(timeLimit);
    return options;
}

// Labels, duals, cost, bound, whether it ended in time.
auto solve(konstrain::transport::CostSource& source, const Vector<std::int64_t>& lower,
           const Vector<std::int64_t>& upper, const Vector<double>& start,
           const konstrain::transport::ListedOptions& options) {
    auto labels = makeVector<std::int32_t>(source.nRows());
    auto duals = makeVector<double>(start.size());
    std::copy_n(start.data(), start.size(), duals.data());
    konstrain::transport::TransportResult result;
    {
        nb::gil_scoped_release release;
        result = konstrain::transport::solveListedTransport(
            source, view<std::int64_t>(lower), view<std::int64_t>(upper), {duals.data(), duals.size()},
            {labels.data(), labels.size()}, options);
    }
    return std::make_tuple(labels, duals, result.cost, result.bound, result.finished);
}

void bindMatrix(nb::module_& m) {
    m.def(
        "listed_transport",
        [](Matrix<double> costs, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool isWarm, std::size_t nThreads, std::size_t listLength) {
            konstrain::transport::MatrixCosts source(view<double>(costs), costs.shape(1));
            return solve(source, lower, upper, start, listedOptions(timeLimit, isWarm, nThreads, listLength));
        },
        "costs"_a.noconvert(), "lower"_a.noconvert(), "upper"_a.noconvert(), "start"_a.noconvert(),
        "time_limit"_a, "is_warm"_a, "n_threads"_a, "list_length"_a,
        "As `transport`, over short lists of clusters per row.");
}

// The same for each kind of rows; `Parts` are the arrays that make up the rows.
template <typename... Parts, typename... Names> void bindRows(nb::module_& m, Names... parts) {
    m.def(
        "listed_rows_transport",
        [](Parts... rows, std::optional<Vector<double>> weight, Matrix<double> centers,
           Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start, double timeLimit,
           bool isWarm, std::size_t nThreads, std::size_t listLength) {
            const auto source =
                konstrain::kmeans::costSource(rowsOf(centers.shape(1), rows...), dataOrNull(weight),
                                              rowsOf(centers.shape(1), centers), nThreads);
            return solve(*source, lower, upper, start,
                         listedOptions(timeLimit, isWarm, nThreads, listLength));
        },
        parts..., "weight"_a.noconvert().none(), "centers"_a.noconvert(), "lower"_a.noconvert(),
        "upper"_a.noconvert(), "start"_a.noconvert(), "time_limit"_a, "is_warm"_a, "n_threads"_a,
        "list_length"_a, "As `transport` at the squared distances of rows to centers, without their matrix.");
}

template <typename Value, typename Index> void bindSparseRows(nb::module_& m) {
    bindRows<Vector<Value>, Vector<Index>, Vector<Index>>(m, "values"_a.noconvert(), "columns"_a.noconvert(),
                                                          "starts"_a.noconvert());
}

} // namespace

void bindListedTransport(nb::module_& m) {
    bindMatrix(m);
    bindRows<Matrix<double>>(m, "rows"_a.noconvert());
    bindRows<Matrix<float>>(m, "rows"_a.noconvert());
    bindSparseRows<double, std::int32_t>(m);
    bindSparseRows<double, std::int64_t>(m);
    bindSparseRows<float, std::int32_t>(m);
    bindSparseRows<float, std::int64_t>(m);
}
