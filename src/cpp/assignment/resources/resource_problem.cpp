#include "resource_problem.h"

#include <algorithm>

#include "infinity.h"

namespace konstrain {

void RowPricer::take(std::span<const double> prices) {
    std::fill(perAmount_.begin(), perAmount_.end(), 0.0);
    const std::size_t k = problem_.nClusters;
    for (std::size_t j = 0; j != k; ++j)
        for (std::size_t r = 0; r != problem_.nRules(); ++r)
            for (std::size_t a = 0; a != problem_.nAmounts; ++a)
                perAmount_[a * k + j] += prices[j * problem_.nRules() + r] * problem_.rule(r)[a];
}

void RowPricer::priceRow(std::size_t row, double* priced) const {
    const std::size_t k = problem_.nClusters;
    std::copy_n(problem_.cost(row), k, priced);
    const double* amount = problem_.amount(row);
    for (std::size_t a = 0; a != problem_.nAmounts; ++a) {
        // Of a row's categories all but one count nothing.
        if (amount[a] == 0.0)
            continue;
        const double* price = perAmount_.data() + a * k;
        for (std::size_t j = 0; j != k; ++j)
            priced[j] += amount[a] * price[j];
    }
}

PricedRows RowPricer::priceAll() const {
    const std::size_t k = problem_.nClusters;
    PricedRows result;
    result.labels.resize(problem_.nRows());
    result.gaps.resize(problem_.nRows());
    result.sums.assign(k * problem_.nAmounts, 0.0);
    std::vector<double> priced(k);
    for (std::size_t row = 0; row != problem_.nRows(); ++row) {
        priceRow(row, priced.data());
        double first = infinity;
        double second = infinity;
        std::size_t best = 0;
        for (std::size_t j = 0; j != k; ++j) {
            second = std::min(second, std::max(first, priced[j]));
            best = priced[j] < first ? j : best;
            first = std::min(first, priced[j]);
        }
        result.labels[row] = static_cast<std::int32_t>(best);
        result.gaps[row] = second - first;
        result.least += first;
        double* sums = result.sums.data() + best * problem_.nAmounts;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            sums[a] += problem_.amount(row)[a];
    }
    return result;
}

double RowPricer::paidBy(std::span<const double> sums) const {
    const std::size_t k = problem_.nClusters;
    double total = 0.0;
    for (std::size_t j = 0; j != k; ++j)
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            total += sums[j * problem_.nAmounts + a] * perAmount_[a * k + j];
    return total;
}

double paidByBounds(const ResourceProblem& problem, std::span<const double> prices) {
    double total = 0.0;
    for (std::size_t e = 0; e != prices.size(); ++e)
        if (prices[e] != 0.0)
            total += prices[e] * (prices[e] > 0.0 ? problem.high[e] : problem.low[e]);
    return total;
}

} // namespace konstrain
