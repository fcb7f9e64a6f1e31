#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "row_pricer.h"

namespace konstrain::priced {

// Duals of rules by Newton steps on a smoothed Lagrangian dual, at temperatures that fall.
//
// The dual function is piecewise linear: each row adds its least reduced cost. Replacing that minimum by
// -T log sum_j exp(-reduced_j / T) makes it smooth and concave, and differs by at most T log k per row. Its
// gradient has sums over clusters in which a row takes shares that fall off exponentially with the reduced
// cost; its Hessian follows from the same shares. At temperature T only rows whose two least reduced costs
// are within a few T contribute to the Hessian, so all others are summed up once and left aside: as T falls,
// steps are taken over fewer and fewer rows. Whatever the duals, `priceAll` turns them into a valid bound.
class NewtonDuals {
public:
    NewtonDuals(const RuleProblem& problem, TimePoint deadline);

    // Raises the bound from these duals; `isWarm`: they are those of a similar problem. Returns the rows as
    // the duals found have them.
    PricedLabels find(std::span<double> duals, bool isWarm);

private:
    struct Shares {
        double value = 0.0;        // of the smoothed dual, but for a constant
        std::vector<double> sums;  // nClusters x nAmounts
        std::vector<double> slope; // of the sums: (nClusters nAmounts) squared
    };

    void findOnSample(std::span<double> duals);
    bool findNear(std::span<double> duals, const PricedLabels& rows, double count);
    bool cool(std::span<double> duals, double temperature, std::size_t fewest);
    bool converge(std::span<double> duals);
    void leaveAside(std::span<const double> duals, double reach);
    void measure(std::span<const double> duals, Shares& shares);
    void measureRow(std::size_t row, Shares& shares);
    bool direct(std::span<const double> duals, const Shares& shares);
    double medianGap(std::span<const double> duals);
    double excessOf(std::span<const double> sums) const;

    const RuleProblem& problem_;
    TimePoint deadline_;
    RulePricer pricer_;
    std::size_t nDuals_;
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
