#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "problem.h"

namespace konstrain::search {

// Squared distances of a point to points whose coordinates are packed feature by feature: `packed[t * n +
// j]`.
void distancesToPacked(const double* point, std::span<const double> packed, std::size_t nFeatures,
                       std::size_t n, double* distances);

// Cost of each block in each cluster: its weight times the squared distance of its mean to the center, and
// what its rows cost that were elsewhere. A
// cluster's costs are contiguous, so that passes over all blocks use vector instructions; those of centers
// that have not moved since the last call are kept.
class Costs {
public:
    explicit Costs(const Problem& problem);
    // Costs (row-major) that are given, for blocks without features.
    Costs(const Problem& problem, std::span<const double> given);

    // Brings all costs to these centers and returns the multiply-adds this took.
    double refresh(std::span<const double> centers);
    const double* column(std::size_t cluster) const { return costs_.data() + cluster * problem_.nBlocks; }
    double at(std::size_t block, std::size_t cluster) const { return column(cluster)[block]; }

    // The cheapest cluster of each block at the duals (nClusters x nRules) of the rules, and its reduced
    // cost. Returns the multiply-adds this took.
    double findCheapest(std::span<const double> duals, std::span<double> least,
                        std::span<std::int32_t> labels);
    // The costs of one cluster plus what its duals charge.
    void addCharges(std::span<const double> duals, std::size_t cluster, std::size_t first, std::size_t last,
                    double* reduced) const;

private:
    double findNearest();

    const Problem& problem_;
    std::vector<double> byFeature_; // nFeatures x nBlocks: the means
    std::vector<double> costs_;     // nClusters x nBlocks
    std::vector<double> centers_;   // of the costs; empty before the first call
    // Without rules: the cheapest cluster of each block and its cost when they were last computed, and the
    // clusters whose centers have moved since.
    std::vector<std::int32_t> nearest_;
    std::vector<double> least_;
    std::vector<char> hasMoved_;
};

// Lowers `least` to `values` where these are below, and sets the labels there.
void lowerTo(const double* values, std::size_t n, std::int32_t label, double* least, std::int32_t* labels);

} // namespace konstrain::search
