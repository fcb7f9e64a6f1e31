#include "stable_sets.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <functional>
#include <optional>

#include "infinity.h"

namespace konstrain {

namespace {

// Branchings after which a bound has to do. Most sets take fewer than 20.
constexpr std::size_t mostBranchings = 2000;

template <std::size_t nWords> class Search {
public:
    using Set = std::array<std::uint64_t, nWords>;
    using Weights = std::array<double, 64 * nWords>;

    explicit Search(std::size_t nNodes) : linked_(nNodes, Set{}) {}

    // One direction; the other end says the same.
    void link(std::size_t a, std::size_t b) { insert(linked_[a], b); }

    bool wasCutShort() const { return branchings_ > mostBranchings; }

    // The heaviest stable set of `among` if it weighs more than `floor`, with its weight. Only nodes of
    // `changed` can be folded: the others could not be before, and nothing around them is different.
    std::optional<double> heaviest(Set among, const Set& changed, Weights weight, double floor, Set& chosen) {
        if (++branchings_ > mostBranchings)
            return std::nullopt;
        Folded folded = fold(among, weight, changed);
        const double left = floor - folded.weight;
        chosen = Set{};
        std::optional<double> found = 0.0;
        if (isEmpty(among))
            found = left < 0.0 ? found : std::nullopt;
        else if (cover(among, weight, left) <= left)
            found = std::nullopt;
        else
            found = solveCore(among, weight, left, chosen);
        if (!found || wasCutShort())
            return std::nullopt;
        for (std::size_t i = folded.count; i-- != 0;)
            if (isEmpty(meet(chosen, linked_[folded.nodes[i]])))
                insert(chosen, folded.nodes[i]);
        return folded.weight + *found;
    }

    // What no stable set outweighs: cliques, each paid once, that together pay every node its weight. Ends as
    // soon as that is more than `enough`.
    double cover(Set among, Weights weight, double enough = infinity) const {
        double sum = 0.0;
        while (!isEmpty(among) && sum <= enough) {
            Set clique{};
            double least = infinity;
            for (Set candidates = among; !isEmpty(candidates);) {
                const std::size_t next = first(candidates); // about the heaviest: nodes come by weight
                insert(clique, next);
                least = std::min(least, weight[next]);
                candidates = meet(candidates, linked_[next]);
            }
            sum += least;
            forEach(clique, [&](std::size_t node) {
                weight[node] -= least;
                if (!(weight[node] > 0.0))
                    erase(among, node);
            });
        }
        return sum;
    }

    static void insert(Set& set, std::size_t node) { set[node / 64] |= std::uint64_t{1} << (node % 64); }
    template <typename Visit> static void forEach(const Set& set, Visit visit) {
        for (std::size_t i = 0; i != nWords; ++i)
            for (std::uint64_t word = set[i]; word != 0; word &= word - 1)
                visit(64 * i + static_cast<std::size_t>(std::countr_zero(word)));
    }

private:
    // Nodes that are in the set unless one of their neighbours is, and what the set weighs by them.
    struct Folded {
        std::array<std::size_t, 64 * nWords> nodes;
        std::size_t count = 0;
        double weight = 0.0;
    };

    static void erase(Set& set, std::size_t node) { set[node / 64] &= ~(std::uint64_t{1} << (node % 64)); }
    static bool contains(const Set& set, std::size_t node) { return (set[node / 64] >> (node % 64)) & 1; }
    static bool isEmpty(const Set& set) {
        return std::ranges::all_of(set, [](std::uint64_t word) { return word == 0; });
    }
    template <typename Operation> static Set combine(const Set& a, const Set& b, Operation operation) {
        Set both;
        for (std::size_t i = 0; i != nWords; ++i)
            both[i] = operation(a[i], b[i]);
        return both;
    }
    static Set meet(const Set& a, const Set& b) { return combine(a, b, std::bit_and{}); }
    static Set join(const Set& a, const Set& b) { return combine(a, b, std::bit_or{}); }
    static Set without(const Set& a, const Set& b) {
        return combine(a, b, [](std::uint64_t x, std::uint64_t y) { return x & ~y; });
    }
    static std::size_t first(const Set& set) {
        std::size_t word = 0;
        while (set[word] == 0)
            ++word;
        return 64 * word + static_cast<std::size_t>(std::countr_zero(set[word]));
    }
    static double weightOf(const Set& set, const Weights& weight) {
        double sum = 0.0;
        forEach(set, [&](std::size_t node) { sum += weight[node]; });
        return sum;
    }

    static bool weighsAtMost(Set set, const Weights& weight, double most) {
        double sum = 0.0;
        while (!isEmpty(set) && sum <= most) {
            const std::size_t node = first(set);
            sum += weight[node];
            erase(set, node);
        }
        return sum <= most;
    }

    Set neighboursOf(const Set& nodes) const {
        Set all{};
        forEach(nodes, [&](std::size_t node) { all = join(all, linked_[node]); });
        return all;
    }

    bool isClique(Set nodes) const {
        while (!isEmpty(nodes)) {
            const std::size_t node = first(nodes);
            erase(nodes, node);
            if (!isEmpty(without(nodes, linked_[node])))
                return false;
        }
        return true;
    }

    // Takes nodes that outweigh all their neighbours. A node whose neighbours are all linked can be taken for
    // each of them: these are worth only what they weigh more.
    Folded fold(Set& among, Weights& weight, Set open) const {
        Folded folded;
        while (!isEmpty(open)) {
            const std::size_t node = first(open);
            erase(open, node);
            const Set neighbours = meet(among, linked_[node]);
            const bool isHeavy = weighsAtMost(neighbours, weight, weight[node]);
            if (!isHeavy && !isClique(neighbours))
                continue;
            folded.nodes[folded.count++] = node;
            folded.weight += weight[node];
            erase(among, node);
            forEach(neighbours, [&](std::size_t neighbour) {
                weight[neighbour] -= weight[node];
                if (isHeavy || !(weight[neighbour] > 0.0))
                    erase(among, neighbour);
            });
            open = meet(join(open, join(neighbours, neighboursOf(neighbours))), among);
        }
        return folded;
    }

    std::optional<double> solveCore(const Set& among, const Weights& weight, double floor, Set& chosen) {
        const Set part = componentOf(first(among), among);
        const Set rest = without(among, part);
        return isEmpty(rest) ? branch(among, weight, floor, chosen)
                             : solveParts(part, rest, weight, floor, chosen);
    }

    Set componentOf(std::size_t node, const Set& among) const {
        Set reached{};
        insert(reached, node);
        for (Set fresh = reached; !isEmpty(fresh); reached = join(reached, fresh))
            fresh = without(meet(neighboursOf(fresh), among), reached);
        return reached;
    }

    std::optional<double> solveParts(const Set& part, const Set& rest, const Weights& weight, double floor,
                                     Set& chosen) {
        Set ofRest{};
        const auto one = heaviest(part, Set{}, weight, floor - cover(rest, weight), chosen);
        const auto other = one ? heaviest(rest, Set{}, weight, floor - *one, ofRest) : std::nullopt;
        if (!other)
            return std::nullopt;
        chosen = join(chosen, ofRest);
        return *one + *other;
    }

    // With and without a node: one that weighs much, for the sake of the part without it, and whose
    // neighbours do, for the sake of the part with it.
    std::optional<double> branch(const Set& among, const Weights& weight, double floor, Set& chosen) {
        std::size_t node = first(among);
        double most = -1.0;
        forEach(among, [&](std::size_t candidate) {
            const double score = weight[candidate] * weightOf(meet(among, linked_[candidate]), weight);
            if (score > most) {
                most = score;
                node = candidate;
            }
        });
        Set others = among;
        erase(others, node);
        const Set beside = meet(others, linked_[node]);
        const Set apart = without(others, beside);
        const Set nearby = meet(apart, neighboursOf(beside));
        Set set{};
        std::optional<double> best;
        if (const auto with = heaviest(apart, nearby, weight, floor - weight[node], set)) {
            best = *with + weight[node];
            insert(set, node);
            chosen = set;
        }
        if (const auto without =
                heaviest(others, beside, weight, best ? std::max(floor, *best) : floor, set)) {
            best = without;
            chosen = set;
        }
        return best;
    }

    std::vector<Set> linked_;
    std::size_t branchings_ = 0;
};

} // namespace

StableSets::StableSets(const Potts& potts)
    : potts_(potts), nNodes_(potts.nNodes()), linked_(nNodes_ * nNodes_, 0) {
    assert(nNodes_ <= mostNodes);
    for (const Link& link : potts.links()) {
        const auto a = static_cast<std::size_t>(link.first);
        const auto b = static_cast<std::size_t>(link.second);
        linked_[a * nNodes_ + b] = linked_[b * nNodes_ + a] = 1;
    }
}

StableSet StableSets::heaviest(std::vector<std::int32_t> candidates, std::span<const double> weight,
                               double floor) const {
    if (candidates.empty())
        return {{}, floor};
    std::ranges::stable_sort(candidates, std::greater{},
                             [&](std::int32_t node) { return weight[static_cast<std::size_t>(node)]; });
    if (candidates.size() <= 64)
        return search<1>(candidates, weight, floor);
    return candidates.size() <= 128 ? search<2>(candidates, weight, floor)
                                    : search<mostNodes / 64>(candidates, weight, floor);
}

template <std::size_t nWords>
StableSet StableSets::search(std::span<const std::int32_t> candidates, std::span<const double> weight,
                             double floor) const {
    using Graph = Search<nWords>;
    Graph graph(candidates.size());
    typename Graph::Set all{};
    typename Graph::Weights weights{};
    std::vector<std::int32_t> place(nNodes_, -1);
    for (std::size_t a = 0; a != candidates.size(); ++a) {
        const auto node = static_cast<std::size_t>(candidates[a]);
        Graph::insert(all, a);
        weights[a] = weight[node];
        place[node] = static_cast<std::int32_t>(a);
    }
    for (std::size_t a = 0; a != candidates.size(); ++a)
        for (const Neighbour& neighbour : potts_.neighbours(static_cast<std::size_t>(candidates[a])))
            if (const std::int32_t b = place[static_cast<std::size_t>(neighbour.node)]; b >= 0)
                graph.link(a, static_cast<std::size_t>(b));
    typename Graph::Set chosen{};
    const std::optional<double> found = graph.heaviest(all, all, weights, floor, chosen);
    if (graph.wasCutShort())
        return {{}, std::max(floor, graph.cover(all, weights))};
    if (!found)
        return {{}, floor};
    StableSet best{{}, *found};
    Graph::forEach(chosen, [&](std::size_t a) { best.nodes.push_back(candidates[a]); });
    return best;
}

} // namespace konstrain
