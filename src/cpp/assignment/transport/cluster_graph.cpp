#include "cluster_graph.h"

#include <algorithm>
#include <cassert>

#include "hardware.h"
#include "infinity.h"
#include "multiversion.h"

namespace konstrain::transport {

namespace {

// Columns in which a row's cost of leaving `from` is below the limit; returns how many.
KONSTRAIN_MULTIVERSION
std::size_t columnsBelow(const double* costs, std::size_t nColumns, double base, const double* limits,
                         std::int32_t* found) {
    std::size_t count = 0;
    constexpr std::size_t step = laneCount * 8;
    for (std::size_t begin = 0; begin < nColumns; begin += step) {
        const std::size_t end = std::min(nColumns, begin + step);
        // Hits are rare: a loop without branches finds whether this stretch has any.
        std::int64_t any = 0;
        for (std::size_t j = begin; j < end; ++j)
            any |= costs[j] - base < limits[j] ? 1 : 0;
        if (any == 0)
            continue;
        for (std::size_t j = begin; j < end; ++j) {
            found[count] = static_cast<std::int32_t>(j);
            count += costs[j] - base < limits[j] ? 1U : 0U;
        }
    }
    return count;
}

KONSTRAIN_MULTIVERSION
std::size_t columnsEqual(const std::int32_t* values, std::size_t nColumns, std::int32_t wanted,
                         std::int32_t* found) {
    std::size_t count = 0;
    for (std::size_t j = 0; j != nColumns; ++j) {
        found[count] = static_cast<std::int32_t>(j);
        count += values[j] == wanted ? 1U : 0U;
    }
    return count;
}

} // namespace

ClusterGraph::ClusterGraph(const CoreView& core, std::size_t nClusters, std::size_t listLength)
    : costs_(core.costs), nClusters_(nClusters), stride_(paddedToLanes(nClusters + 1)),
      listLength_(listLength), margin_(core.margin), startDuals_(core.duals.begin(), core.duals.end()),
      labels_(core.labels.begin(), core.labels.end()), members_(nClusters), position_(core.labels.size()),
      built_(nClusters, 0), bounded_(nClusters), weights_((nClusters + 1) * stride_, infinity),
      rows_(nClusters * stride_, outsideCore), complete_(nClusters * stride_, -infinity),
      length_(nClusters * stride_, 0), isBounded_(nClusters * stride_, 0),
      entries_(nClusters * stride_ * listLength), found_(nClusters + 1) {
    for (std::size_t i = 0; i != labels_.size(); ++i) {
        auto& members = members_[static_cast<std::size_t>(labels_[i])];
        position_[i] = static_cast<std::int32_t>(members.size());
        members.push_back(static_cast<std::int32_t>(i));
    }
}

double ClusterGraph::outsideBound(std::size_t from, std::size_t to) const {
    return margin_ == infinity ? infinity : margin_ + startDuals_[from] - startDuals_[to];
}

// Invariant of a list: it holds every row of the cluster with a key below `complete_[arc]`, the cheapest at
// the end, and maybe rows that have left since. So its head, once stale rows are dropped, is the cheapest row
// of the arc; an empty list bounds the arc's weight by `complete_`. A departure costs O(1) per arc that the
// row was the head of, and a list is filled anew only when it runs empty.
void ClusterGraph::offer(std::size_t arc, double key, std::int32_t row) {
    ArcRow* list = entries_.data() + arc * listLength_;
    auto& length = length_[arc];
    if (static_cast<std::size_t>(length) == listLength_) {
        // Full: the most expensive row stays out, and the list no longer holds all rows as expensive as that
        // one.
        complete_[arc] = std::max(key, list[0].key);
        if (key >= list[0].key)
            return;
        std::move(list + 1, list + length, list);
        --length;
    }
    std::int32_t place = length;
    for (; place != 0 && list[place - 1].key < key; --place)
        list[place] = list[place - 1];
    list[place] = {key, row};
    ++length;
}

std::span<const std::int32_t> ClusterGraph::offerToAll(std::size_t cluster, std::int32_t row) {
    const double* costs = costsOf(row);
    const std::size_t first = cluster * stride_;
    const std::size_t count =
        columnsBelow(costs, nClusters_, costs[cluster], complete_.data() + first, found_.data());
    for (std::size_t n = 0; n != count; ++n)
        offer(first + static_cast<std::size_t>(found_[n]), costs[found_[n]] - costs[cluster], row);
    return {found_.data(), count};
}

void ClusterGraph::showHead(std::size_t cluster, std::size_t arc) {
    if (length_[arc] != 0) {
        const ArcRow& head = entries_[arc * listLength_ + static_cast<std::size_t>(length_[arc]) - 1];
        weights_[arc] = head.key;
        rows_[arc] = head.row;
    } else {
        const double outside = outsideBound(cluster, arc - cluster * stride_);
        weights_[arc] = std::min(complete_[arc], outside);
        rows_[arc] = complete_[arc] < outside ? notLookedUp : outsideCore;
        if (rows_[arc] == notLookedUp && isBounded_[arc] == 0) {
            isBounded_[arc] = 1;
            bounded_[cluster].push_back(static_cast<std::int32_t>(arc - cluster * stride_));
        }
    }
}

void ClusterGraph::dropStaleHead(std::size_t cluster, std::size_t arc) {
    // Only the head must be a row that is still here; deeper entries are checked when they get there.
    auto& length = length_[arc];
    while (length != 0) {
        const ArcRow& head = entries_[arc * listLength_ + static_cast<std::size_t>(length) - 1];
        if (labels_[static_cast<std::size_t>(head.row)] == static_cast<std::int32_t>(cluster))
            break;
        --length;
    }
}

void ClusterGraph::build(std::size_t cluster) {
    if (built_[cluster] != 0)
        return;
    built_[cluster] = 1;
    const std::size_t first = cluster * stride_;
    for (std::size_t to = 0; to != nClusters_; ++to)
        if (to != cluster)
            complete_[first + to] = outsideBound(cluster, to);
    for (const std::int32_t row : members_[cluster])
        offerToAll(cluster, row);
    for (std::size_t to = 0; to != nClusters_; ++to)
        if (to != cluster)
            showHead(cluster, first + to);
}

std::span<const std::int32_t> ClusterGraph::boundedTargets(std::size_t cluster) {
    auto& targets = bounded_[cluster];
    std::erase_if(targets, [&](std::int32_t to) {
        const std::size_t arc = cluster * stride_ + static_cast<std::size_t>(to);
        if (rows_[arc] == notLookedUp)
            return false;
        isBounded_[arc] = 0;
        return true;
    });
    return targets;
}

void ClusterGraph::refill(std::size_t cluster, std::span<const std::int32_t> targets) {
    const std::size_t first = cluster * stride_;
    for (const std::int32_t to : targets) {
        complete_[first + static_cast<std::size_t>(to)] = outsideBound(cluster, static_cast<std::size_t>(to));
        length_[first + static_cast<std::size_t>(to)] = 0;
    }
    for (const std::int32_t row : members_[cluster]) {
        const double* costs = costsOf(row);
        for (const std::int32_t to : targets) {
            const double key = costs[to] - costs[cluster];
            if (key < complete_[first + static_cast<std::size_t>(to)])
                offer(first + static_cast<std::size_t>(to), key, row);
        }
    }
    for (const std::int32_t to : targets)
        showHead(cluster, first + static_cast<std::size_t>(to));
}

void ClusterGraph::move(std::int32_t row, std::size_t to) {
    const auto from = static_cast<std::size_t>(labels_[static_cast<std::size_t>(row)]);
    assert(from != to);
    auto& left = members_[from];
    const auto place = static_cast<std::size_t>(position_[static_cast<std::size_t>(row)]);
    left[place] = left.back();
    position_[static_cast<std::size_t>(left[place])] = static_cast<std::int32_t>(place);
    left.pop_back();
    labels_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(to);
    position_[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(members_[to].size());
    members_[to].push_back(row);

    if (built_[from] != 0) {
        const std::size_t count = columnsEqual(rows_.data() + from * stride_, nClusters_, row, found_.data());
        for (std::size_t n = 0; n != count; ++n) {
            const std::size_t arc = from * stride_ + static_cast<std::size_t>(found_[n]);
            dropStaleHead(from, arc);
            showHead(from, arc);
        }
    }
    if (built_[to] != 0)
        for (const std::int32_t target : offerToAll(to, row))
            showHead(to, to * stride_ + static_cast<std::size_t>(target));
}

} // namespace konstrain::transport
