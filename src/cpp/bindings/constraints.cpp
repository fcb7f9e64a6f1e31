#include "arrays.h"
#include "bindings.h"
#include "blocks.h"
#include "coloring.h"
#include "deadline.h"
#include "greedy_clique.h"
#include "magnitude.h"
#include "uncolorable.h"

namespace {

template <typename T> void bindBlockMeans(nb::module_& m) {
    m.def(
        "block_means",
        [](nb::ndarray<const T, nb::ndim<2>, nb::device::cpu> x, Vector<std::int64_t> indptr,
           Vector<std::int32_t> rows, Vector<double> weights,
           nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu> means) {
            auto scatter = makeVector<double>(indptr.size() - 1);
            const konstrain::constraints::StridedRows<T> matrix{x.data(), x.stride(0), x.stride(1),
                                                                x.shape(1)};
            {
                nb::gil_scoped_release release;
                konstrain::constraints::averageBlocks<T>(
                    matrix, view<std::int64_t>(indptr), view<std::int32_t>(rows), view<double>(weights),
                    {means.data(), means.size()}, {scatter.data(), scatter.size()});
            }
            return scatter;
        },
        "x"_a.noconvert(), "indptr"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(),
        "means"_a.noconvert(),
        "Fills in the mean of each block and returns the scatter around it; empty weights mean 1 each.");
}

template <typename T, typename Index> void bindBlockMeansSparse(nb::module_& m) {
    m.def(
        "block_means_sparse",
        [](Vector<Index> xIndptr, Vector<Index> xIndices, Vector<T> xData, std::size_t nColumns,
           Vector<std::int64_t> indptr, Vector<std::int32_t> rows, Vector<double> weights) {
            auto scatter = makeVector<double>(indptr.size() - 1);
            konstrain::constraints::SparseMeans<T> means;
            {
                nb::gil_scoped_release release;
                means = konstrain::constraints::averageBlocksSparse<T, Index>(
                    view<Index>(xIndptr), view<Index>(xIndices), view<T>(xData), nColumns,
                    view<std::int64_t>(indptr), view<std::int32_t>(rows), view<double>(weights),
                    {scatter.data(), scatter.size()});
            }
            // The data as a plain object: type checkers refuse overloads that differ in what they return.
            return std::make_tuple(adoptVector(std::move(means.indptr)),
                                   adoptVector(std::move(means.indices)),
                                   nb::cast(adoptVector(std::move(means.data))), scatter);
        },
        "x_indptr"_a.noconvert(), "x_indices"_a.noconvert(), "x_data"_a.noconvert(), "n_columns"_a,
        "indptr"_a.noconvert(), "rows"_a.noconvert(), "weights"_a.noconvert(),
        "Like block_means, for compressed rows: indptr, indices and data of the means, then the scatter.");
}

void bindBlocks(nb::module_& m) {
    m.def(
        "merge_blocks",
        [](std::size_t nRows, Matrix<std::int32_t> pairs, Vector<std::int32_t> groups,
           Vector<std::int32_t> labels) {
            auto blockOf = makeVector<std::int32_t>(nRows);
            std::int32_t nBlocks = 0;
            {
                nb::gil_scoped_release release;
                nBlocks =
                    konstrain::constraints::mergeBlocks(view<std::int32_t>(pairs), view<std::int32_t>(groups),
                                                        view<std::int32_t>(labels), {blockOf.data(), nRows});
            }
            return std::make_pair(blockOf, nBlocks);
        },
        "n_rows"_a, "pairs"_a.noconvert(), "groups"_a.noconvert(), "labels"_a.noconvert(),
        "Block of each row, numbered by first rows, and the number of blocks.");
    m.def(
        "list_rows",
        [](Vector<std::int32_t> blockOf, std::size_t nBlocks) {
            auto indptr = makeVector<std::int64_t>(nBlocks + 1);
            auto rows = makeVector<std::int32_t>(blockOf.size());
            {
                nb::gil_scoped_release release;
                konstrain::constraints::listRows(view<std::int32_t>(blockOf), {indptr.data(), indptr.size()},
                                                 {rows.data(), rows.size()});
            }
            return std::make_pair(indptr, rows);
        },
        "block_of"_a.noconvert(), "n_blocks"_a, "Rows of each block in compressed form: indptr and rows.");
    m.def(
        "build_links",
        [](std::size_t nNodes, Vector<std::int32_t> first, Vector<std::int32_t> second,
           Vector<double> weights) {
            konstrain::constraints::LinkArrays links;
            {
                nb::gil_scoped_release release;
                links = konstrain::constraints::buildLinks(nNodes, view<std::int32_t>(first),
                                                           view<std::int32_t>(second), view<double>(weights));
            }
            return std::make_tuple(adoptVector(std::move(links.indptr)),
                                   adoptVector(std::move(links.indices)),
                                   adoptVector(std::move(links.weights)));
        },
        "n_nodes"_a, "first"_a.noconvert(), "second"_a.noconvert(), "weights"_a.noconvert(),
        "Symmetric graph in compressed rows; repeated edges are merged and their weights added.");
    bindBlockMeans<double>(m);
    bindBlockMeans<float>(m);
    bindBlockMeansSparse<double, std::int32_t>(m);
    bindBlockMeansSparse<double, std::int64_t>(m);
    bindBlockMeansSparse<float, std::int32_t>(m);
    bindBlockMeansSparse<float, std::int64_t>(m);
}

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
    bindBlocks(m);
    bindColoring(m);
}
