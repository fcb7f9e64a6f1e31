#include "arrays.h"
#include "forest.h"

namespace konstrain::suggest {

void bindSuggest(nb::module_& m) {
    m.def(
        "grow_forest",
        [](Matrix<double> rows, Vector<std::int32_t> classes, std::size_t nClasses, std::size_t nDrawn,
           std::uint64_t seed, OutMatrix<std::int32_t> leaves) {
            growForest({rows, classes, rows.nColumns, nClasses}, nDrawn, seed, leaves);
        },
        "rows"_a, "classes"_a, "n_classes"_a, "n_drawn"_a, "seed"_a, "leaves"_a, WithoutGil(),
        "Grow a random forest and fill `leaves`, a line per tree, with the leaf of each row.");
}

} // namespace konstrain::suggest
