#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace konstrain::exact {

// What the blocks of a cluster may add up to: sum of `amount` over its members <= `limit`.
struct Capacity {
    std::vector<double> amount;
    double limit;
};

// How many marked pairs of rows a cluster may hold: `count[b * n + c]` pairs lie between the blocks b and c,
// `count[b * n + b]` inside b.
struct PairBudget {
    std::vector<double> count;
    double limit;
};

// Anti-monotone rules on single clusters: every part of an admissible cluster is admissible.
class ClusterRules {
public:
    // May the block join the (admissible) members? Called for rules that only the caller knows.
    using Question = std::function<bool(std::span<const std::int32_t> members, std::int32_t block)>;

    ClusterRules(std::size_t nBlocks, std::vector<Capacity> capacities, std::vector<PairBudget> budgets,
                 Question question)
        : nBlocks_(nBlocks), capacities_(std::move(capacities)), budgets_(std::move(budgets)),
          question_(std::move(question)) {}

    bool hasOnlyCapacities() const { return budgets_.empty() && !question_; }
    const std::vector<Capacity>& capacities() const { return capacities_; }
    bool areEmpty() const { return capacities_.empty() && hasOnlyCapacities(); }

    // Whether the members and the block together are admissible, conflicts aside.
    bool allow(std::span<const std::int32_t> members, std::int32_t block) const {
        return areEmpty() || (fitCapacities(members, block) && fitBudgets(members, block) &&
                              (!question_ || question_(members, block)));
    }

private:
    bool fitCapacities(std::span<const std::int32_t> members, std::int32_t block) const;
    bool fitBudgets(std::span<const std::int32_t> members, std::int32_t block) const;

    std::size_t nBlocks_;
    std::vector<Capacity> capacities_;
    std::vector<PairBudget> budgets_;
    Question question_;
};

} // namespace konstrain::exact
