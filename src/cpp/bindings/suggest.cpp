#include "arrays.h"
#include "bindings.h"
#include "forest.h"

namespace {

void growForest(Matrix<double> rows, Vector<std::int32_t> classes, std::size_t nClasses, std::size_t nDrawn,
                std::uint64_t seed, OutMatrix<std::int32_t> leaves) {
    nb::gil_scoped_release release;
    const konstrain::suggest::LabeledRows data{view<double>(rows), view<std::int32_t>(classes), rows.shape(1),
                                               nClasses};
    konstrain::suggest::growForest(data, nDrawn, seed, {leaves.data(), leaves.size()});
}

} // namespace

void bindSuggest(nb::module_& m) {
    m.def("grow_forest", &growForest, "rows"_a.noconvert(), "classes"_a.noconvert(), "n_classes"_a,
          "n_drawn"_a, "seed"_a, "leaves"_a.noconvert(),
          "Grow a random forest and fill `leaves`, a line per tree, with the leaf of each row.");
}
