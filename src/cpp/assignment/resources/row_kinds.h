#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain {

// Rows that hold the same amounts are of one kind: with categories alone there are few kinds, and what a row
// pays in a cluster beside its cost is then the same for thousands of rows. With amounts of their own for
// most rows there are no kinds.
class RowKinds {
public:
    // `amounts` is rows x nAmounts.
    RowKinds(std::span<const double> amounts, std::size_t nAmounts);

    bool areFew() const { return !examples_.empty(); }
    std::size_t count() const { return examples_.size(); }
    std::size_t of(std::size_t row) const { return kinds_[row]; }
    // A row of this kind.
    std::size_t example(std::size_t kind) const { return examples_[kind]; }

private:
    std::vector<std::uint8_t> kinds_; // of each row
    std::vector<std::size_t> examples_;
};

} // namespace konstrain
