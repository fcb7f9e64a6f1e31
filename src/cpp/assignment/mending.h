#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain {

// Blocks of unequal demand in clusters with bounds on the sums of demands.
struct MendingProblem {
    std::span<const double> costs; // row-major, one row per block
    std::span<const double> demand;
    std::span<const double> low; // one per cluster
    std::span<const double> high;
    std::span<const std::int32_t> movable; // blocks that may move, ascending

    std::size_t nClusters() const { return low.size(); }
    std::size_t nBlocks() const { return demand.size(); }
};

// Labels put right by moving few blocks: one at a time, or two in exchange.
class Mending {
public:
    Mending(const MendingProblem& problem, std::span<std::int32_t> labels);

    // Moves what costs least per unit of demand by which sizes come closer to their bounds, until they keep
    // them. False when no move brings them closer by more than `least`, where exchanges look at no more than
    // `mostPairs`, or when there have been so many moves that rounding alone must keep them going.
    bool mendSizes(double least, std::size_t mostPairs);

    // Makes the move that lowers the cost most, sizes kept, until none lowers it by more than `worth`.
    // `isNonempty`: no cluster may lose its last block.
    void makeCheaper(double worth, bool isNonempty);

private:
    // A block to a cluster, or two blocks in exchange, and what is to be least of it.
    struct Move {
        double value;
        std::size_t block;
        std::size_t other; // the cluster, or the other block
    };

    std::size_t label(std::size_t block) const { return static_cast<std::size_t>(labels_[block]); }
    const double* costs(std::size_t block) const {
        return problem_.costs.data() + block * problem_.nClusters();
    }
    double rise(std::size_t block, std::size_t cluster) const {
        return costs(block)[cluster] - costs(block)[label(block)];
    }
    double missing(std::size_t cluster, double more = 0.0) const;
    bool isAnyMissing() const;
    void sumSizes();
    void move(std::size_t block, std::size_t cluster);
    void exchange(std::size_t one, std::size_t other);
    bool moveOne(double least);
    bool exchangeTwo(double least, std::size_t mostPairs);
    Move cheapestMove(bool isNonempty) const;
    Move cheapestExchange(double below) const;

    MendingProblem problem_;
    std::span<std::int32_t> labels_;
    std::vector<double> sizes_;
};

} // namespace konstrain
