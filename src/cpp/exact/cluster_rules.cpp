#include "cluster_rules.h"

namespace konstrain::exact {

bool ClusterRules::fitCapacities(std::span<const std::int32_t> members, std::int32_t block) const {
    for (const auto& capacity : capacities_) {
        double sum = capacity.amount[static_cast<std::size_t>(block)];
        for (const auto member : members)
            sum += capacity.amount[static_cast<std::size_t>(member)];
        if (sum > capacity.limit)
            return false;
    }
    return true;
}

bool ClusterRules::fitBudgets(std::span<const std::int32_t> members, std::int32_t block) const {
    for (const auto& budget : budgets_) {
        const auto count = [&](std::int32_t b, std::int32_t c) {
            return budget.count[static_cast<std::size_t>(b) * nBlocks_ + static_cast<std::size_t>(c)];
        };
        double sum = count(block, block);
        for (std::size_t i = 0; i != members.size(); ++i) {
            sum += count(members[i], block) + count(members[i], members[i]);
            for (std::size_t j = 0; j != i; ++j)
                sum += count(members[i], members[j]);
        }
        if (sum > budget.limit)
            return false;
    }
    return true;
}

} // namespace konstrain::exact
