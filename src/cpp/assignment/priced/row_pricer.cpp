#include "row_pricer.h"

#include <algorithm>

namespace konstrain::priced {

double nthOf(std::vector<double> values, std::size_t place) {
    const auto there = values.begin() + static_cast<std::ptrdiff_t>(place);
    std::nth_element(values.begin(), there, values.end());
    return *there;
}

void RulePricer::addPaid(std::size_t row, double* priced) const {
    const std::size_t k = problem_.nClusters;
    const double* amount = problem_.amount(row);
    for (std::size_t a = 0; a != problem_.nAmounts; ++a) {
        // Of a row's categories all but one count nothing.
        if (amount[a] == 0.0)
            continue;
        const double* dual = perAmount_.data() + a * k;
        for (std::size_t j = 0; j != k; ++j)
            priced[j] += amount[a] * dual[j];
    }
}

void RulePricer::take(std::span<const double> duals) {
    std::fill(perAmount_.begin(), perAmount_.end(), 0.0);
    const std::size_t k = problem_.nClusters;
    for (std::size_t j = 0; j != k; ++j)
        for (std::size_t r = 0; r != problem_.nRules(); ++r)
            for (std::size_t a = 0; a != problem_.nAmounts; ++a)
                perAmount_[a * k + j] += duals[j * problem_.nRules() + r] * problem_.rule(r)[a];
}

PricedLabels RulePricer::priceAll() const {
    const std::size_t k = problem_.nClusters;
    PricedLabels result;
    result.labels.resize(problem_.nRows());
    result.gaps.resize(problem_.nRows());
    result.sums.assign(k * problem_.nAmounts, 0.0);
    std::vector<double> priced(k);
    for (std::size_t row = 0; row != problem_.nRows(); ++row) {
        const LeastTwo least = priceRow(row, priced.data());
        result.labels[row] = static_cast<std::int32_t>(least.best);
        result.gaps[row] = least.gap();
        result.least += least.first;
        double* sums = result.sums.data() + least.best * problem_.nAmounts;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            sums[a] += problem_.amount(row)[a];
    }
    return result;
}

double RulePricer::paidBy(std::span<const double> sums) const {
    const std::size_t k = problem_.nClusters;
    double total = 0.0;
    for (std::size_t j = 0; j != k; ++j)
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            total += sums[j * problem_.nAmounts + a] * perAmount_[a * k + j];
    return total;
}

} // namespace konstrain::priced
