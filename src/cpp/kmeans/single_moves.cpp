#include "single_moves.h"

#include <cmath>

namespace konstrain {

SingleMoves::SingleMoves(SearchState& state, const CenterDistances& distances)
    : state_(state), partition_(state.partition()), problem_(partition_.problem()), distances_(distances),
      lastLook_(problem_.nBlocks(), -1), charge_(problem_.nClusters()), squares_(problem_.nClusters()),
      buffer_(problem_.means.nFeatures()) {}

bool SingleMoves::tryBlock(std::size_t block) {
    const std::int64_t lastLook = lastLook_[block];
    if (lastLook >= partition_.now())
        return false;
    lastLook_[block] = partition_.now();
    if (!mayLeave(block))
        return false;

    const std::size_t home = partition_.label(block);
    const double weight = problem_.weight[block];
    const double* row = problem_.means.row(block, buffer_);
    const double square = squaredDistance(row, partition_.center(home), problem_.means.nFeatures());
    const double rest = Partition::remainder(partition_.weight(home), weight);
    chargeLinks(block);
    const double gain = charge_[home] + (rest > 0.0 ? partition_.weight(home) * weight / rest * square : 0.0);
    collectTargets(block, std::sqrt(square), gain, lastLook);
    squaredDistances(row, partition_.centers(), problem_.means.nFeatures(), targets_, squares_.data());
    const bool moved = moveToBest(block, gain);
    if (!moved)
        forgetLinks(block);
    return moved;
}

bool SingleMoves::mayLeave(std::size_t block) const {
    const std::size_t home = partition_.label(block);
    const bool alone = partition_.members(home).size() == 1;
    // Alone in its cluster it gains by leaving only if a link pays for it.
    return !alone || (!problem_.nonempty && problem_.hasLinks());
}

// Sharing a cluster with a neighbour costs the weight of the link, whatever its sign, up to a constant.
void SingleMoves::chargeLinks(std::size_t block) {
    problem_.forNeighbours(
        block, [&](std::size_t other, double weight) { charge_[partition_.label(other)] += weight; });
}

void SingleMoves::forgetLinks(std::size_t block) {
    problem_.forNeighbours(block, [&](std::size_t other, double) { charge_[partition_.label(other)] = 0.0; });
}

// Weight of the squared distance to a center in the cost of joining its cluster.
double SingleMoves::entryFactor(std::size_t cluster, double weight) const {
    const double whole = partition_.weight(cluster);
    return whole > 0.0 ? whole * weight / (whole + weight) : 0.0;
}

// The clusters that may be worth a distance: the triangle inequality rules out those far from the own center.
void SingleMoves::collectTargets(std::size_t block, double distance, double gain, std::int64_t lastLook) {
    const std::size_t home = partition_.label(block);
    const double weight = problem_.weight[block];
    const bool homeChanged = partition_.changed(home) > lastLook;
    targets_.clear();
    for (std::size_t q = 0; q != problem_.nClusters(); ++q) {
        if (q == home || !(homeChanged || partition_.changed(q) > lastLook))
            continue;
        const double apart = distances_.atLeast(home, q) - distance;
        const double entry = apart > 0.0 ? entryFactor(q, weight) * apart * apart : 0.0;
        if (state_.improves(entry + charge_[q] - gain))
            targets_.push_back(q);
    }
}

bool SingleMoves::moveToBest(std::size_t block, double gain) {
    const std::size_t home = partition_.label(block);
    const double weight = problem_.weight[block];
    const Load load{weight, problem_.demandOf(block), 1};
    const auto moved = static_cast<std::int32_t>(block);
    std::size_t best = home;
    double bestDelta = 0.0;
    for (std::size_t i = 0; i != targets_.size(); ++i) {
        const std::size_t q = targets_[i];
        const double delta = entryFactor(q, weight) * squares_[i] + charge_[q] - gain;
        if (delta < bestDelta && partition_.fits(home, q, load) &&
            partition_.keepsRules(home, q, {&moved, 1})) {
            best = q;
            bestDelta = delta;
        }
    }
    if (best == home || !state_.improves(bestDelta))
        return false;
    forgetLinks(block);
    state_.make(MoveKind::single, home, best, {&moved, 1}, bestDelta);
    return true;
}

} // namespace konstrain
