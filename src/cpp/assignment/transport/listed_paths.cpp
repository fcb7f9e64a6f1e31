#include "listed_paths.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "flow_search.h"
#include "median_gap.h"
#include "priced_bounds.h"
#include "tolerances.h"

namespace konstrain::transport {

namespace {

struct Params {
    // Share of its reserve by which a new list must reach farther than the old one. Where many clusters cost
    // a row the same, lists would otherwise grow by nothing time after time; larger: longer lists.
    double progress = 0.05;
    // One row in this many may have a full list, or more of them longer lists; larger: the search gives up
    // sooner. Full lists for all rows would be the matrix that lists are there to avoid.
    std::size_t rowsPerFull = 8;
};
constexpr Params params;

} // namespace

ListedPaths::ListedPaths(CandidateLists& lists, std::span<double> duals, std::span<std::int32_t> labels,
                         std::span<const std::int64_t> lower, std::span<const std::int64_t> upper,
                         double reach)
    : lists_(lists), out_(duals), labels_(labels), lower_(lower), upper_(upper), own_(labels.size()),
      members_(lower.size()), position_(labels.size()), moves_(lower.size()), arcs_(lower.size()),
      hasMoves_(lower.size(), 0), hasArcs_(lower.size(), 0), known_(lower.size()),
      doubt_(lower.size(), infinity), offList_(lower.size(), infinity), radius_(lower.size(), reach),
      reserve_(lower.size(), reach), passed_(lower.size()), excess_(lower.size() + 1, 0),
      duals_(duals.begin(), duals.end()), distance_(lower.size() + 1), parent_(lower.size() + 1),
      via_(lower.size() + 1), viaWeight_(lower.size() + 1), viaIsTied_(lower.size() + 1),
      isClosed_(lower.size() + 1), onPath_(lower.size() + 1), arcTo_(lower.size(), none) {
    duals_.push_back(0.0);
    for (std::size_t row = 0; row != labels.size(); ++row) {
        own_[row] = costIn(static_cast<std::int32_t>(row), static_cast<std::size_t>(labels[row]));
        assert(own_[row] < infinity);
        auto& members = members_[static_cast<std::size_t>(labels[row])];
        position_[row] = static_cast<std::int32_t>(members.size());
        members.push_back(static_cast<std::int32_t>(row));
    }
    for (std::size_t j = 0; j != nClusters(); ++j) {
        const auto size = static_cast<std::int64_t>(members_[j].size());
        passed_[j] = startFlow(duals[j], size, lower[j], upper[j]);
        excess_[j] = size - passed_[j];
        excess_[sink()] -= excess_[j];
    }
}

std::size_t ListedPaths::mostLongEntries() const {
    // Those of a sample's rows always: in small problems the whole matrix is cheap.
    return (lists_.nRows() + sampleRows) / params.rowsPerFull * nClusters();
}

ListedPaths::Status ListedPaths::run(TimePoint deadline) {
    Status status = Status::Balanced;
    const auto isExcess = [](std::int64_t excess) { return excess > 0; };
    PolledDeadline clock(deadline);
    while (std::any_of(excess_.begin(), excess_.end(), isExcess)) {
        if (clock.isPast()) {
            status = Status::OutOfTime;
            break;
        }
        findShortages();
        if (found_.empty())
            return Status::LostItsWay;
        raiseDuals(distance_[found_.back()]);
        std::fill(onPath_.begin(), onPath_.end(), 0);
        for (const std::size_t target : found_)
            moveAlongPath(target);
    }
    for (std::size_t j = 0; j != nClusters(); ++j) {
        out_[j] = duals_[j] - duals_[sink()];
        // Rounding must not push the next call's flow to the wrong bound.
        if (passed_[j] > lower_[j])
            out_[j] = std::max(out_[j], 0.0);
        if (passed_[j] < upper_[j])
            out_[j] = std::min(out_[j], 0.0);
    }
    return status;
}

void ListedPaths::push(double distance, std::size_t node, bool isDoubt) {
    heap_.push_back({distance, static_cast<std::int32_t>(node), isDoubt});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void ListedPaths::reach(std::size_t from, const Arc& arc) {
    const auto [number, row, weight] = arc.move;
    const auto to = static_cast<std::size_t>(number);
    if (isClosed_[to] != 0)
        return;
    // Rounding may leave a reduced cost below zero by a few units in the last place.
    const double distance = distance_[from] + std::max(0.0, weight + duals_[to] - duals_[from]);
    if (distance < distance_[to]) {
        distance_[to] = distance;
        parent_[to] = static_cast<std::int32_t>(from);
        via_[to] = row;
        viaWeight_[to] = weight;
        viaIsTied_[to] = arc.isTied;
        push(distance, to, false);
    }
}

// Dijkstra's search as in `FlowSearch`, with a heap, because arcs are few. Where arcs of a cluster may be
// missing, an event "doubt" at the distance from which on they could matter is put into the heap. Events are
// taken in order of distance, so no node is closed before every arc that could lead to it at a smaller
// distance is known: the paths are shortest among all arcs, although most arcs are never written down.
void ListedPaths::findShortages() {
    std::fill(distance_.begin(), distance_.end(), infinity);
    std::fill(isClosed_.begin(), isClosed_.end(), 0);
    closed_.clear();
    found_.clear();
    heap_.clear();
    std::size_t nShortages = 0;
    for (std::size_t node = 0; node != excess_.size(); ++node) {
        nShortages += excess_[node] < 0 ? 1U : 0U;
        if (excess_[node] > 0) {
            distance_[node] = 0.0;
            parent_[node] = static_cast<std::int32_t>(node);
            push(0.0, node, false);
        }
    }
    const std::size_t nWanted = std::max<std::size_t>(1, nShortages / shortagesPerSearch);
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
        const Event event = heap_.back();
        heap_.pop_back();
        const auto node = static_cast<std::size_t>(event.node);
        if (event.isDoubt) {
            if (lists_.nLongEntries() > mostLongEntries())
                return;
            settleDoubt(node, event.distance);
            continue;
        }
        if (isClosed_[node] != 0)
            continue;
        isClosed_[node] = 1;
        closed_.push_back(node);
        if (excess_[node] < 0) {
            found_.push_back(node);
            if (found_.size() == nWanted)
                return;
        }
        if (node == sink())
            leaveSink();
        else
            leave(node);
    }
}

void ListedPaths::leave(std::size_t from) {
    if (hasMoves_[from] == 0)
        collectMoves(from);
    if (hasArcs_[from] == 0)
        buildArcs(from);
    for (const Arc& arc : arcs_[from])
        reach(from, arc);
    if (passed_[from] < upper_[from])
        reach(from, {{static_cast<std::int32_t>(sink()), none, 0.0}, false});
    if (doubt_[from] < infinity)
        push(distance_[from] + std::max(0.0, doubt_[from] - duals_[from]), from, true);
}

void ListedPaths::leaveSink() {
    for (std::size_t j = 0; j != nClusters(); ++j)
        if (passed_[j] > lower_[j])
            reach(sink(), {{static_cast<std::int32_t>(j), none, 0.0}, false});
}

// The search has come as far as the arcs of a cluster are known: it needs longer ones, or new lists.
void ListedPaths::settleDoubt(std::size_t cluster, double distance) {
    if (offList_[cluster] <= doubt_[cluster])
        remakeLists(cluster, distance);
    else
        radius_[cluster] = growthFactor * std::max(radius_[cluster], doubt_[cluster] - duals_[cluster]);
    hasMoves_[cluster] = 0;
    leave(cluster);
}

// Makes the lists of those rows anew that may be this near to a cluster off theirs: at the duals that a
// search which ended here would leave behind, for at the present ones a list would come out as it is.
void ListedPaths::remakeLists(std::size_t cluster, double distance) {
    std::vector<double> ahead(duals_.begin(), duals_.end() - 1);
    for (const std::size_t node : closed_)
        if (node != sink())
            ahead[node] += distance - distance_[node];
    // Rounding may leave the two apart by a unit in the last place, and a list must grow beyond both.
    const double level = std::max(ahead[cluster], offList_[cluster]);
    const double reserve = reserve_[cluster];
    reserve_[cluster] = growthFactor * std::max(reserve, level - duals_[cluster]);
    std::vector<std::int32_t> rows;
    std::vector<double> floors;
    for (const std::int32_t row : members_[cluster])
        if (lists_.beyond(static_cast<std::size_t>(row)) - ownCost(row) <= level + reserve) {
            rows.push_back(row);
            floors.push_back(ownCost(row) + level + params.progress * reserve +
                             tolerances::sum * (std::abs(ownCost(row)) + std::abs(level)));
        }
    lists_.extend(rows, ahead, floors);
}

void ListedPaths::collectMoves(std::size_t cluster) {
    moves_[cluster].clear();
    known_[cluster] = duals_[cluster] + radius_[cluster];
    offList_[cluster] = infinity;
    doubt_[cluster] = infinity;
    for (const std::int32_t row : members_[cluster])
        takeMovesOf(row, cluster);
    hasMoves_[cluster] = 1;
    hasArcs_[cluster] = 0;
}

// Where a row that leaves is the one in doubt, the doubt stays: it only makes a search test it again.
void ListedPaths::takeMovesOf(std::int32_t row, std::size_t cluster) {
    const auto [cost, to, length] = lists_[static_cast<std::size_t>(row)];
    const double own = ownCost(row);
    const double offList = lists_.beyond(static_cast<std::size_t>(row)) - own;
    double tooFar = infinity;
    for (std::size_t e = 0; e != length; ++e) {
        const double weight = cost[e] - own;
        const auto target = static_cast<std::size_t>(to[e]);
        const double priced = weight + duals_[target];
        if (priced > known_[cluster])
            tooFar = std::min(tooFar, priced);
        else if (target != cluster)
            moves_[cluster].push_back({to[e], row, weight});
    }
    offList_[cluster] = std::min(offList_[cluster], offList);
    doubt_[cluster] = std::min({doubt_[cluster], offList, tooFar});
}

void ListedPaths::buildArcs(std::size_t cluster) {
    auto& arcs = arcs_[cluster];
    arcs.clear();
    for (const RowMove& move : moves_[cluster]) {
        std::int32_t& place = arcTo_[static_cast<std::size_t>(move.to)];
        if (place == none) {
            place = static_cast<std::int32_t>(arcs.size());
            arcs.push_back({move, false});
            continue;
        }
        auto& [cheapest, isTied] = arcs[static_cast<std::size_t>(place)];
        if (move.weight < cheapest.weight) {
            cheapest = move;
            isTied = false;
        } else if (move.weight == cheapest.weight) {
            cheapest.row = std::min(cheapest.row, move.row);
            isTied = true;
        }
    }
    for (const Arc& arc : arcs)
        arcTo_[static_cast<std::size_t>(arc.move.to)] = none;
    hasArcs_[cluster] = 1;
}

void ListedPaths::raiseDuals(double distance) {
    for (const std::size_t node : closed_)
        duals_[node] += distance - distance_[node];
}

double ListedPaths::costIn(std::int32_t row, std::size_t to) const {
    const auto [costs, clusters, length] = lists_[static_cast<std::size_t>(row)];
    const std::int32_t* entry = std::find(clusters, clusters + length, static_cast<std::int32_t>(to));
    return entry == clusters + length ? infinity : costs[entry - clusters];
}

std::vector<std::int32_t> ListedPaths::equalRows(std::size_t from, std::size_t to) const {
    // A list made anew during the search may have dropped the move that was found.
    std::vector<std::int32_t> rows{via_[to]};
    for (const RowMove& move : moves_[from])
        if (move.to == static_cast<std::int32_t>(to) && move.weight == viaWeight_[to] && move.row != via_[to])
            rows.push_back(move.row);
    std::sort(rows.begin(), rows.end());
    return rows;
}

// How many units fit through the path to `target` and are there to move.
std::int64_t ListedPaths::mostAlong(std::size_t target, std::size_t& source) const {
    std::int64_t amount = -excess_[target];
    std::size_t to = target;
    for (; parent_[to] != static_cast<std::int32_t>(to); to = static_cast<std::size_t>(parent_[to])) {
        const auto from = static_cast<std::size_t>(parent_[to]);
        if (onPath_[to] != 0)
            return 0;
        if (to == sink())
            amount = std::min(amount, upper_[from] - passed_[from]);
        else if (from == sink())
            amount = std::min(amount, passed_[to] - lower_[to]);
        else if (amount > 1) // equal rows move together
            amount = viaIsTied_[to] == 0
                         ? 1
                         : std::min(amount, static_cast<std::int64_t>(equalRows(from, to).size()));
    }
    source = to;
    return onPath_[source] != 0 ? 0 : std::min(amount, excess_[source]);
}

// All arcs of the path have reduced cost zero after `raiseDuals`, so every row stays in a cluster of least
// reduced cost. Equal rows have equal costs: as many as fit move at once, and the sums stay those of a
// cheapest path.
bool ListedPaths::moveAlongPath(std::size_t target) {
    std::size_t source = 0;
    const std::int64_t amount = mostAlong(target, source);
    // Paths that touch an earlier one wait: its rows have moved, so their arcs may have changed.
    if (amount == 0)
        return false;
    for (std::size_t to = target; to != source; to = static_cast<std::size_t>(parent_[to])) {
        onPath_[to] = 1;
        pass(static_cast<std::size_t>(parent_[to]), to, amount);
    }
    onPath_[source] = 1;
    // No rows move at the sink: what may pass it is counted anew for each path.
    onPath_[sink()] = 0;
    excess_[source] -= amount;
    excess_[target] += amount;
    return true;
}

void ListedPaths::pass(std::size_t from, std::size_t to, std::int64_t amount) {
    if (to == sink())
        passed_[from] += amount;
    else if (from == sink())
        passed_[to] -= amount;
    else
        moveRows(from, to, amount);
}

void ListedPaths::moveRows(std::size_t from, std::size_t to, std::int64_t amount) {
    if (amount == 1) {
        const std::int32_t row = via_[to];
        std::erase_if(moves_[from], [&](const RowMove& move) { return move.row == row; });
        moveRow(row, to);
        if (hasMoves_[to] != 0)
            takeMovesOf(row, to);
    } else {
        const std::vector<std::int32_t> rows = equalRows(from, to);
        for (std::size_t n = 0; n != static_cast<std::size_t>(amount); ++n)
            moveRow(rows[n], to);
        hasMoves_[from] = 0;
        hasMoves_[to] = 0;
    }
    hasArcs_[from] = 0;
    hasArcs_[to] = 0;
}

void ListedPaths::moveRow(std::int32_t row, std::size_t to) {
    const auto number = static_cast<std::size_t>(row);
    auto& left = members_[static_cast<std::size_t>(labels_[number])];
    const std::int32_t last = left.back();
    left[static_cast<std::size_t>(position_[number])] = last;
    position_[static_cast<std::size_t>(last)] = position_[number];
    left.pop_back();
    position_[number] = static_cast<std::int32_t>(members_[to].size());
    members_[to].push_back(row);
    labels_[number] = static_cast<std::int32_t>(to);
    const double listed = costIn(row, to);
    // A list made anew during the search may have dropped the cluster.
    own_[number] = listed < infinity ? listed : own_[number] + viaWeight_[to];
}

} // namespace konstrain::transport
