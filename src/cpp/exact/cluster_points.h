#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::exact {

// Weighted points, and what a cluster of them may hold: a total demand between `sizeMin` and `sizeMax`, and
// no two points in conflict. The reduced cost of a cluster S at some duals is
//     min over centers c of  sum_{i in S} g_i(c),   g_i(c) = weight_i |x_i - c|^2 - dual_i.
class ClusterPoints {
public:
    // `points`: rows of nFeatures values; conflicts as a symmetric graph in compressed rows.
    ClusterPoints(std::span<const double> points, std::size_t nFeatures, std::span<const double> weight,
                  std::span<const double> demand, double sizeMin, double sizeMax,
                  std::span<const std::int64_t> indptr, std::span<const std::int32_t> indices);

    std::size_t size() const { return weight_.size(); }
    std::size_t nFeatures() const { return nFeatures_; }
    const double* point(std::size_t i) const { return points_.data() + i * nFeatures_; }
    double weight(std::size_t i) const { return weight_[i]; }
    double squaredNorm(std::size_t i) const { return squaredNorm_[i]; }
    double demand(std::size_t i) const { return demand_[i]; }
    double sizeMin() const { return sizeMin_; }
    double sizeMax() const { return sizeMax_; }
    bool hasSizes() const { return hasSizes_; }
    bool hasConflicts() const { return !indices_.empty(); }
    bool isFree() const { return !hasSizes_ && !hasConflicts(); }
    std::span<const std::int32_t> conflicts(std::size_t i) const;
    // Cliques of the conflict graph that cover all its edges, and the cliques that hold a point.
    const std::vector<std::vector<std::int32_t>>& cliques() const { return cliques_; }
    const std::vector<std::int32_t>& cliquesOf(std::size_t i) const { return cliquesOf_[i]; }

    // g_i(c) at a center.
    double reducedDistance(std::size_t i, std::span<const double> center,
                           std::span<const double> duals) const {
        const double* x = point(i);
        double squared = 0.0;
        for (std::size_t a = 0; a != nFeatures_; ++a)
            squared += (x[a] - center[a]) * (x[a] - center[a]);
        return weight_[i] * squared - duals[i];
    }

    // Order in which points fill a cluster: least reduced distance per unit of demand first.
    double ratio(std::size_t i, double reduced) const;

private:
    void coverConflictsByCliques();

    std::size_t nFeatures_;
    std::vector<double> points_;
    std::vector<double> weight_;
    std::vector<double> squaredNorm_;
    std::vector<double> demand_;
    double sizeMin_;
    double sizeMax_;
    bool hasSizes_;
    std::vector<std::int64_t> indptr_;
    std::vector<std::int32_t> indices_;
    std::vector<std::vector<std::int32_t>> cliques_;
    std::vector<std::vector<std::int32_t>> cliquesOf_;
};

} // namespace konstrain::exact
