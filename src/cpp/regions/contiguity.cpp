#include "contiguity.h"

#include <algorithm>
#include <numeric>

namespace konstrain::regions {

Contiguity::Contiguity(const Graph& graph, std::size_t nClusters)
    : graph_(graph), labels_(graph.nParts()), nPieces_(nClusters), visited_(graph.nParts()),
      wanted_(graph.nParts()) {}

void Contiguity::assign(std::span<const std::int32_t> labels) {
    for (std::size_t part = 0; part != labels_.size(); ++part)
        labels_[part] = labels[graph_.block(part)];
    const std::vector<std::int32_t> piece = pieces();
    std::ranges::fill(nPieces_, 0);
    std::int32_t nMet = 0;
    for (std::size_t part = 0; part != labels_.size(); ++part)
        if (piece[part] == nMet) { // pieces are numbered by their first parts
            ++nMet;
            ++nPieces_[static_cast<std::size_t>(labels_[part])];
        }
}

std::int64_t Contiguity::nExcess() const {
    std::int64_t excess = 0;
    for (const auto n : nPieces_)
        excess += std::max<std::int64_t>(0, n - 1);
    return excess;
}

std::vector<std::int32_t> Contiguity::pieces() const {
    std::vector<std::int32_t> piece(labels_.size(), -1);
    std::vector<std::size_t> stack;
    std::int32_t n = 0;
    for (std::size_t first = 0; first != labels_.size(); ++first) {
        if (piece[first] >= 0)
            continue;
        piece[first] = n;
        stack.assign(1, first);
        while (!stack.empty()) {
            const std::size_t part = stack.back();
            stack.pop_back();
            forEachNeighbour(graph_, part, [&](std::size_t other) {
                if (piece[other] < 0 && labels_[other] == labels_[part]) {
                    piece[other] = n;
                    stack.push_back(other);
                }
            });
        }
        ++n;
    }
    return piece;
}

// Visits what is connected to a part within a cluster, breadth first, until `reach` returns true. Parts that
// carry the mark of the present search already are passed over.
template <typename Reach> void Contiguity::search(std::size_t from, std::int32_t cluster, Reach reach) {
    queue_.assign(1, from);
    visited_[from] = nSearches_;
    if (reach(from))
        return;
    for (std::size_t at = 0; at != queue_.size(); ++at) {
        const auto last = static_cast<std::size_t>(graph_.start[queue_[at] + 1]);
        for (auto edge = static_cast<std::size_t>(graph_.start[queue_[at]]); edge != last; ++edge) {
            const std::size_t other = graph_.end(edge);
            if (labels_[other] != cluster || visited_[other] == nSearches_)
                continue;
            visited_[other] = nSearches_;
            queue_.push_back(other);
            if (reach(other))
                return;
        }
    }
}

bool Contiguity::isPassable(std::size_t block, std::int32_t cluster) {
    const std::size_t part = graph_.partBegin(block);
    ++nSearches_;
    int left = 0;
    std::size_t first = part;
    forEachNeighbour(graph_, part, [&](std::size_t other) {
        if (labels_[other] == cluster) {
            wanted_[other] = nSearches_;
            first = other;
            ++left;
        }
    });
    if (left <= 1)
        return left == 1;
    visited_[part] = nSearches_;
    search(first, cluster, [&](std::size_t other) { return wanted_[other] == nSearches_ && --left == 0; });
    return left == 0;
}

Contiguity::Around Contiguity::around(std::size_t block, std::int32_t cluster) {
    const std::size_t begin = graph_.partBegin(block), nOwn = graph_.partEnd(block) - begin;
    ++nSearches_;
    for (std::size_t part = begin; part != graph_.partEnd(block); ++part)
        visited_[part] = nSearches_;
    // Union of the own parts that a piece of the cluster connects.
    std::vector<std::size_t> parent(nOwn);
    std::iota(parent.begin(), parent.end(), std::size_t{0});
    const auto root = [&](std::size_t at) {
        while (parent[at] != at)
            at = parent[at];
        return at;
    };
    int apart = 0, together = static_cast<int>(nOwn);
    for (std::size_t part = begin; part != graph_.partEnd(block); ++part)
        forEachNeighbour(graph_, part, [&](std::size_t first) {
            if (labels_[first] != cluster || visited_[first] == nSearches_)
                return;
            ++apart;
            search(first, cluster, [](std::size_t) { return false; });
            for (const std::size_t met : queue_)
                forEachNeighbour(graph_, met, [&](std::size_t other) {
                    if (graph_.block(other) != block || root(other - begin) == root(part - begin))
                        return;
                    parent[root(other - begin)] = root(part - begin);
                    --together;
                });
        });
    return {apart, together};
}

// A block of one part that leaves takes a piece away only where it is one; where it joins it connects no more
// pieces than it has neighbours.
std::int64_t Contiguity::mostMerged(std::size_t block, std::size_t to) const {
    const std::int32_t own = labels_[graph_.partBegin(block)];
    const std::int64_t ownExtra = nPieces_[static_cast<std::size_t>(own)] - 1, there = nPieces_[to] - 1;
    if (graph_.isSplit(block) || ownExtra + there <= 0)
        return ownExtra + there;
    std::int64_t nOwn = 0, nThere = 0;
    forEachNeighbour(graph_, graph_.partBegin(block), [&](std::size_t other) {
        nOwn += labels_[other] == own;
        nThere += labels_[other] == static_cast<std::int32_t>(to);
    });
    return std::min(there, std::max<std::int64_t>(0, nThere - 1)) + (nOwn == 0 ? 1 : 0);
}

int Contiguity::changeByJoining(std::size_t block, std::size_t cluster) {
    const auto label = static_cast<std::int32_t>(cluster);
    if (nPieces_[cluster] != 1) {
        if (!graph_.isSplit(block) && isPassable(block, label))
            return 0;
        const Around found = around(block, label);
        return found.together - found.apart;
    }
    // Parts that touch the one piece become part of it; the others are pieces of their own.
    int nLoose = 0;
    for (std::size_t part = graph_.partBegin(block); part != graph_.partEnd(block); ++part) {
        bool touches = false;
        forEachNeighbour(graph_, part, [&](std::size_t other) { touches |= labels_[other] == label; });
        nLoose += touches ? 0 : 1;
    }
    return nLoose;
}

int Contiguity::changeByLeaving(std::size_t block) {
    const std::int32_t label = labels_[graph_.partBegin(block)];
    if (!graph_.isSplit(block) && isPassable(block, label))
        return 0;
    const Around found = around(block, label);
    return found.apart - found.together;
}

void Contiguity::move(std::size_t block, std::size_t to, int joining, int leaving) {
    nPieces_[static_cast<std::size_t>(labels_[graph_.partBegin(block)])] += leaving;
    nPieces_[to] += joining;
    for (std::size_t part = graph_.partBegin(block); part != graph_.partEnd(block); ++part)
        labels_[part] = static_cast<std::int32_t>(to);
}

} // namespace konstrain::regions
