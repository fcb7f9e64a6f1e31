#pragma once

#include <cstddef>
#include <cstdint>

namespace konstrain {

// Adds prices to the costs of a list: `priced[e] = costs[e] + prices[clusters[e]]`. Returns the least of
// them.
double priceEntries(const double* costs, const std::int32_t* clusters, std::size_t length,
                    const double* prices, double* priced);

} // namespace konstrain
