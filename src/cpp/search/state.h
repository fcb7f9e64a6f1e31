#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "problem.h"

namespace konstrain::search {

// Labels with what they imply for each cluster, and the duals of the rules. Means and loads follow each move;
// `recount` computes them anew, so that rounding does not add up.
struct State {
    std::vector<std::int32_t> labels; // nBlocks
    std::vector<double> centers;      // nClusters x nFeatures
    std::vector<double> weight;       // nClusters
    std::vector<double> length;       // nClusters: of the weighted sums, where centers have length one
    std::vector<double> load;         // nClusters x nRules
    std::vector<std::int64_t> count;  // nClusters: blocks
    std::vector<double> duals;        // nClusters x nRules
    // Without rules and links: centers at which no single move between clusters gained; NaN where unknown.
    std::vector<double> stable; // nClusters x nFeatures

    State() = default;
    explicit State(const Problem& problem);

    std::size_t label(std::size_t block) const { return static_cast<std::size_t>(labels[block]); }
    double* center(std::size_t cluster, const Problem& problem) {
        return centers.data() + cluster * problem.nFeatures;
    }
    const double* center(std::size_t cluster, const Problem& problem) const {
        return centers.data() + cluster * problem.nFeatures;
    }
};

// Penalties that a block pays for its links if it is in a cluster: soft ones, relative to breaking all of its
// soft must-links, and the number of broken hard ones.
struct LinkCost {
    double soft = 0.0;
    double hard = 0.0;
};

// Puts a center at a weighted sum over its weight, or at the direction of that sum where centers have length
// one. A cluster without weight, or whose sum has no direction, keeps its center.
void placeCenter(const Problem& problem, State& state, std::size_t cluster, std::span<const double> sum,
                 double weight);
// Sets centers, weights, loads and counts from the labels.
void recount(const Problem& problem, State& state);
// Only loads and counts.
void recountLoads(const Problem& problem, State& state);
void moveBlock(const Problem& problem, State& state, std::size_t block, std::size_t to);

LinkCost linkCost(const Problem& problem, const State& state, std::size_t block, std::size_t cluster);
// By how much these costs change when two blocks of different clusters change places.
LinkCost swapLinks(const Problem& problem, const State& state, std::size_t first, std::size_t second);
// What the soft links cost, and how many hard ones are broken.
LinkCost allLinkCosts(const Problem& problem, const State& state);

// Whether a number of blocks may leave a cluster.
inline bool mayLeave(const Problem& problem, const State& state, std::size_t cluster,
                     std::int64_t nLeaving = 1) {
    return state.count[cluster] - nLeaving >= problem.leastCount();
}
// The blocks of each cluster.
void listMembers(const Problem& problem, const State& state, std::vector<std::vector<std::size_t>>& members);

// A block that enters (sign 1) or leaves (-1) a cluster.
struct Shift {
    std::size_t block;
    double sign;
};

// Violation of one cluster's rules after some shifts, or as it is.
template <typename... Shifts>
double violation(const Problem& problem, const State& state, std::size_t cluster, Shifts... shifts) {
    const double* load = state.load.data() + cluster * problem.nRules;
    return violationOf(problem, cluster, [&](std::size_t rule) {
        double value = load[rule];
        ((value += shifts.sign * problem.amount(shifts.block)[rule]), ...);
        return value;
    });
}
// Violation of all rules plus the number of broken hard links.
double totalViolation(const Problem& problem, const State& state);
// Whether loads, added up anew, keep every bound, no hard link is broken, and no cluster is empty that must
// not be.
bool isFeasible(const Problem& problem, const State& state);

// Sum of squares about the centers plus penalties of soft links and costs of moved rows.
double objective(const Problem& problem, const State& state);

inline double squaredDistance(const double* x, const double* y, std::size_t n) {
    double sum = 0.0;
    for (std::size_t t = 0; t != n; ++t)
        sum += (x[t] - y[t]) * (x[t] - y[t]);
    return sum;
}

// By how much a sum is longer than its part along a direction, by that part and the square of what is across.
inline double excessOf(double along, double across) {
    const double length = std::sqrt(along * along + across);
    return along > 0.0 ? across / (length + along) : length - along;
}

// What one shift changes of the sum of squares: a block of weight w leaves a cluster of weight W at w W / (W
// - w) |x - c|^2 and joins it at w W / (W + w) |x - c|^2. A cluster without weight has no mean of its own:
// what enters it sets the mean. With centers of length one, blocks x and the sum S c of a cluster, the
// squares are those about c but for twice what S c + sign w x is longer than its part along c: no digits of
// small angles are lost. `distance` is |x - c|^2.
inline double changeOf(const Problem& problem, const State& state, std::size_t cluster, Shift shift,
                       double distance) {
    const double weight = shift.sign * problem.weight[shift.block];
    const double before = state.weight[cluster], after = before + weight;
    if (problem.hasUnitCenters) {
        if (!(after > termRounding * before))
            return weight * distance;
        const double beside = 0.5 * (problem.shortfall[shift.block] + distance); // 1 - c x
        const double share = weight / after, length = state.length[cluster] / after;
        const double across = share * share * std::max(0.0, distance - beside * beside);
        return weight * distance - 2.0 * after * excessOf(length + share * (1.0 - beside), across);
    }
    return after > termRounding * before ? weight * before / after * distance : 0.0;
}
inline double changeOf(const Problem& problem, const State& state, std::size_t cluster, Shift shift) {
    return changeOf(
        problem, state, cluster, shift,
        squaredDistance(problem.mean(shift.block), state.center(cluster, problem), problem.nFeatures));
}

// What blocks that enter (positive sign) or leave a cluster change of its sum of squares: with W the weight
// of the cluster, c its mean, and w, m, q the sums of sign * weight, of sign * weight * (x - c) and of sign *
// weight * |x - c|^2, it is q - |m|^2 / (W + w). All terms are of the size of the cluster: no digits are lost
// far from the origin. With centers of length one, the sum is (S + w) c + m, and as in `changeOf` it is q
// less twice what this is longer than its part along c.
class Exchange {
public:
    Exchange(const Problem& problem, const State& state) : problem_(problem), state_(state) {}

    void start(std::size_t cluster);
    void add(std::size_t block, double sign);
    double change() const;

private:
    const Problem& problem_;
    const State& state_;
    std::size_t cluster_ = 0;
    double weight_ = 0.0;
    double square_ = 0.0;
    std::vector<double> moment_;
};

} // namespace konstrain::search
