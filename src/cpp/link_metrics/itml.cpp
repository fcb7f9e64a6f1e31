#include "itml.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

namespace konstrain::link_metrics {

namespace {

// Bregman projections of information-theoretic metric learning (Davis et al. 2007, Algorithm 1): each link is
// a linear inequality on M, and the metric nearest to the prior in the LogDet divergence is found by
// projecting onto one after the other, with a multiplier per link that lets a projection take back what it
// added. A projection is a rank-one update M + b (M v)(M v)', O(d^2), and keeps M positive definite: 1 - b
// v'Mv stays positive because the step never exceeds what brings v'Mv to its goal.
class Projections {
public:
    Projections(std::span<double> metric, const LengthGoals& goals)
        : metric_(metric), goals_(goals), nFeatures_(goals.differences.size() / goals.size()),
          multiplier_(goals.size(), 0.0), goal_(goals.squaredLength.begin(), goals.squaredLength.end()),
          image_(nFeatures_) {
        assert(metric.size() == nFeatures_ * nFeatures_);
    }

    // One projection per link; returns the change of the multipliers relative to their sum.
    double sweep() {
        double change = 0.0;
        double total = 0.0;
        for (std::size_t link = 0; link != goals_.size(); ++link) {
            const double before = multiplier_[link];
            project(link);
            change += std::abs(multiplier_[link] - before);
            total += before + multiplier_[link];
        }
        return total > 0.0 ? change / total : 0.0;
    }

private:
    void project(std::size_t link) {
        const double squared = measure(goals_.differences.data() + link * nFeatures_);
        // Rows that are equal, in this metric, are so in every metric near it.
        if (!(squared > 0.0))
            return;
        const double sign = goals_.isShort[link] != 0 ? 1.0 : -1.0;
        const double price = goals_.slackPrice[link];
        const double wanted = sign * price / (price + 1.0) * (1.0 / squared - 1.0 / goal_[link]);
        const double step = std::min(multiplier_[link], wanted);
        multiplier_[link] -= step;
        goal_[link] = 1.0 / (1.0 / goal_[link] + sign * step / price);
        addImage(sign * step / (1.0 - sign * step * squared));
    }

    // Leaves M v in `image_` and returns v' M v.
    double measure(const double* difference) {
        double squared = 0.0;
        for (std::size_t row = 0; row != nFeatures_; ++row) {
            const double* entries = metric_.data() + row * nFeatures_;
            double sum = 0.0;
            for (std::size_t column = 0; column != nFeatures_; ++column)
                sum += entries[column] * difference[column];
            image_[row] = sum;
            squared += sum * difference[row];
        }
        return squared;
    }

    void addImage(double factor) {
        for (std::size_t row = 0; row != nFeatures_; ++row) {
            double* entries = metric_.data() + row * nFeatures_;
            const double scaled = factor * image_[row];
            for (std::size_t column = 0; column != nFeatures_; ++column)
                entries[column] += scaled * image_[column];
        }
    }

    std::span<double> metric_;
    const LengthGoals& goals_;
    std::size_t nFeatures_;
    std::vector<double> multiplier_;
    std::vector<double> goal_;
    std::vector<double> image_;
};

} // namespace

std::size_t learnByProjections(std::span<double> metric, const LengthGoals& goals, std::size_t maxSweeps,
                               double tolerance) {
    if (goals.size() == 0)
        return 0;
    Projections projections(metric, goals);
    std::size_t sweeps = 0;
    while (sweeps != maxSweeps) {
        ++sweeps;
        if (projections.sweep() <= tolerance)
            break;
    }
    return sweeps;
}

} // namespace konstrain::link_metrics
