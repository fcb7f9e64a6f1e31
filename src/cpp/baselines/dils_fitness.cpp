#include "dils_fitness.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

#include "multiversion.h"

namespace konstrain::baselines {

namespace {

KONSTRAIN_MULTIVERSION
void carry(std::size_t n, const std::int64_t* distances, std::int64_t* from, std::int64_t* to) {
    for (std::size_t i = 0; i != n; ++i) {
        from[i] -= distances[i];
        to[i] += distances[i];
    }
}

} // namespace

SignedLinks::SignedLinks(std::size_t nRows, std::span<const std::int32_t> mustLink,
                         std::span<const std::int32_t> cannotLink)
    : nMustLinks_(static_cast<std::int64_t>(mustLink.size() / 2)), start_(nRows + 1),
      neighbour_(mustLink.size() + cannotLink.size()), charge_(neighbour_.size()) {
    for (const auto pairs : {mustLink, cannotLink})
        for (const std::int32_t row : pairs)
            ++start_[static_cast<std::size_t>(row) + 1];
    for (std::size_t row = 0; row != nRows; ++row)
        start_[row + 1] += start_[row];
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    const auto add = [&](std::span<const std::int32_t> pairs, std::int8_t charge) {
        for (std::size_t i = 0; i != pairs.size(); ++i) {
            const std::size_t entry = next[static_cast<std::size_t>(pairs[i])]++;
            neighbour_[entry] = pairs[i ^ 1]; // the other one of the pair
            charge_[entry] = charge;
        }
    };
    add(mustLink, -1);
    add(cannotLink, 1);
}

DilsFitness::DilsFitness(const PairDistances& distances, const SignedLinks& links, std::size_t nClusters,
                         std::vector<std::int32_t> labels)
    : distances_(&distances), links_(&links), labels_(std::move(labels)),
      toCluster_(nClusters * labels_.size()), charge_(toCluster_.size()), pairSum_(nClusters),
      size_(nClusters), spread_(nClusters), nFilled_(0), nBroken_(links.nMustLinks()), candidate_(nClusters) {
    std::int64_t twiceCharged = 0;
    for (std::size_t row = 0; row != labels_.size(); ++row) {
        assert(labels_[row] >= 0 && label(row) < nClusters);
        const std::int64_t* distance = distances.to(row, buffer_);
        std::int64_t* sums = toCluster_.data() + at(label(row), 0);
        for (std::size_t other = 0; other != labels_.size(); ++other)
            sums[other] += distance[other];
        ++size_[label(row)];
        links.forNeighbours(row, [&](std::size_t other, std::int64_t charge) {
            charge_[at(label(row), other)] += charge;
            twiceCharged += label(row) == label(other) ? charge : 0;
        });
    }
    // A must-link is broken unless its rows share a cluster, a cannot-link if they do.
    nBroken_ += twiceCharged / 2;
    for (std::size_t row = 0; row != labels_.size(); ++row)
        pairSum_[label(row)] += toCluster_[at(label(row), row)];
    for (std::size_t cluster = 0; cluster != nClusters; ++cluster) {
        pairSum_[cluster] /= 2;
        spread_[cluster] = meanDistance(pairSum_[cluster], size_[cluster]);
        nFilled_ += size_[cluster] > 0;
    }
}

double DilsFitness::meanDistance(std::int64_t pairSum, std::int64_t size) const {
    if (size < 2)
        return 0.0;
    return static_cast<double>(pairSum) / (0.5 * static_cast<double>(size) * static_cast<double>(size - 1));
}

double DilsFitness::valueOf(std::span<const double> spread, std::int64_t nFilled,
                            std::int64_t nBroken) const {
    double sum = 0.0;
    for (const double mean : spread)
        sum += mean;
    return sum * distances_->unit() / static_cast<double>(nFilled) * static_cast<double>(1 + nBroken);
}

std::int64_t DilsFitness::brokenAfter(std::size_t row, std::size_t cluster) const {
    return nBroken_ + charge_[at(cluster, row)] - charge_[at(label(row), row)];
}

// `toCluster_` has, for every row and cluster, the sum of distances from the row to the cluster's rows. A row
// that leaves takes exactly its own sum out of the pair sum of its cluster, and adds the other one to the new
// cluster's: O(k) instead of O(n) per candidate.
double DilsFitness::valueAfter(std::size_t row, std::size_t cluster) const {
    const std::size_t home = label(row);
    if (cluster == home)
        return value();
    std::ranges::copy(spread_, candidate_.begin());
    candidate_[home] = meanDistance(pairSum_[home] - toCluster_[at(home, row)], size_[home] - 1);
    candidate_[cluster] = meanDistance(pairSum_[cluster] + toCluster_[at(cluster, row)], size_[cluster] + 1);
    const std::int64_t nFilled = nFilled_ - (size_[home] == 1) + (size_[cluster] == 0);
    return valueOf(candidate_, nFilled, brokenAfter(row, cluster));
}

void DilsFitness::move(std::size_t row, std::size_t cluster) {
    const std::size_t home = label(row);
    if (cluster == home)
        return;
    nBroken_ = brokenAfter(row, cluster);
    pairSum_[home] -= toCluster_[at(home, row)];
    pairSum_[cluster] += toCluster_[at(cluster, row)];
    nFilled_ += (size_[cluster] == 0) - (size_[home] == 1);
    --size_[home];
    ++size_[cluster];
    spread_[home] = meanDistance(pairSum_[home], size_[home]);
    spread_[cluster] = meanDistance(pairSum_[cluster], size_[cluster]);
    carry(labels_.size(), distances_->to(row, buffer_), toCluster_.data() + at(home, 0),
          toCluster_.data() + at(cluster, 0));
    links_->forNeighbours(row, [&](std::size_t other, std::int64_t charge) {
        charge_[at(home, other)] -= charge;
        charge_[at(cluster, other)] += charge;
    });
    labels_[row] = static_cast<std::int32_t>(cluster);
}

void DilsFitness::become(std::span<const std::int32_t> labels) {
    for (std::size_t row = 0; row != labels.size(); ++row)
        move(row, static_cast<std::size_t>(labels[row]));
}

std::size_t DilsFitness::nDifferent(std::span<const std::int32_t> labels) const {
    std::size_t count = 0;
    for (std::size_t row = 0; row != labels.size(); ++row)
        count += labels[row] != labels_[row];
    return count;
}

} // namespace konstrain::baselines
