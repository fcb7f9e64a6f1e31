#include "sdp_sweeps.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "hardware.h"
#include "infinity.h"
#include "multiversion.h"

namespace konstrain::exact {

namespace {

struct Sums {
    double apart[laneCount] = {};
    double size[laneCount] = {};
    double moved[laneCount] = {};
    double multiplier[laneCount] = {};
    double objective[laneCount] = {};
};

double total(const double (&values)[laneCount]) {
    double sum = 0.0;
    for (const double value : values)
        sum += value;
    return sum;
}

struct Entry {
    const double* c;
    const double* y;
    const double* work;
    double* z;
    double* u;
};

KONSTRAIN_MULTIVERSION void startRow(std::size_t count, double scale, const double* direction,
                                     const double* u, double* y, double* work) {
    for (std::size_t j = 0; j != count; ++j) {
        y[j] += scale * direction[j];
        work[j] = y[j] + u[j];
    }
}

KONSTRAIN_MULTIVERSION void shiftRow(std::size_t count, const double* z, const double* u, const double* c,
                                     double inverseRho, double* t) {
    for (std::size_t j = 0; j != count; ++j)
        t[j] = z[j] - u[j] - c[j] * inverseRho;
}

// One entry: Z becomes the clipped work value, U what is left.
inline void project(const Entry& at, std::size_t j, double low, double high, Sums& sums, std::size_t lane) {
    const double y = at.y[j];
    const double raised = at.work[j] > low ? at.work[j] : low;
    const double z = raised < high ? raised : high;
    const double u = y + at.u[j] - z;
    const double apart = y - z;
    const double moved = z - at.z[j];
    sums.apart[lane] += apart * apart;
    sums.size[lane] += y * y;
    sums.moved[lane] += moved * moved;
    sums.multiplier[lane] += u * u;
    sums.objective[lane] += at.c[j] * y;
    at.z[j] = z;
    at.u[j] = u;
}

KONSTRAIN_MULTIVERSION void projectRow(std::size_t count, const Entry& row, Sums& sums) {
    const double high = infinity;
    const Entry at = row;
    Sums local = sums;
    std::size_t j = 0;
    for (; j + laneCount <= count; j += laneCount)
        for (std::size_t lane = 0; lane != laneCount; ++lane)
            project(at, j + lane, 0.0, high, local, lane);
    for (; j != count; ++j)
        project(at, j, 0.0, high, local, j % laneCount);
    sums = local;
}

KONSTRAIN_MULTIVERSION double dualRow(std::size_t count, const double* c, const double* u, double rho,
                                      double* m) {
    double squares[laneCount] = {};
    for (std::size_t j = 0; j != count; ++j)
        m[j] = c[j] + rho * (u[j] < m[j] ? u[j] : m[j]);
    std::size_t j = 0;
    for (; j + laneCount <= count; j += laneCount)
        for (std::size_t lane = 0; lane != laneCount; ++lane)
            squares[lane] += m[j + lane] * m[j + lane];
    for (; j != count; ++j)
        squares[0] += m[j] * m[j];
    return total(squares);
}

// Adds scale * mu_t * A_t to the matrix, for all cuts.
void addCuts(const CutRows& cuts, std::span<const double> mu, double scale, std::span<double> matrix) {
    for (std::size_t t = 0; t != cuts.count(); ++t) {
        if (mu[t] == 0.0)
            continue;
        const auto first = static_cast<std::size_t>(cuts.start[t]);
        const auto end = static_cast<std::size_t>(cuts.start[t + 1]);
        const std::size_t below = first + static_cast<std::size_t>(cuts.diagonals[t]);
        for (std::size_t e = first; e != below; ++e)
            matrix[static_cast<std::size_t>(cuts.position[e])] += scale * mu[t] * cuts.coefficient[e];
        for (std::size_t e = below; e != end; ++e)
            matrix[static_cast<std::size_t>(cuts.position[e])] += 0.5 * scale * mu[t] * cuts.coefficient[e];
    }
}

// Dykstra's and Hildreth's projection in the dual: the nearest point to W in the polyhedron is
// clip(W - sum mu_t A_t) at the multipliers mu >= 0 that maximise a concave dual. `work` holds W - sum mu_t
// A_t throughout, so one multiplier changes in time linear in its entries. Rows of A are scaled to norm at
// most 1 and clipping does not expand distances: a step of the slope itself never overshoots. Ascent in the
// multiplier of each cut in turn: <A_t, clip(work)> - limit is the slope, 1 its Lipschitz constant.
void sweep(const Polyhedron& polyhedron, std::span<double> mu, std::span<double> work) {
    const CutRows& cuts = polyhedron.cuts;
    const std::size_t size = polyhedron.low.size();
    const std::int32_t* position = cuts.position.data();
    const double* coefficient = cuts.coefficient.data();
    double* values = work.data();
    for (std::size_t t = 0; t != cuts.count(); ++t) {
        const auto first = static_cast<std::size_t>(cuts.start[t]);
        const auto end = static_cast<std::size_t>(cuts.start[t + 1]);
        const std::size_t below = first + static_cast<std::size_t>(cuts.diagonals[t]);
        double slope = -cuts.limit[t];
        for (std::size_t e = first; e != below; ++e) {
            const std::size_t i = static_cast<std::size_t>(position[e]) / (size + 1);
            const double raised = std::max(values[position[e]], polyhedron.low[i]);
            slope += coefficient[e] * std::min(raised, polyhedron.high[i]);
        }
        for (std::size_t e = below; e != end; ++e)
            slope += coefficient[e] * std::max(values[position[e]], 0.0);
        const double step = std::max(-mu[t], slope);
        if (step == 0.0)
            continue;
        mu[t] += step;
        for (std::size_t e = first; e != below; ++e)
            values[position[e]] -= step * coefficient[e];
        for (std::size_t e = below; e != end; ++e)
            values[position[e]] -= 0.5 * step * coefficient[e];
    }
}

} // namespace

void shiftIterate(std::span<const double> z, std::span<const double> u, std::span<const double> c, double rho,
                  std::size_t size, std::span<double> t) {
    for (std::size_t i = 0; i != size; ++i)
        shiftRow(i + 1, &z[i * size], &u[i * size], &c[i * size], 1.0 / rho, &t[i * size]);
}

StepSizes projectIterate(const Polyhedron& polyhedron, std::span<const double> c,
                         std::span<const double> direction, std::size_t nSweeps, std::span<double> y,
                         std::span<double> z, std::span<double> u, std::span<double> mu,
                         std::span<double> work) {
    const std::size_t size = direction.size();
    assert(mu.size() == polyhedron.cuts.count());
    for (std::size_t i = 0; i != size; ++i)
        startRow(i + 1, direction[i], direction.data(), &u[i * size], &y[i * size], &work[i * size]);
    addCuts(polyhedron.cuts, mu, -1.0, work);
    for (std::size_t round = 0; round != nSweeps; ++round)
        sweep(polyhedron, mu, work);
    for (const std::int32_t position : polyhedron.forbidden)
        work[static_cast<std::size_t>(position)] = 0.0;
    Sums below;
    Sums diagonal;
    for (std::size_t i = 0; i != size; ++i) {
        const std::size_t row = i * size;
        const Entry at{&c[row], &y[row], &work[row], &z[row], &u[row]};
        projectRow(i, at, below);
        project(at, i, polyhedron.low[i], polyhedron.high[i], diagonal, 0);
    }
    const auto both = [](const double (&off)[laneCount], const double (&on)[laneCount]) {
        return 2.0 * total(off) + total(on);
    };
    return {std::sqrt(both(below.apart, diagonal.apart)), std::sqrt(both(below.size, diagonal.size)),
            std::sqrt(both(below.moved, diagonal.moved)),
            std::sqrt(both(below.multiplier, diagonal.multiplier)),
            both(below.objective, diagonal.objective)};
}

// Weak duality, entry by entry. Off the diagonal Y >= 0, so for V = min(U, sum mu_t A_t), on forbidden
// entries V = U, every Y of the polyhedron has <V, Y> <= sum mu_t <A_t, Y> <= sum mu_t limit_t. On the
// diagonal V = U, and the slack, sum mu_t A_t less U, is paid at the end of [low, high] that is worse. What
// limits and ends cost is added to `limits`: the bound holds for any U and any mu >= 0, converged or not.
DualMatrix dualMatrix(const Polyhedron& polyhedron, std::span<const double> c, std::span<const double> u,
                      std::span<const double> mu, double rho, std::size_t size, std::span<double> m) {
    std::ranges::fill(m, 0.0);
    addCuts(polyhedron.cuts, mu, 1.0, m);
    for (const std::int32_t position : polyhedron.forbidden)
        m[static_cast<std::size_t>(position)] = infinity;
    DualMatrix result{0.0, 0.0, 0.0};
    for (std::size_t t = 0; t != polyhedron.cuts.count(); ++t)
        result.limits -= rho * mu[t] * polyhedron.cuts.limit[t];
    result.limitsSize = std::abs(result.limits);
    for (std::size_t i = 0; i != size; ++i) {
        const std::size_t row = i * size;
        result.norm += 2.0 * dualRow(i, &c[row], &u[row], rho, &m[row]);
        double& entry = m[row + i];
        const double slack = entry - u[row + i];
        const bool isLimited = slack >= 0.0 || std::isfinite(polyhedron.high[i]);
        const double term =
            isLimited ? rho * slack * (slack >= 0.0 ? polyhedron.low[i] : polyhedron.high[i]) : 0.0;
        entry = c[row + i] + rho * (isLimited ? u[row + i] : entry);
        result.limits += term;
        result.limitsSize += std::abs(term);
        result.norm += entry * entry;
    }
    result.norm = std::sqrt(result.norm);
    return result;
}

} // namespace konstrain::exact
