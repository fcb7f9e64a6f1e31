#include "repair_pieces.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace konstrain::regions {

namespace {

using search::Problem;
using search::State;

constexpr std::size_t none = std::numeric_limits<std::size_t>::max();

class PieceRepair {
public:
    PieceRepair(const Problem& problem, const Graph& graph, State& state)
        : problem_(problem), graph_(graph), state_(state), contiguity_(graph, problem.nClusters),
          isFixed_(problem.nBlocks) {}

    std::size_t run() {
        recount(problem_, state_);
        if (graph_.hasSplitBlocks())
            connectSplitBlocks();
        contiguity_.assign(state_.labels);
        keepHeaviest();
        return joinStrays();
    }

private:
    double cost(std::size_t block, std::size_t cluster) const {
        return problem_.weight[block] * search::squaredDistance(problem_.mean(block),
                                                                state_.center(cluster, problem_),
                                                                problem_.nFeatures);
    }

    // All blocks of several parts that a cluster has become one piece with what connects them.
    void connectSplitBlocks() {
        std::vector<std::size_t> firstOf(problem_.nClusters, none);
        for (std::size_t block = 0; block != problem_.nBlocks; ++block)
            isFixed_[block] = graph_.isSplit(block);
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            if (!graph_.isSplit(block))
                continue;
            std::size_t& first = firstOf[state_.label(block)];
            first = first == none ? graph_.partBegin(block) : first;
            for (std::size_t part = graph_.partBegin(block); part != graph_.partEnd(block); ++part)
                connect(first, part);
        }
    }

    // The cheapest path between two parts of a cluster; blocks on it join the cluster and stay.
    void connect(std::size_t from, std::size_t target) {
        const std::size_t cluster = state_.label(graph_.block(from));
        std::vector<double> distance(graph_.nParts(), std::numeric_limits<double>::infinity());
        std::vector<std::size_t> before(graph_.nParts(), none);
        using Entry = std::pair<double, std::size_t>;
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
        open.emplace(distance[from] = 0.0, from);
        while (!open.empty() && open.top().second != target) {
            const auto [length, part] = open.top();
            open.pop();
            if (length > distance[part])
                continue;
            forEachNeighbour(graph_, part, [&, here = part, soFar = length](std::size_t other) {
                const std::size_t block = graph_.block(other), label = state_.label(block);
                double step = 0.0;
                if (label != cluster) {
                    if (isFixed_[block] || state_.count[label] <= problem_.leastCount())
                        return;
                    // Rows without weight cost nothing: shorter paths are better among them.
                    step = cost(block, cluster) + std::numeric_limits<double>::min();
                }
                if (soFar + step < distance[other]) {
                    distance[other] = soFar + step;
                    before[other] = here;
                    open.emplace(distance[other], other);
                }
            });
        }
        if (open.empty())
            return;
        for (std::size_t part = target; part != none; part = before[part]) {
            const std::size_t block = graph_.block(part);
            isFixed_[block] = 1;
            if (state_.label(block) != cluster)
                moveBlock(problem_, state_, block, cluster);
        }
    }

    // Marks the blocks outside the heaviest piece of their cluster. Pieces with fixed blocks come first, then
    // weight counts, then the number of parts.
    void keepHeaviest() {
        const std::vector<std::int32_t> piece = contiguity_.pieces();
        const auto n = static_cast<std::size_t>(*std::ranges::max_element(piece)) + 1;
        std::vector<std::tuple<bool, double, int>> size(n);
        std::vector<std::size_t> heaviest(problem_.nClusters, none);
        for (std::size_t part = 0; part != piece.size(); ++part) {
            const std::size_t block = graph_.block(part);
            auto& [fixed, weight, count] = size[static_cast<std::size_t>(piece[part])];
            fixed |= static_cast<bool>(isFixed_[block]);
            weight += problem_.weight[block];
            ++count;
        }
        for (std::size_t part = 0; part != piece.size(); ++part) {
            std::size_t& best = heaviest[static_cast<std::size_t>(contiguity_.label(part))];
            const auto own = static_cast<std::size_t>(piece[part]);
            if (best == none || size[own] > size[best])
                best = own;
        }
        isStray_.assign(problem_.nBlocks, 0);
        for (std::size_t part = 0; part != piece.size(); ++part)
            if (heaviest[static_cast<std::size_t>(contiguity_.label(part))] !=
                static_cast<std::size_t>(piece[part]))
                isStray_[graph_.block(part)] = !isFixed_[graph_.block(part)];
    }

    std::size_t joinStrays() {
        using Entry = std::tuple<double, double, std::size_t, std::size_t>; // links, cost, block, cluster
        std::priority_queue<Entry, std::vector<Entry>, std::greater<>> open;
        const auto offer = [&](std::size_t block, std::size_t cluster) {
            open.emplace(linkCost(problem_, state_, block, cluster).hard, cost(block, cluster), block,
                         cluster);
        };
        std::size_t nStrays = 0;
        for (std::size_t block = 0; block != problem_.nBlocks; ++block) {
            nStrays += static_cast<std::size_t>(isStray_[block]);
            for (std::size_t edge = graph_.edgeBegin(block); isStray_[block] && edge != graph_.edgeEnd(block);
                 ++edge) {
                const std::size_t other = graph_.block(graph_.end(edge));
                if (!isStray_[other])
                    offer(block, state_.label(other));
            }
        }
        while (!open.empty()) {
            const auto [links, price, block, cluster] = open.top();
            open.pop();
            if (!isStray_[block])
                continue;
            isStray_[block] = 0;
            state_.labels[block] = static_cast<std::int32_t>(cluster);
            for (std::size_t edge = graph_.edgeBegin(block); edge != graph_.edgeEnd(block); ++edge)
                if (const std::size_t other = graph_.block(graph_.end(edge)); isStray_[other])
                    offer(other, cluster);
        }
        return nStrays;
    }

    const Problem& problem_;
    const Graph& graph_;
    State& state_;
    Contiguity contiguity_;
    std::vector<char> isFixed_; // blocks of several parts, and what connects them
    std::vector<char> isStray_;
};

} // namespace

std::size_t repairPieces(const Problem& problem, const Graph& graph, State& state) {
    return PieceRepair(problem, graph, state).run();
}

} // namespace konstrain::regions
