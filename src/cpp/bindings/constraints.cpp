#include "arrays.h"
#include "coloring.h"
#include "deadline.h"
#include "greedy_clique.h"
#include "magnitude.h"
#include "uncolorable.h"

namespace konstrain::constraints {

namespace {

void bindColoring(nb::module_& m) {
    m.def(
        "greedy_clique",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, double seconds) {
            return Array<std::int32_t>(greedyClique({indptr, indices}, deadlineIn(seconds)));
        },
        "indptr"_a, "indices"_a, "seconds"_a, WithoutGil(),
        "A large clique of a graph in compressed rows, ascending.");
    m.def(
        "color_components",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, std::int32_t nColors, double seconds) {
            auto result = colorComponents({indptr, indices}, nColors, deadlineIn(seconds));
            return std::make_pair(Array(std::move(result.component)), Array(std::move(result.verdict)));
        },
        "indptr"_a, "indices"_a, "n_colors"_a, "seconds"_a, WithoutGil(),
        "Component of each node (-1: never matters) and per component 1, 0 or -1: colourable, not, "
        "undecided.");
    m.def(
        "shrink_uncolorable",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<std::int32_t> members,
           std::int32_t nColors, double seconds) {
            auto result = shrinkUncolorable({indptr, indices}, members, nColors, deadlineIn(seconds));
            return std::make_pair(Array(std::move(result.members)), result.irreducible);
        },
        "indptr"_a, "indices"_a, "members"_a, "n_colors"_a, "seconds"_a, WithoutGil(),
        "An uncolourable subset of uncolourable members, and whether it is proved to be irreducible.");
}

template <typename T> void bindMagnitude(nb::module_& m) {
    m.def(
        "largest_magnitude", [](Vector<T> values) { return largestMagnitude(values); }, "values"_a,
        WithoutGil(), "The largest magnitude of all values; infinite or NaN as soon as one of them is.");
}

} // namespace

void bindConstraints(nb::module_& m) {
    bindMagnitude<double>(m);
    bindMagnitude<float>(m);
    bindColoring(m);
}

} // namespace konstrain::constraints
