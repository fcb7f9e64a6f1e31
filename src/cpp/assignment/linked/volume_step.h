#pragma once

#include <algorithm>
#include <cmath>

#include "infinity.h"

namespace konstrain {

// Step lengths of Barahona and Anbil's volume algorithm (2000): every step starts at the best prices so far
// and follows the average of the directions seen, recent ones counting more. The factors by which the length
// grows and shrinks are theirs; they wait for 20 failures, but make thousands of steps where we make at most
// hundreds.
class VolumeStep {
public:
    explicit VolumeStep(double length) : length_(length) {}

    // A step raised the bound; `along` is how much further the old direction would still have led upwards.
    void succeed(double along) {
        failures_ = 0;
        if (along > 0.0)
            length_ = std::min(longest, growth * length_);
    }

    void fail() {
        if (++failures_ == patience) {
            length_ *= shrinkage;
            failures_ = 0;
        }
    }

    // How far to go along a direction of this squared length towards a cost that the bound is not expected to
    // exceed; while none is known, the step aims a share above the bound.
    double towards(double target, double bound, double norm) const {
        const double goal = target < infinity ? target : bound + aim * std::abs(bound);
        return length_ * (goal - bound) / norm;
    }

    // Whether a direction of this squared length is more than rounding; else the prices are best.
    static bool leads(double norm) { return norm > 1e-14; }

private:
    static constexpr int patience = 5;
    static constexpr double growth = 1.1;
    static constexpr double longest = 2.0; // beyond this no step is sure to come nearer to the best prices
    static constexpr double shrinkage = 0.66;
    static constexpr double aim = 0.05;

    double length_;
    int failures_ = 0;
};

} // namespace konstrain
