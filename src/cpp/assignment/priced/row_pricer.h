#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "median_gap.h"
#include "rule_problem.h"

namespace konstrain::priced {

// The cheapest cluster of each row at some duals, and what that proves.
struct PricedLabels {
    std::vector<std::int32_t> labels;
    std::vector<double> gaps; // reduced cost of the second-cheapest cluster less that of the cheapest
    std::vector<double> sums; // nClusters x nAmounts, of these labels
    double least = 0.0;       // what all rows pay, duals included
};

// The value at this place of the sorted values.
double nthOf(std::vector<double> values, std::size_t place);

// Costs of rows that also pay the duals of the rules: one dual per cluster and rule.
class RulePricer {
public:
    explicit RulePricer(const RuleProblem& problem)
        : problem_(problem), perAmount_(problem.nAmounts * problem.nClusters) {}

    void take(std::span<const double> duals);
    // What a row pays in each cluster; returns the two least.
    LeastTwo priceRow(std::size_t row, double* priced) const {
        const std::size_t k = problem_.nClusters;
        std::copy_n(problem_.cost(row), k, priced);
        addPaid(row, priced);
        LeastTwo least;
        for (std::size_t j = 0; j != k; ++j)
            least.take(priced[j], j);
        return least;
    }
    PricedLabels priceAll() const;
    // What sums of these amounts pay.
    double paidBy(std::span<const double> sums) const;

private:
    void addPaid(std::size_t row, double* priced) const;

    const RuleProblem& problem_;
    std::vector<double> perAmount_; // nAmounts x nClusters
};

} // namespace konstrain::priced
