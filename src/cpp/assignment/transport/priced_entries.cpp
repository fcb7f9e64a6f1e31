#include "priced_entries.h"

#include "infinity.h"
#include "lane_width.h"
#include "multiversion.h"

namespace konstrain {

// Lanes of their own for the minimum: one after the other, each comparison would wait for the last.
KONSTRAIN_MULTIVERSION
double priceEntries(const double* costs, const std::int32_t* clusters, std::size_t length,
                    const double* prices, double* priced) {
    for (std::size_t e = 0; e != length; ++e)
        priced[e] = costs[e] + prices[clusters[e]];
    double least[laneCount];
    for (double& lane : least)
        lane = infinity;
    std::size_t first = 0;
    for (; first + laneCount <= length; first += laneCount)
        for (std::size_t lane = 0; lane != laneCount; ++lane)
            least[lane] = priced[first + lane] < least[lane] ? priced[first + lane] : least[lane];
    for (std::size_t lane = 0; first + lane != length; ++lane)
        least[lane] = priced[first + lane] < least[lane] ? priced[first + lane] : least[lane];
    for (std::size_t lane = 1; lane != laneCount; ++lane)
        least[0] = least[lane] < least[0] ? least[lane] : least[0];
    return least[0];
}

} // namespace konstrain
