#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace konstrain::link_metrics {

// Links as information-theoretic metric learning (Davis et al. 2007) sees them: the difference of the two
// rows, whether it should be short or long, the squared length aimed at, and how dear it is to miss.
struct LengthGoals {
    std::span<const double> differences; // one row per link
    std::span<const std::int8_t> isShort;
    std::span<const double> squaredLength;
    std::span<const double> slackPrice; // gamma of the paper; larger: closer to the goal

    [[nodiscard]] std::size_t size() const { return squaredLength.size(); }
};

// Bregman projections, link by link, from the metric given; changes it and returns how many sweeps were made.
// Ends when the multipliers change by less than `tolerance`, relative to their sum, or after `maxSweeps`.
std::size_t learnByProjections(std::span<double> metric, const LengthGoals& goals, std::size_t maxSweeps,
                               double tolerance);

} // namespace konstrain::link_metrics
