#pragma once

#include <cstddef>
#include <span>

namespace konstrain::priced {

// Which row goes to which cluster while sums over clusters stay within bounds. A row adds its amounts to the
// sums of its cluster; a rule is a weighted sum of these, and each cluster bounds each rule from both sides.
struct RuleProblem {
    std::span<const double> costs; // nRows x nClusters
    std::size_t nClusters;
    std::span<const double> amounts; // nRows x nAmounts
    std::size_t nAmounts;
    std::span<const double> weights; // nRules x nAmounts
    std::span<const double> low;     // nClusters x nRules, infinite where nothing is asked
    std::span<const double> high;

    std::size_t nRows() const { return costs.size() / nClusters; }
    std::size_t nRules() const { return low.size() / nClusters; }
    const double* cost(std::size_t row) const { return costs.data() + row * nClusters; }
    const double* amount(std::size_t row) const { return amounts.data() + row * nAmounts; }
    const double* rule(std::size_t r) const { return weights.data() + r * nAmounts; }

    double ruleOf(std::size_t r, const double* sums) const {
        double value = 0.0;
        for (std::size_t a = 0; a != nAmounts; ++a)
            value += rule(r)[a] * sums[a];
        return value;
    }
};

// What the bounds take off the cost at these duals in a lower bound.
inline double paidByBounds(const RuleProblem& problem, std::span<const double> duals) {
    double total = 0.0;
    for (std::size_t e = 0; e != duals.size(); ++e)
        if (duals[e] != 0.0)
            total += duals[e] * (duals[e] > 0.0 ? problem.high[e] : problem.low[e]);
    return total;
}

} // namespace konstrain::priced
