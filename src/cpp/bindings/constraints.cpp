#include "arrays.h"
#include "bindings.h"
#include "coloring.h"
#include "deadline.h"
#include "greedy_clique.h"
#include "magnitude.h"
#include "uncolorable.h"

namespace {

void bindColoring(nb::module_& m) {
    m.def(
        "greedy_clique",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, double seconds) {
            std::vector<std::int32_t> clique;
            {
                nb::gil_scoped_release release;
                clique = konstrain::constraints::greedyClique(
                    {view<std::int64_t>(indptr), view<std::int32_t>(indices)},
                    konstrain::deadlineIn(seconds));
            }
            return adoptVector(std::move(clique));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "seconds"_a,
        "A large clique of a graph in compressed rows, ascending.");
    m.def(
        "color_components",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, std::int32_t nColors, double seconds) {
            konstrain::constraints::ComponentVerdicts result;
            {
                nb::gil_scoped_release release;
                result = konstrain::constraints::colorComponents(
                    {view<std::int64_t>(indptr), view<std::int32_t>(indices)}, nColors,
                    konstrain::deadlineIn(seconds));
            }
            return std::make_pair(adoptVector(std::move(result.component)),
                                  adoptVector(std::move(result.verdict)));
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "n_colors"_a, "seconds"_a,
        "Component of each node (-1: never matters) and per component 1, 0 or -1: colourable, not, "
        "undecided.");
    m.def(
        "shrink_uncolorable",
        [](Vector<std::int64_t> indptr, Vector<std::int32_t> indices, Vector<std::int32_t> members,
           std::int32_t nColors, double seconds) {
            konstrain::constraints::UncolorableSet result;
            {
                nb::gil_scoped_release release;
                result = konstrain::constraints::shrinkUncolorable(
                    {view<std::int64_t>(indptr), view<std::int32_t>(indices)}, view<std::int32_t>(members),
                    nColors, konstrain::deadlineIn(seconds));
            }
            return std::make_pair(adoptVector(std::move(result.members)), result.irreducible);
        },
        "indptr"_a.noconvert(), "indices"_a.noconvert(), "members"_a.noconvert(), "n_colors"_a, "seconds"_a,
        "An uncolourable subset of uncolourable members, and whether it is proved to be irreducible.");
}

template <typename T> void bindMagnitude(nb::module_& m) {
    m.def(
        "largest_magnitude",
        [](Vector<T> values) { return konstrain::constraints::largestMagnitude(view<T>(values)); },
        "values"_a.noconvert(), nb::call_guard<nb::gil_scoped_release>(),
        "The largest magnitude of all values; infinite or NaN as soon as one of them is.");
}

} // namespace

void bindConstraints(nb::module_& m) {
    bindMagnitude<double>(m);
    bindMagnitude<float>(m);
    bindColoring(m);
}
