#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cluster_points.h"
#include "deadline.h"

namespace konstrain::exact {

// Clusters, with members in compressed rows.
struct ColumnSet {
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> members; // ascending within a column
    std::vector<double> cost;          // squared distances to the mean
    std::vector<double> reduced;       // cost less the duals of the members
    std::vector<double> centers;       // the means
};

// Numbered values in ascending order, sorted only as far as they are popped: a cluster is full long before
// the last candidate, and a heap is made in linear time.
class AscendingQueue {
public:
    using Item = std::pair<double, std::int32_t>;

    explicit AscendingQueue(std::vector<Item> items) : items_(std::move(items)) {
        std::ranges::make_heap(items_, std::greater{});
    }
    bool isEmpty() const { return items_.empty(); }
    Item pop() {
        std::ranges::pop_heap(items_, std::greater{});
        const Item item = items_.back();
        items_.pop_back();
        return item;
    }

private:
    std::vector<Item> items_;
};

// Clusters of low reduced cost: from each start the points of negative reduced distance, as far as sizes and
// conflicts allow, then their mean, in turn, until nothing changes. Returns each cluster once, those whose
// reduced cost is below `threshold`, at most `most` of them, least reduced cost first.
// Ends with those found by the deadline, one descent at least; `poll` is called now and then and may throw.
ColumnSet descendToColumns(const ClusterPoints& points, std::span<const double> duals,
                           std::span<const double> starts, double threshold, std::size_t most,
                           TimePoint deadline, const std::function<void()>& poll);

// A cluster that was filled at a center.
struct Filling {
    double demand;
    double value; // sum of reduced distances; infinite when `sizeMin` was not reached
    double
        multiplier; // of sizes: added to the reduced distance per unit of demand, it leaves the cluster full
};

// Fills a cluster with candidates, least reduced distance per unit of demand first, as far as sizes and
// conflicts allow. `isMember` marks what is in the cluster, before and after; `demand` is that of the points
// which are in it before.
Filling fillCluster(const ClusterPoints& points, std::span<const double> reduced,
                    std::span<const std::int32_t> candidates, double demand, std::vector<char>& isMember);

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
