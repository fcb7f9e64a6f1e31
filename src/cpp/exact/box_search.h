#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "cluster_points.h"
#include "column_descent.h"
#include "deadline.h"

namespace konstrain::exact {

struct BoxLimits {
    double incumbent;         // reduced cost of a known cluster, or zero
    double tolerance;         // boxes whose bound lies at most this far below the incumbent are closed
    double gatherBelow;       // centers with a smaller reduced cost are returned
    std::size_t mostGathered; // most of them
    std::int64_t boxes;
    std::size_t bytes; // of memory for open boxes
    TimePoint deadline;
    std::function<void()> poll; // called now and then; may throw to stop
};

struct BoxBound {
    double bound;        // no cluster has a reduced cost below this, nor below zero; safe against rounding
    double incumbent;    // the least reduced cost that was seen
    bool finished;       // no limit ended the search
    std::int64_t nBoxes; // boxes that were bounded
    std::vector<double> centers; // gathered centers
    ColumnSet columns;           // gathered clusters of boxes that were divided by points
};

// Bounds the reduced cost of every cluster from below, by branch and bound over boxes that hold its center,
// least bound first. In a box the reduced distance of a point lies in a range. Where the range is positive
// the point is out, where it is negative the point is in; both hold in all smaller boxes. In between, min(0,
// g) lies above its chord, which is again a quadratic in the center, so that the bound of a box is the
// minimum of one separable quadratic. Sizes and conflicts enter through multipliers that are chosen per box:
// any of them gives a valid bound. Where these leave a gap, a box is divided by whether a point is in the
// cluster.
BoxBound searchBoxes(const ClusterPoints& points, std::span<const double> duals, const BoxLimits& limits);

} // namespace konstrain::exact
