#include "arrays.h"
#include "box_search.h"
#include "cluster_points.h"
#include "column_descent.h"
#include "normal_matrix.h"
#include "signal_poll.h"

namespace konstrain::exact {

namespace {

// Starts, members, costs, reduced costs and centers.
auto asTuple(ColumnSet&& found) {
    return std::make_tuple(Array(std::move(found.start)), Array(std::move(found.members)),
                           Array(std::move(found.cost)), Array(std::move(found.reduced)),
                           Array(std::move(found.centers)));
}

auto descend(const ClusterPoints& self, Vector<double> duals, Matrix<double> starts, double threshold,
             std::size_t most, double timeLimit) {
    return asTuple(
        descendToColumns(self, duals, starts, threshold, most, deadlineIn(timeLimit), signalPoll()));
}

auto boundReducedCost(const ClusterPoints& self, Vector<double> duals, double incumbent, double tolerance,
                      double gatherBelow, std::size_t mostGathered, std::int64_t boxes, std::size_t bytes,
                      double timeLimit) {
    BoxBound found = searchBoxes(
        self, duals,
        {incumbent, tolerance, gatherBelow, mostGathered, boxes, bytes, deadlineIn(timeLimit), signalPoll()});
    return std::make_tuple(found.bound, found.incumbent, found.finished, found.nBoxes,
                           Array(std::move(found.centers)), asTuple(std::move(found.columns)));
}

} // namespace

void bindBoxes(nb::module_& m) {
    nb::class_<ClusterPoints>(m, "ClusterPoints", "Weighted points that clusters are priced from.")
        .def(
            "__init__",
            [](ClusterPoints* self, Matrix<double> points, Vector<double> weight, Vector<double> demand,
               double sizeMin, double sizeMax, Vector<std::int64_t> indptr, Vector<std::int32_t> indices) {
                new (self)
                    ClusterPoints(points, points.nColumns, weight, demand, sizeMin, sizeMax, indptr, indices);
            },
            "points"_a, "weight"_a, "demand"_a, "size_min"_a, "size_max"_a, "indptr"_a, "indices"_a)
        .def("descend", &descend, "duals"_a, "starts"_a, "threshold"_a, "most"_a, "time_limit"_a,
             WithoutGil(),
             "Clusters below the threshold: starts, members, costs, reduced costs, centers (flat).")
        .def("bound_reduced_cost", &boundReducedCost, "duals"_a, "incumbent"_a, "tolerance"_a,
             "gather_below"_a, "most_gathered"_a, "boxes"_a, "bytes"_a, "time_limit"_a, WithoutGil(),
             "Lower bound on every reduced cost and on zero, least one seen, whether it ended by itself, "
             "boxes, centers (flat), clusters.");
    m.def("add_normal_matrix", &addNormalMatrix, "start"_a, "members"_a, "scale"_a, "stride"_a, "matrix"_a,
          WithoutGil(), "Add the scaled products of columns to a matrix in dense or band storage.");
}

} // namespace konstrain::exact
