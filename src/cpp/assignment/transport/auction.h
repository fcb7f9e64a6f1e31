#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "deadline.h"

namespace konstrain {

// Whether sizes are fixed, up to one row: then every cluster fills up and an auction finds prices.
bool areNearlyFixed(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper);

struct AuctionResult {
    double step = 0.0;     // at these prices every row has a place that costs it at most so much too much
    bool finished = false; // false: given up, out of time or because rows outbid each other without end
};

// Raises prices until they share the rows out, for sizes that are nearly fixed (Bertsekas and Castanon 1989).
//
// A row bids for the cluster that is cheapest for it: so much that its second cheapest would be as good, and
// a step more. A cluster keeps as many of the highest bids as it has places; once it is full its price is the
// lowest of these, and whoever is outbid bids again. The smaller the step the better the prices, and the more
// bids it takes from prices that are far off: so there are several auctions with steps that fall, each from
// the prices of the one before, and the first ones are held among a sample of the rows.
//
// `costs` is row-major. `isWarm`: the prices come from a similar problem. An auction that was given up leaves
// the prices as they were.
AuctionResult auctionPrices(std::span<const double> costs, std::span<const std::int64_t> lower,
                            std::span<double> prices, bool isWarm, TimePoint deadline);

} // namespace konstrain
