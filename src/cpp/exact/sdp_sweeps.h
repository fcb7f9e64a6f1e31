#pragma once

#include <cstdint>
#include <span>

#include "sdp_cuts.h"

namespace konstrain::exact {

// What one projection step of the method of multipliers measures.
struct StepSizes {
    double apart;      // |Y - Z|
    double size;       // |Y|
    double moved;      // |Z - previous Z|
    double multiplier; // |U|
    double objective;  // <C, Y>
};

// The set projected onto: Z >= 0 off the diagonal, low <= Z_ii <= high, Z = 0 on `forbidden`, and the cuts.
struct Polyhedron {
    CutRows cuts;
    std::span<const std::int32_t> forbidden;
    std::span<const double> low;
    std::span<const double> high;
};

// T = Z - U - C / rho.
void shiftIterate(std::span<const double> z, std::span<const double> u, std::span<const double> c, double rho,
                  std::size_t size, std::span<double> t);

// Adds direction * direction' to `y`, then moves Z to (nearly) the point of the polyhedron nearest to Y + U
// and U to the rest. The multipliers of the cuts start from `mu` and take `nSweeps` rounds of coordinate
// ascent: not exact, and it need not be, as the bound holds for any multipliers. `work` is scratch, an array
// of its own.
StepSizes projectIterate(const Polyhedron& polyhedron, std::span<const double> c,
                         std::span<const double> direction, std::size_t nSweeps, std::span<double> y,
                         std::span<double> z, std::span<double> u, std::span<double> mu,
                         std::span<double> work);

struct DualMatrix {
    double norm;       // |M|_F
    double limits;     // what limits on the diagonal and of cuts add to the bound
    double limitsSize; // the sum of magnitudes behind it, for the rounding guard
};

// M = C + rho * V, with V the nearest to U for which every point Y of the polyhedron has
// <C, Y> >= <M, Y> + limits; see sdp_bound.py for the derivation.
DualMatrix dualMatrix(const Polyhedron& polyhedron, std::span<const double> c, std::span<const double> u,
                      std::span<const double> mu, double rho, std::size_t size, std::span<double> m);

} // namespace konstrain::exact
