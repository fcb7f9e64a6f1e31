#include "flow_search.h"

#include <algorithm>
#include <cassert>

namespace konstrain::transport {

// What the kernel works on; every array is `stride` long.
struct SearchArrays {
    std::size_t stride;
    const double* duals;
    double* distance;
    double* open;
    std::int64_t* parent;
};

} // namespace konstrain::transport

#define KONSTRAIN_KERNELS "flow_search_kernel.h"
#include "for_each_target.h"

namespace konstrain::transport {

namespace {

const auto relax = KONSTRAIN_PICK(relax);

} // namespace

std::int64_t startFlow(double dual, std::int64_t size, std::int64_t lower, std::int64_t upper) {
    if (dual > 0.0)
        return upper;
    return dual < 0.0 ? lower : std::clamp(size, lower, upper);
}

std::int64_t totalExcess(std::span<const double> duals, std::span<const std::int64_t> sizes,
                         std::span<const std::int64_t> lower, std::span<const std::int64_t> upper) {
    std::int64_t total = 0;
    std::int64_t atSink = 0;
    for (std::size_t j = 0; j != sizes.size(); ++j) {
        const std::int64_t excess = sizes[j] - startFlow(duals[j], sizes[j], lower[j], upper[j]);
        total += std::max<std::int64_t>(excess, 0);
        atSink -= excess;
    }
    return total + std::max<std::int64_t>(atSink, 0);
}

FlowSearch::FlowSearch(ClusterGraph& graph, std::span<const double> duals,
                       std::span<const std::int64_t> sizes, std::span<const std::int64_t> lower,
                       std::span<const std::int64_t> upper)
    : graph_(graph), lower_(lower), upper_(upper), passed_(sizes.size()), excess_(sizes.size() + 1, 0),
      duals_(graph.stride(), 0.0), distance_(graph.stride()), open_(graph.stride()), parent_(graph.stride()),
      onPath_(graph.stride(), 0) {
    std::copy(duals.begin(), duals.end(), duals_.begin());
    for (std::size_t j = 0; j != sizes.size(); ++j) {
        passed_[j] = startFlow(duals[j], sizes[j], lower[j], upper[j]);
        excess_[j] = sizes[j] - passed_[j];
        excess_[sink()] -= excess_[j];
        openSinkArcs(j);
    }
    for (std::size_t node = 0; node != excess_.size(); ++node)
        if (excess_[node] < 0)
            shortages_.push_back(node);
    closed_.reserve(sizes.size() + 1);
    refilled_.reserve(sizes.size());
}

FlowSearch::Status FlowSearch::run(TimePoint deadline) {
    const auto isExcess = [](std::int64_t excess) { return excess > 0; };
    PolledDeadline clock(deadline);
    while (std::any_of(excess_.begin(), excess_.end(), isExcess)) {
        if (clock.isPast())
            return Status::OutOfTime;
        findShortages();
        if (found_.empty())
            return Status::NoWayOn;
        raiseDuals(found_.back());
        // Paths that touch an earlier one wait: its rows have moved, so their arcs may have changed.
        std::fill(onPath_.begin(), onPath_.end(), 0);
        bool progress = false;
        for (const std::size_t target : found_)
            progress |= moveAlongPath(target);
        if (!progress)
            return Status::LeftTheCore;
    }
    return Status::Balanced;
}

std::vector<double> FlowSearch::duals() const {
    std::vector<double> result(graph_.nClusters());
    for (std::size_t j = 0; j != result.size(); ++j) {
        result[j] = duals_[j] - duals_[sink()];
        // Rounding must not push the next call's flow to the wrong bound.
        if (passed_[j] > lower_[j])
            result[j] = std::max(result[j], 0.0);
        if (passed_[j] < upper_[j])
            result[j] = std::min(result[j], 0.0);
    }
    return result;
}

// Dijkstra's search over reduced costs, from all nodes with an excess at once. A dense array takes the place
// of a heap: the graph is complete, so each closed node relaxes all others anyway, and one pass in vectors
// relaxes and finds the next node, O(k) per node and O(k^2) per search.
void FlowSearch::findShortages() {
    std::fill(distance_.begin(), distance_.end(), infinity);
    std::fill(open_.begin(), open_.end(), infinity);
    closed_.clear();
    found_.clear();
    const SearchArrays search{graph_.stride(), duals_.data(), distance_.data(), open_.data(), parent_.data()};
    std::int64_t node = -1;
    for (std::size_t source = excess_.size(); source-- != 0;)
        if (excess_[source] > 0) {
            distance_[source] = 0.0;
            open_[source] = 0.0;
            parent_[source] = static_cast<std::int64_t>(source);
            node = static_cast<std::int64_t>(source);
        }
    const std::size_t nWanted = std::max<std::size_t>(1, shortages_.size() / shortagesPerSearch);
    while (node >= 0) {
        const auto from = static_cast<std::size_t>(node);
        open_[from] = infinity;
        closed_.push_back(from);
        if (excess_[from] < 0) {
            found_.push_back(from);
            if (found_.size() == nWanted)
                return;
        }
        if (from != sink()) {
            graph_.build(from);
            refillUsefulArcs(from);
        }
        node = relax(search, graph_.weights(from), node);
    }
}

// An arc without a known row carries a lower bound of its weight. Only where even that bound would shorten
// the distance of its end does the true weight matter: A* with lazy evaluation of arcs.
void FlowSearch::refillUsefulArcs(std::size_t from) {
    const std::span<const std::int32_t> targets = graph_.boundedTargets(from);
    if (targets.empty())
        return;
    const double* weights = graph_.weights(from);
    const auto reach = [&](std::size_t to) {
        return distance_[from] + std::max(0.0, weights[to] + duals_[to] - duals_[from]);
    };
    refilled_.clear();
    for (const std::int32_t to : targets)
        if (reach(static_cast<std::size_t>(to)) < distance_[static_cast<std::size_t>(to)])
            refilled_.push_back(to);
    if (!refilled_.empty())
        graph_.refill(from, refilled_);
}

// For nodes closed at distance d(v) <= D, adding D - d(v) to their duals makes arcs on shortest paths tight
// and keeps all reduced costs from going negative: along an arc v -> w, d(w) <= d(v) + reduced cost. Nodes
// that are not closed are at least D away and keep their duals.
void FlowSearch::raiseDuals(std::size_t last) {
    const double reach = distance_[last];
    for (const std::size_t node : closed_)
        duals_[node] += reach - distance_[node];
}

// All arcs of the path have reduced cost zero after `raiseDuals`, so moving a row along each keeps every row
// in a cluster of least reduced cost. Paths of one search may be used together as long as they share no node.
bool FlowSearch::moveAlongPath(std::size_t target) {
    // Units that only change what is passed on to the sink move together; rows move one by one.
    std::int64_t amount = -excess_[target];
    std::size_t to = target;
    for (; parent_[to] != static_cast<std::int64_t>(to); to = static_cast<std::size_t>(parent_[to])) {
        if (onPath_[to] != 0)
            return false;
        const auto from = static_cast<std::size_t>(parent_[to]);
        if (to == sink()) {
            amount = std::min(amount, upper_[from] - passed_[from]);
        } else if (from == sink()) {
            amount = std::min(amount, passed_[to] - lower_[to]);
        } else {
            amount = 1;
            const std::int32_t row = graph_.row(from, to);
            if (row == ClusterGraph::outsideCore)
                return false;
            if (row == ClusterGraph::notLookedUp) {
                const auto only = static_cast<std::int32_t>(to);
                graph_.refill(from, {&only, 1});
                return true;
            }
        }
    }
    const std::size_t source = to;
    if (onPath_[source] != 0)
        return false;
    amount = std::min(amount, excess_[source]);
    assert(amount > 0);
    for (to = target; to != source; to = static_cast<std::size_t>(parent_[to])) {
        onPath_[to] = 1;
        pass(static_cast<std::size_t>(parent_[to]), to, amount);
    }
    onPath_[source] = 1;
    excess_[source] -= amount;
    excess_[target] += amount;
    if (excess_[target] == 0)
        std::erase(shortages_, target);
    return true;
}

void FlowSearch::pass(std::size_t from, std::size_t to, std::int64_t amount) {
    if (to == sink()) {
        passed_[from] += amount;
        openSinkArcs(from);
    } else if (from == sink()) {
        passed_[to] -= amount;
        openSinkArcs(to);
    } else {
        graph_.move(graph_.row(from, to), to);
    }
}

void FlowSearch::openSinkArcs(std::size_t cluster) {
    graph_.weights(cluster)[sink()] = passed_[cluster] < upper_[cluster] ? 0.0 : infinity;
    graph_.weights(sink())[cluster] = passed_[cluster] > lower_[cluster] ? 0.0 : infinity;
}

} // namespace konstrain::transport
