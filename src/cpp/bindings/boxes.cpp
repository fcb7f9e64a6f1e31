#include "arrays.h"
#include "bindings.h"
#include "box_search.h"
#include "cluster_points.h"
#include "column_descent.h"
#include "normal_matrix.h"
#include "signal_poll.h"

namespace {

using konstrain::exact::ClusterPoints;

// Starts, members, costs, reduced costs and centers.
auto asTuple(konstrain::exact::ColumnSet&& found) {
    return std::make_tuple(adoptVector(std::move(found.start)), adoptVector(std::move(found.members)),
                           adoptVector(std::move(found.cost)), adoptVector(std::move(found.reduced)),
                           adoptVector(std::move(found.centers)));
}

auto descend(const ClusterPoints& self, Vector<double> duals, Matrix<double> starts, double threshold,
             std::size_t most, double timeLimit) {
    konstrain::exact::ColumnSet found;
    const std::function<void()> poll = signalPoll();
    {
        nb::gil_scoped_release release;
        found = konstrain::exact::descendToColumns(self, view<double>(duals), view<double>(starts), threshold,
                                                   most, konstrain::deadlineIn(timeLimit), poll);
    }
    return asTuple(std::move(found));
}

auto boundReducedCost(const ClusterPoints& self, Vector<double> duals, double incumbent, double tolerance,
                      double gatherBelow, std::size_t mostGathered, std::int64_t boxes, std::size_t bytes,
                      double timeLimit) {
    const konstrain::exact::BoxLimits limits{
        incumbent,   tolerance, gatherBelow, mostGathered, boxes, bytes, konstrain::deadlineIn(timeLimit),
        signalPoll()};
    konstrain::exact::BoxBound found;
    {
        nb::gil_scoped_release release;
        found = konstrain::exact::searchBoxes(self, view<double>(duals), limits);
    }
    return std::make_tuple(found.bound, found.incumbent, found.finished, found.nBoxes,
                           adoptVector(std::move(found.centers)), asTuple(std::move(found.columns)));
}

} // namespace

void bindBoxes(nb::module_& m) {
    nb::class_<ClusterPoints>(m, "ClusterPoints", "Weighted points that clusters are priced from.")
        .def(
            "__init__",
            [](ClusterPoints* self, Matrix<double> points, Vector<double> weight, Vector<double> demand,
               double sizeMin, double sizeMax, Vector<std::int64_t> indptr, Vector<std::int32_t> indices) {
                new (self) ClusterPoints(view<double>(points), points.shape(1), view<double>(weight),
                                         view<double>(demand), sizeMin, sizeMax, view<std::int64_t>(indptr),
                                         view<std::int32_t>(indices));
            },
            "points"_a.noconvert(), "weight"_a.noconvert(), "demand"_a.noconvert(), "size_min"_a,
            "size_max"_a, "indptr"_a.noconvert(), "indices"_a.noconvert())
        .def("descend", &descend, "duals"_a.noconvert(), "starts"_a.noconvert(), "threshold"_a, "most"_a,
             "time_limit"_a,
             "Clusters below the threshold: starts, members, costs, reduced costs, centers (flat).")
        .def("bound_reduced_cost", &boundReducedCost, "duals"_a.noconvert(), "incumbent"_a, "tolerance"_a,
             "gather_below"_a, "most_gathered"_a, "boxes"_a, "bytes"_a, "time_limit"_a,
             "Lower bound on every reduced cost and on zero, least one seen, whether it ended by itself, "
             "boxes, centers (flat), clusters.");
    m.def(
        "add_normal_matrix",
        [](Vector<std::int64_t> start, Vector<std::int32_t> members, Vector<double> scale, std::size_t stride,
           OutVector<double> matrix) {
            nb::gil_scoped_release release;
            konstrain::exact::addNormalMatrix(view<std::int64_t>(start), view<std::int32_t>(members),
                                              view<double>(scale), stride, {matrix.data(), matrix.size()});
        },
        "start"_a.noconvert(), "members"_a.noconvert(), "scale"_a.noconvert(), "stride"_a,
        "matrix"_a.noconvert(), "Add the scaled products of columns to a matrix in dense or band storage.");
}
