#include "local_search.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "pair_moves.h"
#include "random.h"
#include "single_moves.h"

namespace konstrain {

namespace {

std::vector<std::size_t> movableBlocks(std::size_t n, const LocalSearchOptions& options) {
    if (options.movable)
        return {options.movable->begin(), options.movable->end()};
    std::vector<std::size_t> blocks(n);
    std::iota(blocks.begin(), blocks.end(), std::size_t{0});
    return blocks;
}

bool passOverBlocks(SingleMoves& moves, const SearchState& state, std::span<const std::size_t> order) {
    bool moved = false;
    for (std::size_t i = 0; i != order.size(); ++i) {
        if (i % 256 == 0 && state.expired())
            break;
        moved |= moves.tryBlock(order[i]);
    }
    return moved;
}

bool passOverPairs(PairMoves& moves, const SearchState& state, std::size_t nClusters) {
    bool moved = false;
    for (std::size_t p = 1; p < nClusters; ++p)
        for (std::size_t q = 0; q != p; ++q) {
            if (state.expired())
                return moved;
            moved |= moves.explore(p, q);
        }
    return moved;
}

} // namespace

LocalSearchResult searchLocally(const SearchProblem& problem, std::span<std::int32_t> labels,
                                const LocalSearchOptions& options) {
    const std::vector<std::int32_t> start(labels.begin(), labels.end());
    Partition partition(problem, labels, options.known ? options.known->means : std::span<const double>{});
    const double startCost = options.known ? options.known->cost : partition.cost();
    SearchState state(partition, startCost, options.deadline, options.keepRecords);
    CenterDistances distances(partition);
    SingleMoves singles(state, distances);
    PairMoves pairs(state);
    Random random(options.seed);
    std::vector<std::size_t> order = movableBlocks(problem.nBlocks(), options);
    shuffle(order, random);

    // Pairs of clusters cost more to look at: only when no single block moves any more.
    for (std::size_t pass = 0; pass != options.maxPasses && !state.expired(); ++pass) {
        distances.update();
        if (passOverBlocks(singles, state, order))
            continue;
        if (options.movable || !passOverPairs(pairs, state, problem.nClusters()))
            break;
    }

    if (options.known)
        return {startCost + state.change(), partition.now(), std::move(state.records())};
    const double cost = partition.cost();
    // Every move lowered the cost by its own account; if rounding says otherwise, nothing was gained.
    if (cost > startCost) {
        std::ranges::copy(start, labels.begin());
        return {startCost, 0, {}};
    }
    return {cost, partition.now(), std::move(state.records())};
}

} // namespace konstrain
