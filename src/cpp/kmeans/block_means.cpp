#include "block_means.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "multiversion.h"

namespace konstrain {

namespace {

constexpr std::size_t lanes = 8;

// Eight sums side by side: the compiler may not reorder one long sum, so it could not use vectors for it.
inline double laneSum(const double* a, const double* b, std::size_t n) {
    double sums[lanes] = {};
    std::size_t i = 0;
    for (; i + lanes <= n; i += lanes)
        for (std::size_t lane = 0; lane != lanes; ++lane) {
            const double difference = a[i + lane] - b[i + lane];
            sums[lane] += difference * difference;
        }
    double rest = 0.0;
    for (; i != n; ++i)
        rest += (a[i] - b[i]) * (a[i] - b[i]);
    const double low = (sums[0] + sums[4]) + (sums[2] + sums[6]);
    const double high = (sums[1] + sums[5]) + (sums[3] + sums[7]);
    return (low + high) + rest;
}

KONSTRAIN_MULTIVERSION
void distancesToChosen(const double* row, const double* centers, std::size_t n, const std::size_t* chosen,
                       std::size_t nChosen, double* out) {
    for (std::size_t i = 0; i != nChosen; ++i)
        out[i] = laneSum(row, centers + chosen[i] * n, n);
}

// A macro, because the compiler makes no clones of templates. Side by side for the same reason as above.
#define KONSTRAIN_LARGEST_OF(Value)                                                                          \
    KONSTRAIN_MULTIVERSION                                                                                   \
    double largestOf(const Value* values, std::size_t n) {                                                   \
        Value largest[lanes] = {};                                                                           \
        std::size_t i = 0;                                                                                   \
        for (; i + lanes <= n; i += lanes)                                                                   \
            for (std::size_t lane = 0; lane != lanes; ++lane)                                                \
                largest[lane] = std::max(largest[lane], std::abs(values[i + lane]));                         \
        for (; i != n; ++i)                                                                                  \
            largest[0] = std::max(largest[0], std::abs(values[i]));                                          \
        return static_cast<double>(*std::max_element(largest, largest + lanes));                             \
    }
KONSTRAIN_LARGEST_OF(float)
KONSTRAIN_LARGEST_OF(double)
#undef KONSTRAIN_LARGEST_OF

} // namespace

const double* BlockMeans::row(std::size_t block, std::span<double> buffer) const {
    assert(block < nBlocks_);
    if (doubles_ != nullptr)
        return doubles_ + block * nFeatures_;
    for (std::size_t i = 0; i != nFeatures_; ++i)
        buffer[i] = static_cast<double>(floats_[block * nFeatures_ + i]);
    return buffer.data();
}

double BlockMeans::largest() const {
    const std::size_t n = nBlocks_ * nFeatures_;
    return doubles_ != nullptr ? largestOf(doubles_, n) : largestOf(floats_, n);
}

KONSTRAIN_MULTIVERSION
double squaredDistance(const double* a, const double* b, std::size_t nFeatures) {
    return laneSum(a, b, nFeatures);
}

void squaredDistances(const double* row, const double* centers, std::size_t nFeatures,
                      std::span<const std::size_t> chosen, double* out) {
    distancesToChosen(row, centers, nFeatures, chosen.data(), chosen.size(), out);
}

} // namespace konstrain
