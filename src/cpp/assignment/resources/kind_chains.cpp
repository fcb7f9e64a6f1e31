#include "kind_chains.h"

#include <cassert>

#include "infinity.h"

namespace konstrain {

KindChains::KindChains(std::size_t nKinds, std::size_t nClusters)
    : nKinds_(nKinds), nClusters_(nClusters), links_(nKinds * nClusters * nClusters, {infinity, 0, 0}) {}

void KindChains::offer(std::size_t kind, std::size_t from, std::size_t to, double cost, std::size_t move) {
    assert(cost >= 0.0 && from != to);
    Link& link = links_[at(kind, from, to)];
    if (cost < link.cost)
        link = {cost, move, to};
}

// Floyd and Warshall's way, kind by kind.
void KindChains::join() {
    for (std::size_t kind = 0; kind != nKinds_; ++kind)
        for (std::size_t through = 0; through != nClusters_; ++through)
            for (std::size_t from = 0; from != nClusters_; ++from) {
                const Link first = links_[at(kind, from, through)];
                if (from == through || first.cost == infinity)
                    continue;
                for (std::size_t to = 0; to != nClusters_; ++to) {
                    Link& link = links_[at(kind, from, to)];
                    const double joined = first.cost + cost(kind, through, to);
                    if (from != to && joined < link.cost)
                        link = {joined, first.move, first.next};
                }
            }
}

std::vector<std::size_t> KindChains::moves(std::size_t kind, std::size_t from, std::size_t to) const {
    std::vector<std::size_t> found;
    while (from != to) {
        const Link& link = links_[at(kind, from, to)];
        assert(link.cost < infinity && found.size() < nClusters_);
        found.push_back(link.move);
        from = link.next;
    }
    return found;
}

} // namespace konstrain
