#include "maximal_cliques.h"

#include <algorithm>
#include <bit>
#include <span>
#include <utility>

namespace konstrain::linked {

namespace {

// Bron and Kerbosch's enumeration with pivots (Tomita et al. 2006); sets of nodes are bits.
class MaximalCliques {
public:
    MaximalCliques(const Potts& potts, std::size_t mostMembers)
        : n_(potts.nNodes()), nWords_((n_ + 63) / 64), membersLeft_(mostMembers), linked_(n_ * nWords_, 0) {
        for (const PottsLink& link : potts.links()) {
            insert(row(static_cast<std::size_t>(link.first)), static_cast<std::size_t>(link.second));
            insert(row(static_cast<std::size_t>(link.second)), static_cast<std::size_t>(link.first));
        }
    }

    // Empty when the cliques have too many members.
    std::vector<std::vector<std::int32_t>> run() {
        Words candidates(nWords_, 0);
        for (std::size_t node = 0; node != n_; ++node)
            insert(candidates, node);
        extend(std::move(candidates), Words(nWords_, 0));
        return tooMany_ ? std::vector<std::vector<std::int32_t>>{} : std::move(cliques_);
    }

private:
    using Words = std::vector<std::uint64_t>;

    std::span<std::uint64_t> row(std::size_t node) { return {linked_.data() + node * nWords_, nWords_}; }
    static void insert(std::span<std::uint64_t> set, std::size_t node) {
        set[node / 64] |= std::uint64_t{1} << (node % 64);
    }
    static void erase(std::span<std::uint64_t> set, std::size_t node) {
        set[node / 64] &= ~(std::uint64_t{1} << (node % 64));
    }
    static bool isEmpty(std::span<const std::uint64_t> set) {
        return std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; });
    }
    static Words meet(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b) {
        Words both(a.size());
        for (std::size_t i = 0; i != a.size(); ++i)
            both[i] = a[i] & b[i];
        return both;
    }
    template <typename Visit> static void forEach(std::span<const std::uint64_t> set, Visit visit) {
        for (std::size_t i = 0; i != set.size(); ++i)
            for (std::uint64_t word = set[i]; word != 0; word &= word - 1)
                visit(64 * i + static_cast<std::size_t>(std::countr_zero(word)));
    }

    // Among all nodes that could still be added, or could have been, the one linked to most candidates: every
    // maximal clique holds it or a candidate that is not linked to it.
    std::size_t pivot(std::span<const std::uint64_t> candidates, std::span<const std::uint64_t> excluded) {
        std::size_t chosen = 0;
        int most = -1;
        const auto consider = [&](std::size_t node) {
            int count = 0;
            for (std::size_t i = 0; i != nWords_; ++i)
                count += std::popcount(candidates[i] & row(node)[i]);
            if (count > most) {
                most = count;
                chosen = node;
            }
        };
        forEach(candidates, consider);
        forEach(excluded, consider);
        return chosen;
    }

    // Invariant: a candidate is linked to all of `clique_` and leads to cliques not reported yet; an excluded
    // node is linked to all of `clique_`, and cliques with it were reported by an earlier branch. So a clique
    // is maximal when both sets are empty, and none is reported twice.
    // Reports the maximal cliques made of `clique_` and candidates.
    void extend(Words candidates, Words excluded) {
        if (isEmpty(candidates)) {
            if (isEmpty(excluded) && clique_.size() > 1)
                report();
            return;
        }
        const auto ofPivot = row(pivot(candidates, excluded));
        Words branches = candidates;
        for (std::size_t i = 0; i != nWords_; ++i)
            branches[i] &= ~ofPivot[i];
        forEach(branches, [&](std::size_t node) {
            if (tooMany_)
                return;
            clique_.push_back(static_cast<std::int32_t>(node));
            extend(meet(candidates, row(node)), meet(excluded, row(node)));
            clique_.pop_back();
            erase(candidates, node);
            insert(excluded, node);
        });
    }

    void report() {
        tooMany_ = clique_.size() > membersLeft_;
        if (tooMany_)
            return;
        membersLeft_ -= clique_.size();
        cliques_.push_back(clique_);
    }

    std::size_t n_;
    std::size_t nWords_;
    std::size_t membersLeft_;
    bool tooMany_ = false;
    Words linked_; // row-major
    std::vector<std::int32_t> clique_;
    std::vector<std::vector<std::int32_t>> cliques_;
};

} // namespace

std::vector<std::vector<std::int32_t>> maximalCliques(const Potts& potts, std::size_t mostMembers) {
    return MaximalCliques(potts, mostMembers).run();
}

} // namespace konstrain::linked
