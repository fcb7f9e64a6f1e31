#include "arrays.h"
#include "bindings.h"
#include "sdp_cuts.h"
#include "sdp_sweeps.h"

namespace {

using SdpStars = nb::ndarray<const std::int32_t, nb::shape<-1, konstrain::exact::starWidth>, nb::c_contig,
                             nb::device::cpu>;

std::span<double> writable(const OutMatrix<double>& array) {
    return {array.data(), array.size()};
}

std::span<const konstrain::exact::Star> starsOf(const SdpStars& stars) {
    return {reinterpret_cast<const konstrain::exact::Star*>(stars.data()), stars.shape(0)};
}

konstrain::exact::Polyhedron polyhedronOf(const Vector<std::int64_t>& start,
                                          const Vector<std::int32_t>& position,
                                          const Vector<double>& coefficient,
                                          const Vector<std::int32_t>& diagonals, const Vector<double>& limit,
                                          const Vector<std::int32_t>& forbidden, const Vector<double>& low,
                                          const Vector<double>& high) {
    return {{view<std::int64_t>(start), view<std::int32_t>(position), view<double>(coefficient),
             view<std::int32_t>(diagonals), view<double>(limit)},
            view<std::int32_t>(forbidden),
            view<double>(low),
            view<double>(high)};
}

auto sdpCutRows(SdpStars stars, Vector<double> weight, Vector<std::int32_t> forbidden) {
    konstrain::exact::OwnedCutRows rows;
    {
        nb::gil_scoped_release release;
        rows = konstrain::exact::buildCutRows(starsOf(stars), view<double>(weight),
                                              view<std::int32_t>(forbidden));
    }
    return std::make_tuple(copyVector<std::int64_t>(rows.start), copyVector<std::int32_t>(rows.position),
                           copyVector<double>(rows.coefficient), copyVector<double>(rows.norm));
}

auto sdpSeparate(Matrix<double> y, Vector<double> weight, SdpStars known, std::size_t mostOfAKind,
                 double leastViolation, double leastStarViolation, double starsBelow) {
    konstrain::exact::Separation found;
    {
        nb::gil_scoped_release release;
        found = konstrain::exact::separateCuts({view<double>(y), y.shape(0)}, view<double>(weight),
                                               starsOf(known),
                                               {mostOfAKind, leastViolation, leastStarViolation, starsBelow});
    }
    auto members = makeVector<std::int32_t>(found.stars.size() * konstrain::exact::starWidth);
    for (std::size_t t = 0; t != found.stars.size(); ++t)
        std::ranges::copy(found.stars[t], members.data() + t * konstrain::exact::starWidth);
    return std::make_tuple(members, found.worstTriangle);
}

auto sdpProject(Vector<std::int64_t> start, Vector<std::int32_t> position, Vector<double> coefficient,
                Vector<std::int32_t> diagonals, Vector<double> limit, Vector<std::int32_t> forbidden,
                Vector<double> low, Vector<double> high, Matrix<double> c, Vector<double> direction,
                std::size_t nSweeps, OutMatrix<double> y, OutMatrix<double> z, OutMatrix<double> u,
                OutVector<double> mu, OutMatrix<double> work) {
    konstrain::exact::StepSizes sizes{};
    {
        nb::gil_scoped_release release;
        sizes = konstrain::exact::projectIterate(
            polyhedronOf(start, position, coefficient, diagonals, limit, forbidden, low, high),
            view<double>(c), view<double>(direction), nSweeps, writable(y), writable(z), writable(u),
            {mu.data(), mu.size()}, writable(work));
    }
    return std::make_tuple(sizes.apart, sizes.size, sizes.moved, sizes.multiplier, sizes.objective);
}

auto sdpDualMatrix(Vector<std::int64_t> start, Vector<std::int32_t> position, Vector<double> coefficient,
                   Vector<std::int32_t> diagonals, Vector<double> limit, Vector<std::int32_t> forbidden,
                   Vector<double> low, Vector<double> high, Matrix<double> c, Matrix<double> u,
                   Vector<double> mu, double rho, OutMatrix<double> m) {
    konstrain::exact::DualMatrix result{};
    {
        nb::gil_scoped_release release;
        result = konstrain::exact::dualMatrix(
            polyhedronOf(start, position, coefficient, diagonals, limit, forbidden, low, high),
            view<double>(c), view<double>(u), view<double>(mu), rho, c.shape(0), writable(m));
    }
    return std::make_tuple(result.norm, result.limits, result.limitsSize);
}

} // namespace

void bindSdp(nb::module_& m) {
    m.def("sdp_cut_rows", &sdpCutRows, "stars"_a.noconvert(), "weight"_a.noconvert(),
          "forbidden"_a.noconvert(),
          "Star cuts as rows of unit norm: start, position, coefficient, norm before scaling.");
    m.def("sdp_separate", &sdpSeparate, "y"_a.noconvert(), "weight"_a.noconvert(), "known"_a.noconvert(),
          "most_of_a_kind"_a, "least_violation"_a, "least_star_violation"_a, "stars_below"_a,
          "Violated star cuts not known yet (flat), and the worst violation of a triangle.");
    m.def(
        "sdp_shift",
        [](Matrix<double> z, Matrix<double> u, Matrix<double> c, double rho, OutMatrix<double> t) {
            nb::gil_scoped_release release;
            konstrain::exact::shiftIterate(view<double>(z), view<double>(u), view<double>(c), rho, c.shape(0),
                                           writable(t));
        },
        "z"_a.noconvert(), "u"_a.noconvert(), "c"_a.noconvert(), "rho"_a, "t"_a.noconvert(),
        "Lower triangle of z - u - c / rho into t.");
    m.def("sdp_project", &sdpProject, "start"_a.noconvert(), "position"_a.noconvert(),
          "coefficient"_a.noconvert(), "diagonals"_a.noconvert(), "limit"_a.noconvert(),
          "forbidden"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "c"_a.noconvert(),
          "direction"_a.noconvert(), "n_sweeps"_a, "y"_a.noconvert(), "z"_a.noconvert(), "u"_a.noconvert(),
          "mu"_a.noconvert(), "work"_a.noconvert(),
          "Project y + u onto the cuts: |y - z|, |y|, |z - previous z|, |u|, <c, y>.");
    m.def("sdp_dual_matrix", &sdpDualMatrix, "start"_a.noconvert(), "position"_a.noconvert(),
          "coefficient"_a.noconvert(), "diagonals"_a.noconvert(), "limit"_a.noconvert(),
          "forbidden"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "c"_a.noconvert(),
          "u"_a.noconvert(), "mu"_a.noconvert(), "rho"_a, "m"_a.noconvert(),
          "Matrix of the safe bound into m: its norm, what limits add to the bound, and their magnitudes.");
}
