#include "clique_cover.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <utility>

namespace konstrain::linked {

namespace {

class Cover {
public:
    explicit Cover(const Potts& potts)
        : potts_(potts), n_(potts.nNodes()), linked_(n_ * n_, 0), covered_(n_ * n_, 0) {
        for (const PottsLink& link : potts.links())
            mark(linked_, static_cast<std::size_t>(link.first), static_cast<std::size_t>(link.second));
    }

    std::vector<std::vector<std::int32_t>> run() {
        std::vector<std::size_t> order(n_);
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::stable_sort(order, std::greater{}, [&](std::size_t node) { return degree(node); });
        for (const std::size_t node : order)
            for (const Neighbour& neighbour : potts_.neighbours(node))
                if (!covered_[node * n_ + static_cast<std::size_t>(neighbour.node)])
                    grow(node, static_cast<std::size_t>(neighbour.node));
        return std::move(cliques_);
    }

private:
    std::size_t degree(std::size_t node) const { return potts_.neighbours(node).size(); }

    void mark(std::vector<char>& pairs, std::size_t a, std::size_t b) const {
        pairs[a * n_ + b] = 1;
        pairs[b * n_ + a] = 1;
    }

    // Extends a link to a clique, each time by the node that adds most uncovered links.
    void grow(std::size_t first, std::size_t second) {
        std::vector<std::size_t> clique{first, second};
        std::vector<std::size_t> candidates;
        for (const Neighbour& neighbour : potts_.neighbours(first))
            if (linked_[second * n_ + static_cast<std::size_t>(neighbour.node)])
                candidates.push_back(static_cast<std::size_t>(neighbour.node));
        while (!candidates.empty()) {
            const std::size_t next = *std::ranges::max_element(candidates, {}, [&](std::size_t node) {
                return std::pair(uncovered(clique, node), degree(node));
            });
            clique.push_back(next);
            std::erase_if(candidates, [&](std::size_t node) { return !linked_[next * n_ + node]; });
        }
        for (const std::size_t a : clique)
            for (const std::size_t b : clique)
                mark(covered_, a, b);
        cliques_.emplace_back(clique.begin(), clique.end());
    }

    std::size_t uncovered(const std::vector<std::size_t>& clique, std::size_t node) const {
        return static_cast<std::size_t>(
            std::ranges::count_if(clique, [&](std::size_t member) { return !covered_[node * n_ + member]; }));
    }

    const Potts& potts_;
    std::size_t n_;
    std::vector<char> linked_; // pairs of nodes, row-major
    std::vector<char> covered_;
    std::vector<std::vector<std::int32_t>> cliques_;
};

} // namespace

// Every link lies in some clique, so the rules of the cliques imply those of the links. All maximal cliques
// would bound more, but there may be exponentially many (3^(n/3), Moon and Moser 1965), and bounds that rise
// by less than they cost: O(n) cliques of greedy growth solve dense conflicts as fast.
std::vector<std::vector<std::int32_t>> coverByCliques(const Potts& potts) {
    return Cover(potts).run();
}

} // namespace konstrain::linked
