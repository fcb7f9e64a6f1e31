#include "center_distances.h"

#include <cmath>

namespace konstrain {

namespace {

// 32 MB; beyond it the table costs more than it saves.
constexpr std::size_t mostClusters = 2048;

} // namespace

CenterDistances::CenterDistances(const Partition& partition)
    : partition_(partition), nClusters_(partition.problem().nClusters()) {
    if (nClusters_ <= mostClusters) {
        table_.resize(nClusters_ * nClusters_);
        travelled_.resize(nClusters_);
    }
}

void CenterDistances::update() {
    if (table_.empty())
        return;
    const std::size_t nFeatures = partition_.problem().means.nFeatures();
    for (std::size_t p = 0; p != nClusters_; ++p)
        for (std::size_t q = 0; q != p; ++q) {
            if (partition_.changed(p) <= updated_ && partition_.changed(q) <= updated_)
                continue;
            const double distance =
                std::sqrt(squaredDistance(partition_.center(p), partition_.center(q), nFeatures));
            table_[p * nClusters_ + q] = table_[q * nClusters_ + p] = distance;
        }
    for (std::size_t p = 0; p != nClusters_; ++p)
        travelled_[p] = partition_.travelled(p);
    updated_ = partition_.now();
}

} // namespace konstrain
