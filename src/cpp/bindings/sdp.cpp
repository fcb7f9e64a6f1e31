#include "arrays.h"
#include "sdp_cuts.h"
#include "sdp_sweeps.h"

// Stars as a matrix of member numbers.
template <>
struct nb::detail::type_caster<std::span<const konstrain::exact::Star>>
    : ViewCaster<std::span<const konstrain::exact::Star>,
                 ndarray<const std::int32_t, shape<-1, konstrain::exact::starWidth>, c_contig, device::cpu>> {
};

namespace konstrain::exact {

namespace {

auto cutRows(std::span<const Star> stars, Vector<double> weight, Vector<std::int32_t> forbidden) {
    OwnedCutRows rows = buildCutRows(stars, weight, forbidden);
    return std::make_tuple(Array(std::move(rows.start)), Array(std::move(rows.position)),
                           Array(std::move(rows.coefficient)), Array(std::move(rows.norm)));
}

auto separate(Matrix<double> y, Vector<double> weight, std::span<const Star> known, std::size_t mostOfAKind,
              double leastViolation, double leastStarViolation, double starsBelow) {
    const Separation found = separateCuts({y, y.nRows}, weight, known,
                                          {mostOfAKind, leastViolation, leastStarViolation, starsBelow});
    Array<std::int32_t> members;
    for (const Star& star : found.stars)
        members.insert(members.end(), star.begin(), star.end());
    return std::make_tuple(std::move(members), found.worstTriangle);
}

void bindPolyhedron(nb::module_& m) {
    nb::class_<Polyhedron>(m, "SdpPolyhedron",
                           "Cuts in compressed rows, entries that are zero, and bounds of the diagonal.")
        .def(
            "__init__",
            [](Polyhedron* self, Vector<std::int64_t> start, Vector<std::int32_t> position,
               Vector<double> coefficient, Vector<std::int32_t> diagonals, Vector<double> limit,
               Vector<std::int32_t> forbidden, Vector<double> low, Vector<double> high) {
                new (self) Polyhedron{{start, position, coefficient, diagonals, limit}, forbidden, low, high};
            },
            "start"_a, "position"_a, "coefficient"_a, "diagonals"_a, "limit"_a, "forbidden"_a, "low"_a,
            "high"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(),
            nb::keep_alive<1, 5>(), nb::keep_alive<1, 6>(), nb::keep_alive<1, 7>(), nb::keep_alive<1, 8>(),
            nb::keep_alive<1, 9>())
        .def(
            "project",
            [](const Polyhedron& self, Matrix<double> c, Vector<double> direction, std::size_t nSweeps,
               OutMatrix<double> y, OutMatrix<double> z, OutMatrix<double> u, OutVector<double> mu,
               OutMatrix<double> work) {
                const StepSizes sizes = projectIterate(self, c, direction, nSweeps, y, z, u, mu, work);
                return std::make_tuple(sizes.apart, sizes.size, sizes.moved, sizes.multiplier,
                                       sizes.objective);
            },
            "c"_a, "direction"_a, "n_sweeps"_a, "y"_a, "z"_a, "u"_a, "mu"_a, "work"_a, WithoutGil(),
            "Project y + u onto the cuts: |y - z|, |y|, |z - previous z|, |u|, <c, y>.")
        .def(
            "dual_matrix",
            [](const Polyhedron& self, Matrix<double> c, Matrix<double> u, Vector<double> mu, double rho,
               OutMatrix<double> m) {
                const DualMatrix result = dualMatrix(self, c, u, mu, rho, c.nRows, m);
                return std::make_tuple(result.norm, result.limits, result.limitsSize);
            },
            "c"_a, "u"_a, "mu"_a, "rho"_a, "m"_a, WithoutGil(),
            "Matrix of the safe bound into m: its norm, what limits add to the bound, and their magnitudes.");
}

} // namespace

void bindSdp(nb::module_& m) {
    m.def("sdp_cut_rows", &cutRows, "stars"_a, "weight"_a, "forbidden"_a, WithoutGil(),
          "Star cuts as rows of unit norm: start, position, coefficient, norm before scaling.");
    m.def("sdp_separate", &separate, "y"_a, "weight"_a, "known"_a, "most_of_a_kind"_a, "least_violation"_a,
          "least_star_violation"_a, "stars_below"_a, WithoutGil(),
          "Violated star cuts not known yet (flat), and the worst violation of a triangle.");
    m.def(
        "sdp_shift",
        [](Matrix<double> z, Matrix<double> u, Matrix<double> c, double rho, OutMatrix<double> t) {
            shiftIterate(z, u, c, rho, c.nRows, t);
        },
        "z"_a, "u"_a, "c"_a, "rho"_a, "t"_a, WithoutGil(), "Lower triangle of z - u - c / rho into t.");
    bindPolyhedron(m);
}

} // namespace konstrain::exact
