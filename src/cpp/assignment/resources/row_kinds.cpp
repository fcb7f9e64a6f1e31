#include "row_kinds.h"

#include <algorithm>

namespace konstrain {

namespace {

// Beyond so many kinds a row takes longer to find its own than to be priced by its amounts.
constexpr std::size_t mostKinds = 32;

} // namespace

RowKinds::RowKinds(const ResourceProblem& problem) {
    kinds_.reserve(problem.nRows());
    for (std::size_t row = 0; row != problem.nRows(); ++row) {
        const double* amount = problem.amount(row);
        const auto isSame = [&](std::size_t other) {
            return std::equal(amount, amount + problem.nAmounts, problem.amount(other));
        };
        const auto found = std::ranges::find_if(examples_, isSame);
        kinds_.push_back(static_cast<std::uint8_t>(found - examples_.begin()));
        if (found != examples_.end())
            continue;
        if (examples_.size() == mostKinds) {
            examples_.clear();
            return;
        }
        examples_.push_back(row);
    }
}

} // namespace konstrain
