#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "infinity.h"

namespace konstrain::transport {

// A view of the rows that may change their cluster, and what is known about those that are not among them.
struct CoreView {
    std::span<const double> costs;        // row-major, one row per core row
    std::span<const std::int32_t> labels; // at the start
    // A row of cluster p outside the core costs more than `margin + duals[p] - duals[q]` to move to q.
    // Infinite when every row is in the core.
    double margin;
    std::span<const double> duals;
};

// Clusters as nodes; the arc p -> q weighs what it costs to move the cheapest row of p to q. Each arc keeps a
// short sorted list of its cheapest rows, so that a departure rarely means looking at all rows of p again.
//
// Lists are completed only on demand. An arc without a known row carries a lower bound instead of a weight:
// either of rows not looked at yet (`refill` finds them), or of rows outside the core (nothing finds them).
class ClusterGraph {
public:
    // In place of a row: the arc carries a bound of rows outside the reduced problem, or of rows of the list
    // that `refill` would find.
    static constexpr std::int32_t outsideCore = none;
    static constexpr std::int32_t notLookedUp = none - 1;

    ClusterGraph(const CoreView& core, std::size_t nClusters, std::size_t listLength);

    std::size_t nClusters() const { return nClusters_; }
    std::size_t stride() const { return stride_; }
    std::span<const std::int32_t> labels() const { return labels_; }

    // Weights (or lower bounds) of the arcs out of a node; infinite where there is no arc.
    double* weights(std::size_t node) { return weights_.data() + node * stride_; }
    // The row that moves along an arc, or one of the two constants above.
    std::int32_t row(std::size_t from, std::size_t to) const { return rows_[from * stride_ + to]; }

    // Fills the lists of a cluster when it is visited for the first time.
    void build(std::size_t cluster);
    // Targets of the arcs out of `cluster` that carry bounds `refill` could replace.
    std::span<const std::int32_t> boundedTargets(std::size_t cluster);
    // Completes the lists of the given arcs out of `cluster`.
    void refill(std::size_t cluster, std::span<const std::int32_t> targets);
    void move(std::int32_t row, std::size_t to);

private:
    struct ArcRow {
        double key;
        std::int32_t row;
    };

    const double* costsOf(std::int32_t row) const {
        return costs_.data() + static_cast<std::size_t>(row) * nClusters_;
    }
    void offer(std::size_t arc, double key, std::int32_t row);
    // Returns the clusters whose lists changed.
    std::span<const std::int32_t> offerToAll(std::size_t cluster, std::int32_t row);
    void dropStaleHead(std::size_t cluster, std::size_t arc);
    void showHead(std::size_t cluster, std::size_t arc);
    double outsideBound(std::size_t from, std::size_t to) const;

    std::span<const double> costs_;
    std::size_t nClusters_;
    std::size_t stride_;
    std::size_t listLength_;
    double margin_;
    std::vector<double> startDuals_;
    std::vector<std::int32_t> labels_;
    std::vector<std::vector<std::int32_t>> members_;
    std::vector<std::int32_t> position_;             // of each row among the members of its cluster
    std::vector<std::uint8_t> built_;                // per cluster
    std::vector<std::vector<std::int32_t>> bounded_; // per cluster; may hold arcs whose row is known by now
    // Per arc, `stride_` arcs per cluster:
    std::vector<double> weights_;
    std::vector<std::int32_t> rows_;
    std::vector<double> complete_; // the list holds every row with a smaller key
    std::vector<std::int32_t> length_;
    std::vector<std::uint8_t> isBounded_; // whether the arc stands in `bounded_`
    std::vector<ArcRow> entries_;         // `listLength_` per arc, descending: the cheapest row comes last
    std::vector<std::int32_t> found_;     // scratch
};

} // namespace konstrain::transport
