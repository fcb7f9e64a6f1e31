#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search_state.h"

namespace konstrain {

// Moves between two clusters p and q. The blocks of both fall into groups that hang together by hard links
// (most groups are single blocks): a group that changes sides as a whole breaks no hard link, and so does any
// union of groups. Tried are all groups alone - single moves and Kempe exchanges - and two groups at once,
// which is a swap when sizes bind.
class PairMoves {
public:
    explicit PairMoves(SearchState& state);

    // Improves until no group and no two groups do; returns whether anything moved. Does nothing when neither
    // cluster changed since the last call.
    bool explore(std::size_t p, std::size_t q);

private:
    // One set of blocks that changes sides together.
    struct Group {
        std::size_t start; // of its blocks in `blocks_`
        std::size_t end;
        Load load;
        double delta;   // of the objective when it goes alone
        double key;     // the part of `delta` that adds up when two groups go
        double lengthP; // square roots of the exchange terms: these bound what does not add up
        double lengthQ;
        bool moved = false;
    };
    // The largest values over the groups of one direction, for bounds on all of them at once.
    struct Extremes {
        double lowestKey = infinity;
        double longestP = 0.0;
        double longestQ = 0.0;
        double leastWeight = infinity;
        double mostWeight = -infinity;

        void include(const Group& group);
    };

    void refreshOwnDistances(std::size_t cluster);
    void boundBlock(Group& group, double apart) const;
    void dropHopeless();

    void build(bool joinSoft);
    void grow(std::size_t block, bool joinSoft);
    bool joined(std::size_t block, std::size_t other, double weight, bool joinSoft) const;
    void measure(Group& group, double* sum);
    double penaltyDelta(std::span<Group* const> groups);

    bool moveOne(MoveKind kind);
    bool moveTwo();
    bool moveLinkedTwo();
    bool scanOpposite(std::vector<std::size_t>& out, std::vector<std::size_t>& in);
    bool tryGroups(MoveKind kind, Group& first, Group* second);
    static Extremes extremes(std::span<const Group> groups);
    Extremes extremes(std::span<const std::size_t> groups) const;
    double mostFollowing(const Group& group, const Extremes& others) const;
    double following(double lengthP, double lengthQ, double weight) const;
    bool promising(const Group& group, const Extremes& others) const;

    std::span<const std::int32_t> blocksOf(const Group& group) const {
        return {blocks_.data() + group.start, group.end - group.start};
    }
    bool inPair(std::size_t block) const {
        return partition_.label(block) == p_ || partition_.label(block) == q_;
    }

    SearchState& state_;
    const Partition& partition_;
    const SearchProblem& problem_;
    bool hasSoft_ = false;

    std::size_t p_ = 0;
    std::size_t q_ = 0;
    std::vector<Group> groups_;
    std::vector<std::int32_t> blocks_;
    std::vector<double> sums_; // weighted sum of each group, p to q positive
    std::vector<std::size_t> groupOf_;
    std::vector<std::int64_t> seen_; // per block, the build that has put it into a group
    std::int64_t builds_ = 0;
    std::vector<std::int64_t> marked_; // per block, the evaluation in which it moves
    std::int64_t evaluations_ = 0;

    std::vector<std::int64_t> lastLook_;       // per pair of clusters, in moves made
    std::vector<double> ownDistance_;          // of each block to its center; empty when there are links
    std::vector<std::int64_t> ownDistancesAt_; // per cluster, in moves made
    std::vector<std::int32_t> moving_;
    std::vector<double> sum_;
    std::vector<double> buffer_;
};

} // namespace konstrain
