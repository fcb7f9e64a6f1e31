#pragma once

#include <cstddef>
#include <vector>

namespace konstrain {

// The cheapest ways to bring one row of a kind from a cluster to another: directly, or through clusters that
// take one in and pass another on, and so hold what they held before.
class KindChains {
public:
    KindChains(std::size_t nKinds, std::size_t nClusters);

    // Some row of this kind may go at this cost; `move` is how the caller knows it.
    void offer(std::size_t kind, std::size_t from, std::size_t to, double cost, std::size_t move);
    // After all offers: joins them to chains.
    void join();

    double cost(std::size_t kind, std::size_t from, std::size_t to) const {
        return links_[at(kind, from, to)].cost;
    }
    // The moves of a chain, which must exist.
    std::vector<std::size_t> moves(std::size_t kind, std::size_t from, std::size_t to) const;

private:
    struct Link {
        double cost;
        std::size_t move; // the first of the chain
        std::size_t next; // the cluster it leads to
    };

    std::size_t at(std::size_t kind, std::size_t from, std::size_t to) const {
        return (kind * nClusters_ + from) * nClusters_ + to;
    }

    std::size_t nKinds_;
    std::size_t nClusters_;
    std::vector<Link> links_;
};

} // namespace konstrain
