#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cluster_points.h"

namespace konstrain::exact {

// Clusters, with members in compressed rows.
struct ColumnSet {
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> members; // ascending within a column
    std::vector<double> cost;          // squared distances to the mean
    std::vector<double> reduced;       // cost less the duals of the members
    std::vector<double> centers;       // the means
};

// Clusters of low reduced cost: from each start the points of negative reduced distance, as far as sizes and
// conflicts allow, then their mean, in turn, until nothing changes. Returns each cluster once, those whose
// reduced cost is below `threshold`, at most `most` of them, least reduced cost first.
ColumnSet descendToColumns(const ClusterPoints& points, std::span<const double> duals,
                           std::span<const double> starts, double threshold, std::size_t most);

// A choice of points that a cluster must, and must not, hold.
struct Fixed {
    std::vector<std::int32_t> in;
    std::vector<std::int32_t> out;

    bool isEmpty() const { return in.empty() && out.empty(); }
};

// The points of least reduced distance at a center that may form a cluster, chosen greedily; empty when sizes
// cannot be kept that way. `reduced` receives the reduced distances of all points.
void chooseMembers(const ClusterPoints& points, std::span<const double> duals, std::span<const double> center,
                   const Fixed& fixed, std::vector<double>& reduced, std::vector<std::int32_t>& members);

// Adds a cluster with its mean, unless its reduced cost is not below the threshold.
void addColumn(const ClusterPoints& points, std::span<const double> duals,
               std::span<const std::int32_t> members, double threshold, ColumnSet& columns);

} // namespace konstrain::exact
