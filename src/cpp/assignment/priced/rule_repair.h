#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "random.h"

namespace konstrain::priced {

// Labels to repair. Amounts, bounds and duals are in units of what a row adds to a rule on average.
struct RepairProblem {
    std::span<const double> costs; // nRows x nClusters
    std::size_t nClusters;
    std::span<const double> added; // nRows x nRules
    std::size_t nRules;
    std::span<const double> low; // nClusters x nRules, infinite where nothing is asked
    std::span<const double> high;
    std::span<const double> duals;         // nClusters x nRules
    std::span<const std::int32_t> movable; // rows that may move, ascending

    const double* cost(std::size_t row) const { return costs.data() + row * nClusters; }
    const double* amount(std::size_t row) const { return added.data() + row * nRules; }
};

// Labels that keep all rules, from labels that nearly do: rows of least reduced cost per unit of violation
// move first; where no move helps, two rows change places or go the same way; where that does not help
// either, rows of violated clusters are moved at random. Then rows go where they cost less, rules kept.
class RuleRepair {
public:
    // `labels` are changed in place.
    RuleRepair(const RepairProblem& problem, std::span<std::int32_t> labels);

    // Whether labels were found that keep all rules.
    bool run(TimePoint deadline);

private:
    // A row that may move, with its reduced costs in `reduced_`.
    struct Mover {
        std::size_t row;
        std::size_t restsUntil = 0; // a row moved at random stays for some steps
    };
    struct RowMove {
        double score;
        std::size_t mover;
        std::size_t to;
    };
    // Two movers that change places, or go the same way to `to`.
    struct MoverPair {
        double score;
        std::size_t first;
        std::size_t second;
        std::size_t to;
        bool isExchange;
    };

    void choose(std::size_t most);
    void sumUp();
    bool repair(TimePoint deadline);
    bool moveSome();
    bool movePair();
    void kick();
    void polish(TimePoint deadline);
    bool polishMoves();
    bool polishPairs();
    // The movers of a cluster that lose least by going to another, at most `pairedRows`.
    std::vector<std::size_t> nearest(std::size_t from, std::size_t to) const;
    void listMembers();
    template <typename Score> MoverPair bestPair(std::size_t a, std::size_t b, const Score& score);
    void apply(const MoverPair& pair);
    void move(std::size_t mover, std::size_t to);
    // By how much a cluster violates its bounds once these amounts have come and those have gone.
    double violationWith(std::size_t cluster, const double* in, const double* out) const;
    // How the violation of two clusters changes when amounts go from one to the other, and others back.
    double changeOf(std::size_t from, std::size_t to, const double* going, const double* coming) const;
    std::size_t label(std::size_t mover) const {
        return static_cast<std::size_t>(labels_[movers_[mover].row]);
    }
    const double* amount(std::size_t mover) const { return problem_.amount(movers_[mover].row); }
    double reducedRise(std::size_t mover, std::size_t to) const {
        const double* reduced = reduced_.data() + mover * problem_.nClusters;
        return reduced[to] - reduced[label(mover)];
    }
    double costRise(std::size_t mover, std::size_t to) const {
        const double* cost = problem_.cost(movers_[mover].row);
        return cost[to] - cost[label(mover)];
    }

    RepairProblem problem_;
    std::span<std::int32_t> labels_;
    std::vector<Mover> movers_;
    std::vector<double> reduced_; // movers x nClusters
    std::vector<double> values_;  // nClusters x nRules
    std::vector<double> violation_;
    double total_ = 0.0;     // of all violations
    double leastCost_ = 0.0; // of any move, added to its reduced cost: none is worth any number of others
    std::size_t step_ = 0;
    std::size_t nKicks_ = 0;
    Random random_{0};
    std::vector<std::vector<std::size_t>> members_; // movers of each cluster
    std::vector<std::uint8_t> isTouched_;           // clusters changed since the last pass
    std::vector<double> nothing_;
    std::vector<double> together_;
};

} // namespace konstrain::priced
