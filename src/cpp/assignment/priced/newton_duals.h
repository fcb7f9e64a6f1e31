#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "row_pricer.h"

namespace konstrain::priced {

// Prices of rules by Newton steps on a smoothed dual, at temperatures that fall.
//
// A row takes shares of clusters that fall off exponentially with the priced cost, so that sums over clusters
// become smooth functions of the prices. Only rows that stand between clusters at the temperature in force
// are looked at again: as it falls these become few, and in the end a handful of rows decides the last
// digits.
class NewtonDuals {
public:
    NewtonDuals(const RuleProblem& problem, TimePoint deadline);

    // Raises the bound from these prices; `isWarm`: they are those of a similar problem. Returns the rows as
    // the prices found have them.
    PricedRows find(std::span<double> prices, bool isWarm);

private:
    struct Shares {
        double value = 0.0;        // of the smoothed dual, but for a constant
        std::vector<double> sums;  // nClusters x nAmounts
        std::vector<double> slope; // of the sums: (nClusters nAmounts) squared
    };

    void findOnSample(std::span<double> prices);
    bool findNear(std::span<double> prices, const PricedRows& rows, double count);
    bool cool(std::span<double> prices, double temperature, std::size_t fewest);
    bool settle(std::span<double> prices);
    void narrow(std::span<const double> prices, double reach);
    void measure(std::span<const double> prices, Shares& shares);
    void measureRow(std::size_t row, Shares& shares);
    bool direct(std::span<const double> prices, const Shares& shares);
    double medianGap(std::span<const double> prices);
    double excessOf(std::span<const double> sums) const;

    const RuleProblem& problem_;
    TimePoint deadline_;
    RowPricer pricer_;
    std::size_t nPrices_;
    double temperature_ = 0.0;
    std::vector<double> low_; // of the rows that are looked at
    std::vector<double> high_;
    std::vector<std::uint32_t> near_;
    std::vector<double> base_; // sums of all other rows
    std::vector<double> priced_;
    std::vector<std::pair<std::size_t, double>> taking_; // clusters that a row takes shares of
    std::vector<std::size_t> counting_;                  // amounts of a row that are not zero
    std::vector<std::pair<std::size_t, double>> held_;   // what a row adds to which sums
    Shares now_;
    Shares next_;
    std::vector<double> direction_;
    std::vector<double> trial_;
    std::vector<std::size_t> active_;
    std::vector<double> matrix_;
    std::vector<double> wanted_;
};

} // namespace konstrain::priced
