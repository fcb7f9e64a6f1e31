#pragma once

#include <cstdint>
#include <span>

namespace konstrain::transport {

// How many rows do not fit into the clusters they prefer.
std::int64_t countCrowded(std::span<const std::int64_t> sizes, std::span<const std::int64_t> upper);

// Raises the price of each crowded cluster just so far that, were the other prices to stay, no more rows
// prefer it than fit. `gaps` says by how much each row prefers its label. A cheap first step towards good
// prices: as in an auction (Bertsekas 1988), some rows come back because other prices rose too.
void raiseCrowdedPrices(std::span<const std::int32_t> labels, std::span<const float> gaps,
                        std::span<const std::int64_t> sizes, std::span<const std::int64_t> upper,
                        std::span<double> prices);

// Moves rows that prefer several clusters equally from those with an excess to those with a shortage (a
// negative one), and returns what that adds to the cost without prices. Equal rows come in thousands where
// data are counts or categories; moving them one path at a time would take as many searches.
double spreadTies(std::span<const double> costs, std::span<const double> prices, std::span<const float> gaps,
                  std::span<std::int64_t> excess, std::span<std::int32_t> labels);

// Moves all prices by one amount, which changes no row's preference, to where the lower bound they prove is
// best.
double levelPrices(std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                   std::size_t nRows, std::span<double> prices);

} // namespace konstrain::transport
