#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "deadline.h"
#include "partition.h"

namespace konstrain {

enum class MoveKind : std::int8_t {
    single, // one block goes to another cluster
    swap,   // two sets, each of which may go without breaking a hard link, go together
    kempe,  // all that hangs together by hard links within two clusters changes sides
    chain,  // all that hangs together by soft links as well changes sides
};

// One move as it was made: tests recompute what it gained.
struct MoveRecord {
    MoveKind kind;
    std::int32_t p;
    std::int32_t q;
    double delta;
    std::vector<std::int32_t> blocks;
};

// What all kinds of moves share: the partition, what counts as better, the clock, the record of moves.
class SearchState {
public:
    SearchState(Partition& partition, double cost, TimePoint deadline, bool keepRecords)
        : partition_(partition), deadline_(deadline), keepRecords_(keepRecords) {
        const SearchProblem& problem = partition.problem();
        const double total = std::accumulate(problem.weight.begin(), problem.weight.end(), 0.0);
        const double priceOfAll = std::accumulate(
            problem.links.weights.begin(), problem.links.weights.end(), 0.0,
            [](double sum, double weight) { return weight == infinity ? sum : sum + std::abs(weight); });
        const double unit = 8.0 * std::numeric_limits<double>::epsilon();
        tolerance_ = std::max({1e-12 * std::abs(cost), unit * priceOfAll,
                               unit * problem.means.largest() * std::sqrt(total * cost)});
    }

    const Partition& partition() const { return partition_; }
    // A change counts as an improvement only beyond a tolerance: below, it may be rounding, and the search
    // may cycle. Rows far from the origin round more (their differences are only as exact as they are),
    // and so do sums of large penalties.
    bool improves(double delta) const { return delta < -tolerance_; }
    bool expired() const { return isPast(deadline_); }

    void make(MoveKind kind, std::size_t p, std::size_t q, std::span<const std::int32_t> blocks,
              double delta) {
        partition_.exchange(p, q, blocks);
        change_ += delta;
        if (keepRecords_)
            records_.push_back({kind, static_cast<std::int32_t>(p), static_cast<std::int32_t>(q), delta,
                                std::vector<std::int32_t>(blocks.begin(), blocks.end())});
    }
    // What all moves so far changed of the objective, by their own account.
    double change() const { return change_; }
    std::vector<MoveRecord>& records() { return records_; }

private:
    Partition& partition_;
    TimePoint deadline_;
    bool keepRecords_;
    double tolerance_;
    double change_ = 0.0;
    std::vector<MoveRecord> records_;
};

} // namespace konstrain
