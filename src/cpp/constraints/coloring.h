#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain {

// A conflict graph in compressed rows: symmetric, neighbours sorted within a row, no loops.
struct ConflictView {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;

    std::size_t size() const { return indptr.size() - 1; }
    std::span<const std::int32_t> neighbours(std::int32_t node) const {
        const auto begin = static_cast<std::size_t>(indptr[static_cast<std::size_t>(node)]);
        const auto end = static_cast<std::size_t>(indptr[static_cast<std::size_t>(node) + 1]);
        return indices.subspan(begin, end - begin);
    }
};

enum class Verdict : std::int8_t { Undecided = -1, Uncolorable = 0, Colorable = 1 };

// A large clique, ascending; not always the largest. Ends with what it has after `seconds`.
std::vector<std::int32_t> greedyClique(const ConflictView& graph, double seconds);

struct ComponentVerdicts {
    std::vector<std::int32_t> component; // per node; -1: so few conflicts that it can always be coloured last
    std::vector<std::int8_t> verdict;    // per component, a `Verdict`
};

// Decides for each connected component whether `nColors` colours suffice. Every component gets at least one
// pass of DSATUR; the exact search that may have to follow shares `seconds` with all others.
ComponentVerdicts colorComponents(const ConflictView& graph, std::int32_t nColors, double seconds);

struct UncolorableSet {
    std::vector<std::int32_t> members; // ascending
    bool irreducible;                  // whether every proper subset is proved to be colourable
};

// Shrinks `members`, whose conflicts `nColors` colours cannot satisfy, by deletion: what remains cannot be
// coloured either.
UncolorableSet shrinkUncolorable(const ConflictView& graph, std::span<const std::int32_t> members,
                                 std::int32_t nColors, double seconds);

} // namespace konstrain
