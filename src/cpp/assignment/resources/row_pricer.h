#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "median_gap.h"
#include "resource_problem.h"
#include "row_kinds.h"

namespace konstrain {

// The cheapest cluster of each row at some prices, and what that proves.
struct PricedRows {
    std::vector<std::int32_t> labels;
    std::vector<double> gaps; // how much dearer the second-cheapest cluster is
    std::vector<double> sums; // nClusters x nAmounts, of these labels
    double least = 0.0;       // what all rows pay, prices included
};

// The value at this place of the sorted values.
double nthOf(std::vector<double> values, std::size_t place);

// Costs of rows that also pay the prices of the rules: one price per cluster and rule.
class RowPricer {
public:
    RowPricer(const ResourceProblem& problem, const RowKinds& kinds)
        : problem_(problem), kinds_(kinds), perAmount_(problem.nAmounts * problem.nClusters),
          perKind_(kinds.count() * problem.nClusters) {}

    void take(std::span<const double> prices);
    // What a row pays in each cluster; returns the two least.
    LeastTwo priceRow(std::size_t row, double* priced) const {
        const std::size_t k = problem_.nClusters;
        const double* cost = problem_.cost(row);
        if (kinds_.areFew()) {
            const double* paid = perKind_.data() + kinds_.of(row) * k;
            for (std::size_t j = 0; j != k; ++j)
                priced[j] = cost[j] + paid[j];
        } else {
            std::copy_n(cost, k, priced);
            addPaid(row, priced);
        }
        LeastTwo least;
        for (std::size_t j = 0; j != k; ++j)
            least.take(priced[j], j);
        return least;
    }
    PricedRows priceAll() const;
    // What sums of these amounts pay.
    double paidBy(std::span<const double> sums) const;

private:
    void addPaid(std::size_t row, double* priced) const;

    const ResourceProblem& problem_;
    const RowKinds& kinds_;
    std::vector<double> perAmount_; // nAmounts x nClusters
    std::vector<double> perKind_;   // number of kinds x nClusters
};

} // namespace konstrain
