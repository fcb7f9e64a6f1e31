#include "resource_problem.h"

namespace konstrain {

double paidByBounds(const ResourceProblem& problem, std::span<const double> prices) {
    double total = 0.0;
    for (std::size_t e = 0; e != prices.size(); ++e)
        if (prices[e] != 0.0)
            total += prices[e] * (prices[e] > 0.0 ? problem.high[e] : problem.low[e]);
    return total;
}

} // namespace konstrain
