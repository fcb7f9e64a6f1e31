#pragma once

#include <span>

namespace konstrain::constraints {

// The largest magnitude of all values, 0 of none; infinite or NaN as soon as one of them is.
double largestMagnitude(std::span<const double> values);
double largestMagnitude(std::span<const float> values);

} // namespace konstrain::constraints
