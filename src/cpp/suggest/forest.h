#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace konstrain::suggest {

// What a random forest (Breiman 2001) learns from: rows and the class of each.
struct LabeledRows {
    std::span<const double> rows; // one after the other, nFeatures each
    std::span<const std::int32_t> classes;
    std::size_t nFeatures;
    std::size_t nClasses;

    [[nodiscard]] std::size_t size() const { return classes.size(); }
    [[nodiscard]] double at(std::size_t row, std::size_t feature) const {
        return rows[row * nFeatures + feature];
    }
};

// Grows trees until their leaves are pure and writes the leaf that each tree puts each row in: `leaves` has a
// line per tree. A tree learns from `nDrawn` rows drawn with repetition; at each node the root of the number
// of features is tried, and more of them only while none tells rows apart. Leaves of a tree count from 0.
void growForest(const LabeledRows& data, std::size_t nDrawn, std::uint64_t seed,
                std::span<std::int32_t> leaves);

} // namespace konstrain::suggest
