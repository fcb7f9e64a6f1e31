#include "listed_transport.h"
#include "arrays.h"
#include "distances.h"
#include "rows.h"

namespace konstrain::transport {

namespace {

// Labels, duals, cost, bound, whether it ended in time.
auto solve(CostSource& source, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool isWarm, std::size_t nThreads, std::size_t listLength) {
    ListedOptions options;
    options.listLength = listLength;
    options.isWarm = isWarm;
    options.nThreads = nThreads;
    options.deadline = deadlineIn(timeLimit);
    Array<std::int32_t> labels(source.nRows());
    Array<double> duals(start);
    const auto result = solveListedTransport(source, lower, upper, duals, labels, options);
    return std::make_tuple(std::move(labels), std::move(duals), result.cost, result.bound, result.finished);
}

} // namespace

void bindListedTransport(nb::module_& m) {
    m.def(
        "listed_transport",
        [](Matrix<double> costs, Vector<std::int64_t> lower, Vector<std::int64_t> upper, Vector<double> start,
           double timeLimit, bool isWarm, std::size_t nThreads, std::size_t listLength) {
            MatrixCosts source(costs, costs.nColumns);
            return solve(source, lower, upper, start, timeLimit, isWarm, nThreads, listLength);
        },
        "costs"_a, "lower"_a, "upper"_a, "start"_a, "time_limit"_a, "is_warm"_a, "n_threads"_a,
        "list_length"_a, WithoutGil(), "As `transport`, over short lists of clusters per row.");
    forEachKindOfRows([&]<typename... Parts>(auto... parts) {
        m.def(
            "listed_rows_transport",
            [](Parts... rows, Vector<double> weight, Matrix<double> centers, Vector<std::int64_t> lower,
               Vector<std::int64_t> upper, Vector<double> start, double timeLimit, bool isWarm,
               std::size_t nThreads, std::size_t listLength) {
                const auto source = kmeans::costSource(rowsOf(centers.nColumns, rows...), weight.data(),
                                                       rowsOf(centers.nColumns, centers), nThreads);
                return solve(*source, lower, upper, start, timeLimit, isWarm, nThreads, listLength);
            },
            parts..., "weight"_a.none(), "centers"_a, "lower"_a, "upper"_a, "start"_a, "time_limit"_a,
            "is_warm"_a, "n_threads"_a, "list_length"_a, WithoutGil(),
            "As `transport` at the squared distances of rows to centers, without their matrix.");
    });
}

} // namespace konstrain::transport
