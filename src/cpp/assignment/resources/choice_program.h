#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"

namespace konstrain {

// Rows take shares of their choices that add up to one, at least cost, while what clusters hold of each rule
// stays within bounds.
struct ChoiceProgram {
    std::size_t nRules;
    std::span<const std::int32_t> first;   // choice of each row, and after the last the number of choices
    std::span<const std::int32_t> cluster; // of each choice
    std::span<const double> cost;          // of each choice
    std::span<const double> held;          // nRows x nRules
    std::span<const double> low;           // nClusters x nRules, infinite where nothing is asked
    std::span<const double> high;

    std::size_t nRows() const { return first.size() - 1; }
    std::size_t begin(std::size_t row) const { return static_cast<std::size_t>(first[row]); }
    std::size_t end(std::size_t row) const { return static_cast<std::size_t>(first[row + 1]); }
    // The first sum that a choice adds to.
    std::size_t sumOf(std::size_t choice) const { return static_cast<std::size_t>(cluster[choice]) * nRules; }
};

// The linear program by an interior point method with predictor and corrector (Mehrotra, SIAM J. Optim. 2,
// 1992). The equations of a step are solved for the prices of the rules alone, of which there are few: those
// of the rows, one each, are eliminated. Missing a bound is allowed at the highest price there may be, so
// that there always is a solution.
class InteriorPoint {
public:
    // Begins near these prices, which are below the dearest there may be.
    InteriorPoint(const ChoiceProgram& program, std::span<const double> prices, double dearest);

    // The least cost up to `enough`, and its prices: above zero where a cluster is full.
    double solve(double enough, TimePoint deadline, std::span<double> prices);
    // What rows take of each choice.
    double shareOf(std::size_t choice) const { return choices_[choice].amount; }

private:
    // What may not become negative, and what one more of it would cost. Of a solution one of both is zero.
    struct Pair {
        double amount = 0.0;
        double cost = 0.0;
        double amountStep = 0.0;
        double costStep = 0.0;
        double wanted = 0.0; // change of the product

        double ease() const { return amount / cost; }
        void stepAtCost(double change) {
            costStep = change;
            amountStep = (wanted - amount * change) / cost;
        }
        void stepAtAmount(double change) {
            amountStep = change;
            costStep = (wanted - cost * change) / amount;
        }
    };
    // What a cluster holds of a rule.
    struct Sum {
        double low;
        double high;
        double value = 0.0;
        double worth = 0.0; // of one more: a price with the opposite sign
        double valueStep = 0.0;
        double worthStep = 0.0;
        double missed = 0.0;
        Pair below{}; // how far the value is from its bounds
        Pair above{};
        Pair lack{}; // how far a bound is missed
        Pair surplus{};

        bool isFree() const;
        bool isFixed() const;
        bool hasLow() const;
        bool hasHigh() const;
        void begin(double unit, double dearest);
        double ease() const;
        double push() const;
        void step(double change);
    };

    double regret(std::size_t row, std::size_t choice) const;
    double meanRegret() const;
    void beginRow(std::size_t row);
    template <typename Visit> void forEachPair(Visit visit);
    double meanProduct(double amountStep, double costStep);
    void measure();
    double missed() const;
    void factorizeStep();
    void want(double product, bool isCorrecting);
    bool direct();
    double longest(double Pair::* now, double Pair::* step);
    void go(double amountStep, double costStep);
    double cost() const;

    const ChoiceProgram& program_;
    double dearest_;
    double unit_ = 0.0; // of costs
    std::vector<Sum> sums_;
    std::vector<Pair> choices_;
    std::vector<double> rowMissed_; // what the shares of each row lack to one
    std::vector<double> rowEase_;
    std::vector<double> matrix_;
    std::vector<double> side_;
};

} // namespace konstrain
