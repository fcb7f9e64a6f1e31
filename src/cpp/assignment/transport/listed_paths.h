#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "candidate_lists.h"
#include "deadline.h"

namespace konstrain::transport {

// Brings the sizes of clusters into their bounds along cheapest paths, like `FlowSearch`, on lists instead of
// a cost matrix: an arc leads from a cluster to another one that some row of the first has on its list.
//
// What lies off the lists is not forgotten. A search that comes as far from a cluster as one of its rows may
// be from a cluster off its list makes that list anew before it goes on, so paths are cheapest among all
// clusters, and the duals at the end prove the labels without another pass over the rows.
class ListedPaths {
public:
    enum class Status {
        Balanced,
        OutOfTime,
        LostItsWay, // too many rows need long lists, or costs so large that their differences are infinite
    };

    // `labels` must be cheapest on the lists at `duals`, and lists hold for these duals; both change in
    // place. Arcs and lists reach at least `reach` farther than a search needs them.
    ListedPaths(CandidateLists& lists, std::span<double> duals, std::span<std::int32_t> labels,
                std::span<const std::int64_t> lower, std::span<const std::int64_t> upper, double reach);

    Status run(TimePoint deadline);

    // What each row costs in its cluster.
    std::span<const double> ownCosts() const { return own_; }
    // What was taken off all duals at the end, so that the sink's is zero.
    double shift() const { return duals_.back(); }

private:
    struct RowMove {
        std::int32_t to;
        std::int32_t row;
        double weight; // what the row costs more there
    };
    // The cheapest of the moves from one cluster to another.
    struct Arc {
        RowMove move;
        bool isTied; // whether others cost the same
    };
    struct Event {
        double distance;
        std::int32_t node;
        bool isDoubt; // not the node itself, but what its rows have off their lists
        bool operator>(const Event& other) const {
            if (distance != other.distance)
                return distance > other.distance;
            // Doubts last: the search may end at a node as near.
            return isDoubt != other.isDoubt ? isDoubt : node > other.node;
        }
    };

    std::size_t nClusters() const { return lower_.size(); }
    std::size_t sink() const { return nClusters(); }
    double ownCost(std::int32_t row) const { return own_[static_cast<std::size_t>(row)]; }

    std::size_t mostLongEntries() const;
    void findShortages();
    void push(double distance, std::size_t node, bool isDoubt);
    void reach(std::size_t from, const Arc& arc);
    void leave(std::size_t from);
    void leaveSink();
    void settleDoubt(std::size_t cluster, double distance);
    void remakeLists(std::size_t cluster, double distance);
    void collectMoves(std::size_t cluster);
    void takeMovesOf(std::int32_t row, std::size_t cluster);
    void buildArcs(std::size_t cluster);
    void raiseDuals(double distance);
    bool moveAlongPath(std::size_t target);
    std::int64_t mostAlong(std::size_t target, std::size_t& source) const;
    void pass(std::size_t from, std::size_t to, std::int64_t amount);
    void moveRows(std::size_t from, std::size_t to, std::int64_t amount);
    void moveRow(std::int32_t row, std::size_t to);
    // The rows of `from` that cost as much more in `to` as the one that the search found.
    std::vector<std::int32_t> equalRows(std::size_t from, std::size_t to) const;
    double costIn(std::int32_t row, std::size_t to) const;

    CandidateLists& lists_;
    std::span<double> out_;
    std::span<std::int32_t> labels_;
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::vector<double> own_; // cost of each row in its cluster
    std::vector<std::vector<std::int32_t>> members_;
    std::vector<std::int32_t> position_;
    std::vector<std::vector<RowMove>> moves_; // what rows of each cluster have within its radius
    std::vector<std::vector<Arc>> arcs_;      // of these the cheapest one to each other cluster
    std::vector<std::uint8_t> hasMoves_;
    std::vector<std::uint8_t> hasArcs_;
    std::vector<double> known_;   // priced weight up to which moves were collected
    std::vector<double> doubt_;   // priced weight from which on arcs are missing
    std::vector<double> offList_; // the same, as far as they are missing on the lists
    std::vector<double> radius_;  // how far from a cluster moves are collected
    std::vector<double> reserve_; // how much farther than needed lists are made
    std::vector<std::int64_t> passed_;
    std::vector<std::int64_t> excess_;
    std::vector<double> duals_; // the sink's comes last
    // Of one search:
    std::vector<Event> heap_;
    std::vector<double> distance_;
    std::vector<std::int32_t> parent_;
    std::vector<std::int32_t> via_; // the row that moves on the arc from the parent
    std::vector<double> viaWeight_; // what it costs more at its end
    std::vector<std::uint8_t> viaIsTied_;
    std::vector<std::uint8_t> isClosed_;
    std::vector<std::uint8_t> onPath_;
    std::vector<std::size_t> closed_;
    std::vector<std::size_t> found_;
    // Scratch of `buildArcs`, the place of the arc to each cluster:
    std::vector<std::int32_t> arcTo_;
};

} // namespace konstrain::transport
