#include "relocation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "infinity.h"
#include "random.h"

namespace konstrain {

namespace {

constexpr int nCuts = 2;
constexpr int nIterations = 5;
// Members of a large cluster that a cut is sought on, and as many others that say what it is worth: what a
// cut gains on the blocks that it was fitted to is too high.
constexpr std::size_t sampleSize = 500;

class Estimator {
public:
    Estimator(const LabelledBlocks& blocks, std::size_t nClusters, std::uint64_t seed)
        : means_(blocks.means), weight_(blocks.weight), labels_(blocks.labels), centers_(blocks.centers),
          costs_(blocks.costs), nClusters_(nClusters), d_(means_.nFeatures()), members_(nClusters),
          scatter_(nClusters), buffer_(d_), pair_(2 * d_), sums_(2 * d_), random_(seed) {
        result_.removal.assign(nClusters, 0.0);
        result_.gain.assign(nClusters, 0.0);
        result_.halves.assign(nClusters * 2 * d_, 0.0);
    }

    RelocationEstimates run(double leastGain) {
        collectMembers();
        priceRemovals();
        // A cut gains no more than the scatter it divides.
        if (std::ranges::max(scatter_) - std::ranges::min(result_.removal) <= leastGain)
            return std::move(result_);
        for (std::size_t cluster = 0; cluster != nClusters_; ++cluster) {
            drawSamples(members_[cluster]);
            for (int cut = 0; cut != nCuts; ++cut)
                tryCut(cluster);
        }
        return std::move(result_);
    }

private:
    const double* row(std::size_t block) { return means_.row(block, buffer_); }
    const double* center(std::size_t cluster) const { return centers_.data() + cluster * d_; }

    void collectMembers() {
        std::vector<bool> hasWeight(nClusters_, false);
        for (std::size_t block = 0; block != labels_.size(); ++block) {
            const auto cluster = static_cast<std::size_t>(labels_[block]);
            members_[cluster].push_back(block);
            if (weight_[block] > 0.0)
                hasWeight[cluster] = true;
        }
        for (std::size_t cluster = 0; cluster != nClusters_; ++cluster)
            if (hasWeight[cluster])
                present_.push_back(cluster);
    }

    void priceRemovals() {
        for (std::size_t block = 0; block != labels_.size(); ++block) {
            const auto home = static_cast<std::size_t>(labels_[block]);
            const double* cost = costs_.data() + block * nClusters_;
            double next = infinity;
            for (const std::size_t cluster : present_)
                if (cluster != home)
                    next = std::min(next, cost[cluster]);
            scatter_[home] += cost[home];
            if (weight_[block] > 0.0)
                result_.removal[home] += next - cost[home];
        }
    }

    void drawSamples(std::vector<std::size_t>& members) {
        if (members.size() <= 2 * sampleSize) {
            fitted_ = measured_ = members;
            return;
        }
        for (std::size_t i = 0; i != 2 * sampleSize; ++i)
            std::swap(members[i], members[i + drawBelow(members.size() - i, random_)]);
        fitted_ = std::span(members).first(sampleSize);
        measured_ = std::span(members).subspan(sampleSize, sampleSize);
    }

    // Two-means within one cluster from a random start; kept when it is the best cut so far.
    void tryCut(std::size_t cluster) {
        if (members_[cluster].size() < 2 || !(scatter_[cluster] > 0.0))
            return;
        std::copy_n(row(draw(center(cluster))), d_, pair_.begin());
        std::copy_n(row(draw(pair_.data())), d_, pair_.begin() + static_cast<std::ptrdiff_t>(d_));
        for (int iteration = 1; iteration != nIterations; ++iteration)
            refine(fitted_);
        const double gain = gainOn(cluster, measured_);
        if (gain > result_.gain[cluster]) {
            result_.gain[cluster] = gain;
            std::copy_n(pair_.begin(), 2 * d_,
                        result_.halves.begin() + static_cast<std::ptrdiff_t>(cluster * 2 * d_));
        }
    }

    // What the cut gains on these members, for all of them.
    double gainOn(std::size_t cluster, std::span<const std::size_t> blocks) {
        if (blocks.size() == members_[cluster].size())
            return scatter_[cluster] - refine(blocks);
        double scatter = 0.0;
        for (const std::size_t block : blocks)
            scatter += weight_[block] * squaredDistance(row(block), center(cluster), d_);
        return scatter > 0.0 ? scatter_[cluster] * (1.0 - refine(blocks) / scatter) : 0.0;
    }

    // A member drawn with probability in proportion to its weight times squared distance from `from`.
    std::size_t draw(const double* from) {
        shares_.clear();
        double total = 0.0;
        for (const std::size_t block : fitted_) {
            total += weight_[block] * squaredDistance(row(block), from, d_);
            shares_.push_back(total);
        }
        const double point = drawUnit(random_) * total;
        const auto at = std::ranges::upper_bound(shares_, point) - shares_.begin();
        const auto last = static_cast<std::ptrdiff_t>(shares_.size()) - 1;
        return fitted_[static_cast<std::size_t>(std::min(at, last))];
    }

    // Replaces the two centers by the means of what is nearest to each; returns the cost before.
    double refine(std::span<const std::size_t> blocks) {
        std::ranges::fill(sums_, 0.0);
        double total[2] = {0.0, 0.0};
        double cost = 0.0;
        for (const std::size_t block : blocks) {
            const double* values = row(block);
            const double square[2] = {squaredDistance(values, pair_.data(), d_),
                                      squaredDistance(values, pair_.data() + d_, d_)};
            const std::size_t side = square[1] < square[0] ? 1 : 0;
            cost += weight_[block] * square[side];
            total[side] += weight_[block];
            for (std::size_t i = 0; i != d_; ++i)
                sums_[side * d_ + i] += weight_[block] * values[i];
        }
        for (std::size_t side = 0; side != 2; ++side)
            for (std::size_t i = 0; i != d_ && total[side] > 0.0; ++i)
                pair_[side * d_ + i] = sums_[side * d_ + i] / total[side];
        return cost;
    }

    const BlockMeans& means_;
    std::span<const double> weight_;
    std::span<const std::int32_t> labels_;
    std::span<const double> centers_;
    std::span<const double> costs_;
    std::size_t nClusters_;
    std::size_t d_;
    std::vector<std::vector<std::size_t>> members_;
    std::vector<std::size_t> present_; // clusters that have weight
    std::vector<double> scatter_;
    std::span<const std::size_t> fitted_; // members of the cluster that is being cut
    std::span<const std::size_t> measured_;
    std::vector<double> buffer_;
    std::vector<double> pair_;
    std::vector<double> sums_;
    std::vector<double> shares_;
    Random random_;
    RelocationEstimates result_;
};

} // namespace

RelocationEstimates estimateRelocations(const LabelledBlocks& blocks, std::size_t nClusters,
                                        std::uint64_t seed, double leastGain) {
    assert(blocks.costs.size() == blocks.labels.size() * nClusters);
    return Estimator(blocks, nClusters, seed).run(leastGain);
}

} // namespace konstrain
