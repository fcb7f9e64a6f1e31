#include "row_kinds.h"

#include <algorithm>

namespace konstrain {

namespace {

// Beyond so many kinds a row takes longer to find its own than to be priced by its amounts.
constexpr std::size_t mostKinds = 32;

} // namespace

RowKinds::RowKinds(std::span<const double> amounts, std::size_t nAmounts) {
    const std::size_t nRows = nAmounts == 0 ? 0 : amounts.size() / nAmounts;
    kinds_.reserve(nRows);
    for (std::size_t row = 0; row != nRows; ++row) {
        const double* amount = amounts.data() + row * nAmounts;
        const auto isSame = [&](std::size_t other) {
            return std::equal(amount, amount + nAmounts, amounts.data() + other * nAmounts);
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
