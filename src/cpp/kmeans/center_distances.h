#pragma once

#include <cstdint>
#include <vector>

#include "partition.h"

namespace konstrain {

// Lower bounds on the distance between any two centers. Centers move a little with every move of a block, so
// the table is brought up to date now and then and what the centers travelled since is taken off.
class CenterDistances {
public:
    explicit CenterDistances(const Partition& partition);

    void update();
    double atLeast(std::size_t p, std::size_t q) const {
        if (table_.empty())
            return 0.0;
        const double gone = partition_.travelled(p) - travelled_[p] + partition_.travelled(q) - travelled_[q];
        return table_[p * nClusters_ + q] - gone;
    }

private:
    const Partition& partition_;
    std::size_t nClusters_;
    std::vector<double> table_; // empty when there are too many clusters for it
    std::vector<double> travelled_;
    std::int64_t updated_ = -1;
};

} // namespace konstrain
