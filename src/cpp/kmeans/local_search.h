#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "deadline.h"
#include "search_state.h"

namespace konstrain {

// What is known of the labels that a search starts from.
struct KnownStart {
    std::span<const double> means; // of the clusters
    double cost;
};

struct LocalSearchOptions {
    std::size_t maxPasses = 100;
    std::uint64_t seed = 0;
    TimePoint deadline = TimePoint::max();
    bool keepRecords = false;
    // Blocks that may move, one at a time: nothing else is tried. Unset: all blocks, and sets of them too.
    std::optional<std::span<const std::int32_t>> movable = std::nullopt;
    // Set: moves are trusted to gain what they were made for, and no pass over all blocks checks that.
    std::optional<KnownStart> known = std::nullopt;
};

struct LocalSearchResult {
    double cost;
    std::int64_t nMoves;
    std::vector<MoveRecord> records; // empty unless asked for
};

// Lowers the objective of `labels` in place by moves that keep every hard link and size, until no move
// improves it, `maxPasses` are over or the deadline has passed. Never raises it.
LocalSearchResult searchLocally(const SearchProblem& problem, std::span<std::int32_t> labels,
                                const LocalSearchOptions& options);

} // namespace konstrain
