#include "flow_search.h"

#include <algorithm>
#include <cassert>

namespace konstrain {

// What the kernel works on; every array is `stride` long.
struct SearchArrays {
    std::size_t stride;
    const double* prices;
    double* distance;
    double* open;
    std::int64_t* parent;
};

} // namespace konstrain

#define KONSTRAIN_KERNELS "flow_search_kernel.h"
#include "for_each_target.h"

namespace konstrain {

namespace {

const auto relax = KONSTRAIN_PICK(relax);

// Reading the clock costs as much as a step in a small graph.
constexpr int stepsPerClockReading = 64;

} // namespace

std::int64_t startFlow(double price, std::int64_t size, std::int64_t lower, std::int64_t upper) {
    if (price > 0.0)
        return upper;
    return price < 0.0 ? lower : std::clamp(size, lower, upper);
}

std::int64_t totalExcess(std::span<const double> prices, std::span<const std::int64_t> sizes,
                         std::span<const std::int64_t> lower, std::span<const std::int64_t> upper) {
    std::int64_t total = 0;
    std::int64_t atSink = 0;
    for (std::size_t j = 0; j != sizes.size(); ++j) {
        const std::int64_t excess = sizes[j] - startFlow(prices[j], sizes[j], lower[j], upper[j]);
        total += std::max<std::int64_t>(excess, 0);
        atSink -= excess;
    }
    return total + std::max<std::int64_t>(atSink, 0);
}

FlowSearch::FlowSearch(ClusterGraph& graph, std::span<const double> prices,
                       std::span<const std::int64_t> sizes, std::span<const std::int64_t> lower,
                       std::span<const std::int64_t> upper)
    : graph_(graph), lower_(lower), upper_(upper), passed_(sizes.size()), excess_(sizes.size() + 1, 0),
      prices_(graph.stride(), 0.0), distance_(graph.stride()), open_(graph.stride()),
      parent_(graph.stride()) {
    std::copy(prices.begin(), prices.end(), prices_.begin());
    for (std::size_t j = 0; j != sizes.size(); ++j) {
        passed_[j] = startFlow(prices[j], sizes[j], lower[j], upper[j]);
        excess_[j] = sizes[j] - passed_[j];
        excess_[sink()] -= excess_[j];
        openSinkArcs(j);
    }
    for (std::size_t node = 0; node != excess_.size(); ++node)
        if (excess_[node] < 0)
            shortages_.push_back(node);
    closed_.reserve(sizes.size() + 1);
    lookUp_.reserve(sizes.size());
}

FlowSearch::Status FlowSearch::run(TimePoint deadline) {
    for (int step = 0;; ++step) {
        const auto source = static_cast<std::size_t>(
            std::distance(excess_.begin(), std::max_element(excess_.begin(), excess_.end())));
        if (excess_[source] <= 0)
            return Status::Balanced;
        if (step % stepsPerClockReading == 0 && deadline != TimePoint::max() &&
            std::chrono::steady_clock::now() >= deadline)
            return Status::OutOfTime;
        const std::size_t target = findShortage(source);
        if (target > sink())
            return Status::NoWayOn;
        raisePrices(target);
        if (moveAlongPath(source, target) == Step::LeftTheCore)
            return Status::LeftTheCore;
    }
}

std::vector<double> FlowSearch::prices() const {
    std::vector<double> result(graph_.nClusters());
    for (std::size_t j = 0; j != result.size(); ++j) {
        result[j] = prices_[j] - prices_[sink()];
        // Rounding must not push the next call's flow to the wrong bound.
        if (passed_[j] > lower_[j])
            result[j] = std::max(result[j], 0.0);
        if (passed_[j] < upper_[j])
            result[j] = std::min(result[j], 0.0);
    }
    return result;
}

std::size_t FlowSearch::findShortage(std::size_t source) {
    std::fill(distance_.begin(), distance_.end(), infinity);
    std::fill(open_.begin(), open_.end(), infinity);
    closed_.clear();
    distance_[source] = 0.0;
    const SearchArrays search{graph_.stride(), prices_.data(), distance_.data(), open_.data(),
                              parent_.data()};
    auto node = static_cast<std::int64_t>(source);
    while (node >= 0) {
        const auto from = static_cast<std::size_t>(node);
        open_[from] = infinity;
        closed_.push_back(from);
        if (excess_[from] < 0)
            return from;
        if (from != sink()) {
            graph_.build(from);
            lookUpUsefulArcs(from);
        }
        node = relax(search, graph_.weights(from), node);
    }
    return sink() + 1;
}

void FlowSearch::lookUpUsefulArcs(std::size_t from) {
    const std::span<const std::int32_t> targets = graph_.boundedTargets(from);
    if (targets.empty())
        return;
    const double* weights = graph_.weights(from);
    const auto reach = [&](std::size_t to) {
        return distance_[from] + std::max(0.0, weights[to] + prices_[to] - prices_[from]);
    };
    lookUp_.clear();
    for (const std::int32_t to : targets)
        if (reach(static_cast<std::size_t>(to)) < distance_[static_cast<std::size_t>(to)])
            lookUp_.push_back(to);
    if (lookUp_.empty())
        return;
    // Nothing beyond the nearest known shortage will be visited in this search.
    double horizon = infinity;
    for (const std::size_t node : shortages_)
        horizon = std::min(horizon, distance_[node]);
    std::erase_if(lookUp_, [&](std::int32_t to) { return reach(static_cast<std::size_t>(to)) >= horizon; });
    if (!lookUp_.empty())
        graph_.refill(from, lookUp_);
}

void FlowSearch::raisePrices(std::size_t target) {
    const double reach = distance_[target];
    for (const std::size_t node : closed_)
        prices_[node] += reach - distance_[node];
}

FlowSearch::Step FlowSearch::moveAlongPath(std::size_t source, std::size_t target) {
    // Units that only change what is passed on to the sink move together; rows move one by one.
    std::int64_t amount = std::min(excess_[source], -excess_[target]);
    for (std::size_t to = target; to != source;) {
        const auto from = static_cast<std::size_t>(parent_[to]);
        if (to == sink()) {
            amount = std::min(amount, upper_[from] - passed_[from]);
        } else if (from == sink()) {
            amount = std::min(amount, passed_[to] - lower_[to]);
        } else {
            amount = 1;
            const std::int32_t row = graph_.row(from, to);
            if (row == ClusterGraph::outsideCore)
                return Step::LeftTheCore;
            if (row == ClusterGraph::notLookedUp) {
                const auto only = static_cast<std::int32_t>(to);
                graph_.refill(from, {&only, 1});
                return Step::LookedUp;
            }
        }
        to = from;
    }
    assert(amount > 0);
    for (std::size_t to = target; to != source; to = static_cast<std::size_t>(parent_[to]))
        pass(static_cast<std::size_t>(parent_[to]), to, amount);
    excess_[source] -= amount;
    excess_[target] += amount;
    if (excess_[target] == 0)
        std::erase(shortages_, target);
    return Step::Moved;
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

} // namespace konstrain
