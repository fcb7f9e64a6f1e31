#include "block_means.h"

#include <cassert>

#include "hardware.h"
#include "magnitude.h"
#include "multiversion.h"

namespace konstrain::kmeans {

namespace {

// Eight sums side by side: the compiler may not reorder one long sum, so it could not use vectors for it.
inline double laneSum(const double* a, const double* b, std::size_t n) {
    double sums[laneCount] = {};
    std::size_t i = 0;
    for (; i + laneCount <= n; i += laneCount)
        for (std::size_t lane = 0; lane != laneCount; ++lane) {
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
    return doubles_ != nullptr ? constraints::largestMagnitude(std::span(doubles_, n))
                               : constraints::largestMagnitude(std::span(floats_, n));
}

KONSTRAIN_MULTIVERSION
double squaredDistance(const double* a, const double* b, std::size_t nFeatures) {
    return laneSum(a, b, nFeatures);
}

void squaredDistances(const double* row, const double* centers, std::size_t nFeatures,
                      std::span<const std::size_t> chosen, double* out) {
    distancesToChosen(row, centers, nFeatures, chosen.data(), chosen.size(), out);
}

} // namespace konstrain::kmeans
