#include "costs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "chunks.h"
#include "multiversion.h"

namespace konstrain::search {

namespace {

// Blocks that a pass handles at a time: their costs stay in the cache.
constexpr std::size_t chunk = kmeans::rowsPerChunk;
constexpr double infinity = std::numeric_limits<double>::infinity();

KONSTRAIN_MULTIVERSION void addSquares(const double* values, std::size_t n, double center, double* sums) {
    for (std::size_t i = 0; i != n; ++i)
        sums[i] += (values[i] - center) * (values[i] - center);
}

KONSTRAIN_MULTIVERSION void multiply(const double* factors, std::size_t n, double* values) {
    for (std::size_t i = 0; i != n; ++i)
        values[i] *= factors[i];
}

KONSTRAIN_MULTIVERSION void addScaled(const double* values, std::size_t n, double factor, double* sums) {
    for (std::size_t i = 0; i != n; ++i)
        sums[i] += factor * values[i];
}

} // namespace

KONSTRAIN_MULTIVERSION void distancesToPacked(const double* point, std::span<const double> packed,
                                              std::size_t nFeatures, std::size_t n, double* distances) {
    for (std::size_t j = 0; j != n; ++j)
        distances[j] = 0.0;
    for (std::size_t t = 0; t != nFeatures; ++t) {
        const double value = point[t];
        const double* column = packed.data() + t * n;
        for (std::size_t j = 0; j != n; ++j)
            distances[j] += (value - column[j]) * (value - column[j]);
    }
}

KONSTRAIN_MULTIVERSION void lowerTo(const double* values, std::size_t n, std::int32_t label, double* least,
                                    std::int32_t* labels) {
    for (std::size_t i = 0; i != n; ++i) {
        const bool isLower = values[i] < least[i];
        labels[i] = isLower ? label : labels[i];
        least[i] = isLower ? values[i] : least[i];
    }
}

Costs::Costs(const Problem& problem)
    : problem_(problem), byFeature_(problem.means.size()), costs_(problem.nBlocks * problem.nClusters),
      hasMoved_(problem.nClusters, 1) {
    for (std::size_t block = 0; block != problem.nBlocks; ++block)
        for (std::size_t t = 0; t != problem.nFeatures; ++t)
            byFeature_[t * problem.nBlocks + block] = problem.mean(block)[t];
}

Costs::Costs(const Problem& problem, std::span<const double> given)
    : problem_(problem), costs_(given.size()) {
    for (std::size_t block = 0; block != problem.nBlocks; ++block)
        for (std::size_t j = 0; j != problem.nClusters; ++j)
            costs_[j * problem.nBlocks + block] = given[block * problem.nClusters + j];
}

double Costs::refresh(std::span<const double> centers) {
    if (problem_.nFeatures == 0)
        return 0.0; // given, and the same at all centers
    const std::size_t n = problem_.nBlocks, nFeatures = problem_.nFeatures;
    std::vector<std::size_t> moved;
    for (std::size_t j = 0; j != problem_.nClusters; ++j) {
        const auto now = centers.subspan(j * nFeatures, nFeatures);
        if (centers_.empty() ||
            !std::ranges::equal(now, std::span(centers_).subspan(j * nFeatures, nFeatures)))
            moved.push_back(j);
    }
    for (const std::size_t j : moved)
        hasMoved_[j] = 1;
    centers_.assign(centers.begin(), centers.end());
    for (std::size_t first = 0; first < n; first += chunk) {
        const std::size_t length = std::min(chunk, n - first);
        for (const std::size_t j : moved) {
            double* costs = costs_.data() + j * n + first;
            std::fill_n(costs, length, 0.0);
            for (std::size_t t = 0; t != nFeatures; ++t)
                addSquares(byFeature_.data() + t * n + first, length, centers[j * nFeatures + t], costs);
            multiply(problem_.weight.data() + first, length, costs);
            for (std::size_t i = 0; i != length && problem_.hasHomes(); ++i)
                costs[i] += problem_.moveCost(first + i, j);
        }
    }
    return static_cast<double>(n * moved.size()) * static_cast<double>(nFeatures + 2);
}

void Costs::addCharges(std::span<const double> duals, std::size_t cluster, std::size_t first,
                       std::size_t last, double* reduced) const {
    const std::size_t length = last - first;
    std::copy_n(column(cluster) + first, length, reduced);
    for (std::size_t rule = 0; rule != problem_.nRules; ++rule) {
        const double dual = duals[cluster * problem_.nRules + rule];
        if (dual != 0.0)
            addScaled(problem_.amountsByRule.data() + rule * problem_.nBlocks + first, length, dual, reduced);
    }
}

double Costs::findCheapest(std::span<const double> duals, std::span<double> least,
                           std::span<std::int32_t> labels) {
    if (problem_.nRules == 0) {
        const double work = findNearest();
        std::ranges::copy(least_, least.begin());
        std::ranges::copy(nearest_, labels.begin());
        return work;
    }
    std::array<double, chunk> reduced;
    std::ranges::fill(least, infinity);
    std::ranges::fill(labels, 0);
    for (std::size_t first = 0; first < problem_.nBlocks; first += chunk) {
        const std::size_t last = std::min(first + chunk, problem_.nBlocks);
        for (std::size_t j = 0; j != problem_.nClusters; ++j) {
            addCharges(duals, j, first, last, reduced.data());
            lowerTo(reduced.data(), last - first, static_cast<std::int32_t>(j), least.data() + first,
                    labels.data() + first);
        }
    }
    return static_cast<double>(problem_.nBlocks * problem_.nClusters) *
           (static_cast<double>(problem_.nRules) + 1.5);
}

// Compares only with centers that have moved. A block whose own center has come no farther away needs no
// more: to centers that stayed it is as far as before, which was no nearer. Blocks whose own center has
// moved away are compared with all. A relocated center moves few others, so that this takes a share of the
// n k comparisons.
double Costs::findNearest() {
    const std::size_t n = problem_.nBlocks, k = problem_.nClusters;
    if (nearest_.empty()) {
        nearest_.resize(n);
        least_.assign(n, infinity);
    }
    std::vector<std::size_t> left;
    for (std::size_t block = 0; block != n; ++block) {
        const auto own = static_cast<std::size_t>(nearest_[block]);
        if (!hasMoved_[own])
            continue;
        const double cost = at(block, own);
        if (cost > least_[block])
            left.push_back(block);
        least_[block] = cost;
    }
    std::size_t nMoved = 0;
    for (std::size_t j = 0; j != k; ++j)
        nMoved += static_cast<std::size_t>(hasMoved_[j]);
    for (std::size_t first = 0; first < n; first += chunk)
        for (std::size_t j = 0; j != k; ++j)
            if (hasMoved_[j])
                lowerTo(column(j) + first, std::min(chunk, n - first), static_cast<std::int32_t>(j),
                        least_.data() + first, nearest_.data() + first);
    if (nMoved != k)
        for (const std::size_t block : left)
            for (std::size_t j = 0; j != k; ++j)
                if (!hasMoved_[j] && at(block, j) < least_[block]) {
                    least_[block] = at(block, j);
                    nearest_[block] = static_cast<std::int32_t>(j);
                }
    std::ranges::fill(hasMoved_, 0);
    // Ten for what the loop does once per block.
    return 10.0 * static_cast<double>(n) + 1.5 * static_cast<double>(n * nMoved + left.size() * (k - nMoved));
}

} // namespace konstrain::search
