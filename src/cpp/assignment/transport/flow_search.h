#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cluster_graph.h"
#include "deadline.h"

namespace konstrain::transport {

// One search serves this share of all shortages, one in this many; larger: searches end sooner, and there are
// more of them.
inline constexpr std::size_t shortagesPerSearch = 4;

// Brings the sizes of clusters into their bounds along cheapest paths: successive shortest paths on duals
// that keep reduced costs from going negative (Edmonds and Karp 1972).
//
// Clusters and one sink are the nodes of a flow: rows enter their cluster, and what a cluster passes on to
// the sink lies between its bounds. A cluster that holds more rows than it passes on has an excess; each step
// finds the cheapest path from an excess to a shortage and moves one row along each of its arcs. Duals stay
// such that no move gains anything, so the rows end at least total cost.
class FlowSearch {
public:
    enum class Status {
        Balanced,    // every size within its bounds
        LeftTheCore, // the next move may be one of a row outside the core; duals have improved
        OutOfTime,
        NoWayOn, // costs so large that their differences are infinite
    };

    // `duals` holds one value per cluster and must make each row's label its cheapest one. `sizes` counts
    // all rows, inside the core and outside.
    FlowSearch(ClusterGraph& graph, std::span<const double> duals, std::span<const std::int64_t> sizes,
               std::span<const std::int64_t> lower, std::span<const std::int64_t> upper);

    Status run(TimePoint deadline);

    // The sink's dual is zero; a cluster strictly between its bounds has dual zero, exactly.
    std::vector<double> duals() const;

private:
    std::size_t sink() const { return graph_.nClusters(); }
    // Closes nodes in order of their distance from the nearest excess until enough shortages are closed.
    void findShortages();
    void refillUsefulArcs(std::size_t from);
    // Keeps reduced costs from going negative and makes those of all paths up to `last` zero.
    void raiseDuals(std::size_t last);
    // False when an arc of the path has no known row and `refill` cannot find one, or was part of an earlier
    // path.
    bool moveAlongPath(std::size_t target);
    void pass(std::size_t from, std::size_t to, std::int64_t amount);
    void openSinkArcs(std::size_t cluster);

    ClusterGraph& graph_;
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::vector<std::int64_t> passed_;   // from each cluster to the sink
    std::vector<std::int64_t> excess_;   // per node; negative: shortage
    std::vector<std::size_t> shortages_; // nodes with one
    std::vector<double> duals_;
    std::vector<double> distance_;
    std::vector<double> open_; // the distance of nodes that are not closed yet, infinite for others
    std::vector<std::int64_t> parent_;
    std::vector<std::size_t> closed_;
    std::vector<std::size_t> found_;     // shortages among the closed nodes
    std::vector<std::uint8_t> onPath_;   // per node, in this step
    std::vector<std::int32_t> refilled_; // scratch
};

// What each cluster passes on to the sink at the start: the bound its dual pushes it to.
std::int64_t startFlow(double dual, std::int64_t size, std::int64_t lower, std::int64_t upper);

// By how much sizes miss what duals ask for: the number of steps `FlowSearch` will take.
std::int64_t totalExcess(std::span<const double> duals, std::span<const std::int64_t> sizes,
                         std::span<const std::int64_t> lower, std::span<const std::int64_t> upper);

} // namespace konstrain::transport
