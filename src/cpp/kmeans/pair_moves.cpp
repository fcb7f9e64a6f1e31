#include "pair_moves.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace konstrain {

namespace {

// Each round lowers the cost, so rounds end by themselves; unless rounding is worse than we think.
constexpr int mostRounds = 10000;

} // namespace

PairMoves::PairMoves(SearchState& state)
    : state_(state), partition_(state.partition()), problem_(partition_.problem()),
      groupOf_(problem_.nBlocks()), seen_(problem_.nBlocks()), marked_(problem_.nBlocks()),
      lastLook_(problem_.nClusters() * (problem_.nClusters() - 1) / 2, -1),
      ownDistance_(problem_.hasLinks() ? 0 : problem_.nBlocks()), ownDistancesAt_(problem_.nClusters(), -1),
      sum_(problem_.means.nFeatures()), buffer_(problem_.means.nFeatures()) {
    hasSoft_ = std::ranges::any_of(problem_.links.weights, [](double w) { return std::isfinite(w); });
}

bool PairMoves::explore(std::size_t p, std::size_t q) {
    assert(q < p);
    std::int64_t& lastLook = lastLook_[p * (p - 1) / 2 + q];
    if (partition_.changed(p) <= lastLook && partition_.changed(q) <= lastLook)
        return false;
    const std::int64_t before = partition_.now();
    p_ = p;
    q_ = q;
    bool moved = partition_.hasCenter(p) || partition_.hasCenter(q);
    for (int round = 0; moved && round != mostRounds && !state_.expired(); ++round) {
        build(false);
        moved = moveOne(MoveKind::kempe) || moveTwo();
        if (!moved && hasSoft_) {
            build(true);
            moved = moveOne(MoveKind::chain);
        }
    }
    lastLook = partition_.now();
    return partition_.now() != before;
}

// Distance of each member to its own center, kept until the cluster changes.
void PairMoves::refreshOwnDistances(std::size_t cluster) {
    if (ownDistancesAt_[cluster] >= partition_.changed(cluster))
        return;
    for (const std::int32_t block : partition_.members(cluster)) {
        const double* row = problem_.means.row(static_cast<std::size_t>(block), buffer_);
        ownDistance_[static_cast<std::size_t>(block)] =
            std::sqrt(squaredDistance(row, partition_.center(cluster), problem_.means.nFeatures()));
    }
    ownDistancesAt_[cluster] = partition_.now();
}

// Bounds on a single block's key and lengths from its distance r to its own center and the distance D of the
// centers: the other center is no nearer than D - r and no farther than D + r.
void PairMoves::boundBlock(Group& group, double apart) const {
    const auto block = static_cast<std::size_t>(blocks_[group.start]);
    const bool fromP = partition_.label(block) == p_;
    const double weight = problem_.weight[block];
    const double near = weight * ownDistance_[block];
    const double far = near + weight * apart;
    group.load.weight = fromP ? weight : -weight;
    group.key = apart * (weight * apart - 2.0 * near);
    group.lengthP = fromP ? near : far;
    group.lengthQ = fromP ? far : near;
}

// Drops the blocks that cannot gain by changing sides, alone or with any other block, without looking at
// their rows: between clusters well apart that is all of them. Only for blocks without links.
void PairMoves::dropHopeless() {
    refreshOwnDistances(p_);
    refreshOwnDistances(q_);
    const double apart =
        std::sqrt(squaredDistance(partition_.center(p_), partition_.center(q_), problem_.means.nFeatures()));
    for (Group& group : groups_)
        boundBlock(group, apart);
    const auto middle = groups_.begin() + static_cast<std::ptrdiff_t>(partition_.members(p_).size());
    const Extremes outgoing = extremes({groups_.begin(), middle});
    const Extremes incoming = extremes({middle, groups_.end()});
    std::erase_if(groups_, [&](const Group& group) {
        const bool fromP = partition_.label(static_cast<std::size_t>(blocks_[group.start])) == p_;
        const double alone = following(group.lengthP, group.lengthQ, group.load.weight);
        return !state_.improves(group.key - alone) && !promising(group, fromP ? incoming : outgoing);
    });
    for (Group& group : groups_)
        group.load.weight = 0.0; // `measure` adds it up again
}

void PairMoves::build(bool joinSoft) {
    ++builds_;
    groups_.clear();
    blocks_.clear();
    for (const std::size_t cluster : {p_, q_})
        for (const std::int32_t block : partition_.members(cluster))
            if (seen_[static_cast<std::size_t>(block)] != builds_)
                grow(static_cast<std::size_t>(block), joinSoft);
    if (!problem_.hasLinks() && partition_.hasCenter(p_) && partition_.hasCenter(q_))
        dropHopeless();
    const std::size_t nFeatures = problem_.means.nFeatures();
    sums_.assign(groups_.size() * nFeatures, 0.0);
    for (std::size_t i = 0; i != groups_.size(); ++i)
        measure(groups_[i], sums_.data() + i * nFeatures);
}

// Makes the group that contains `block`.
void PairMoves::grow(std::size_t block, bool joinSoft) {
    Group group{};
    group.start = blocks_.size();
    blocks_.push_back(static_cast<std::int32_t>(block));
    seen_[block] = builds_;
    for (std::size_t head = group.start; head != blocks_.size(); ++head) {
        const auto current = static_cast<std::size_t>(blocks_[head]);
        groupOf_[current] = groups_.size();
        problem_.forNeighbours(current, [&](std::size_t other, double weight) {
            if (seen_[other] != builds_ && joined(current, other, weight, joinSoft)) {
                seen_[other] = builds_;
                blocks_.push_back(static_cast<std::int32_t>(other));
            }
        });
    }
    group.end = blocks_.size();
    groups_.push_back(group);
}

// A soft link joins its ends when it would cost something if only one of them changed sides.
bool PairMoves::joined(std::size_t block, std::size_t other, double weight, bool joinSoft) const {
    if (!inPair(other))
        return false;
    if (weight == infinity)
        return true;
    const bool together = partition_.label(block) == partition_.label(other);
    return joinSoft && (weight < 0) == together;
}

void PairMoves::measure(Group& group, double* sum) {
    for (const std::int32_t block : blocksOf(group)) {
        const auto b = static_cast<std::size_t>(block);
        const int side = partition_.label(b) == p_ ? 1 : -1;
        const double weight = side * problem_.weight[b];
        const double* row = problem_.means.row(b, buffer_);
        for (std::size_t i = 0; i != sum_.size(); ++i)
            sum[i] += weight * row[i];
        group.load.weight += weight;
        group.load.demand += side * problem_.demandOf(b);
        group.load.count += side;
    }
    Group* const self = &group;
    const double penalty = hasSoft_ ? penaltyDelta({&self, 1}) : 0.0;
    const ExchangeTerms terms = partition_.exchangeTerms(p_, q_, group.load.weight, sum);
    group.key = terms.fixed + penalty;
    group.delta = partition_.exchangeDelta(p_, q_, group.load.weight, terms) + penalty;
    group.lengthP = std::sqrt(terms.squareP);
    group.lengthQ = std::sqrt(terms.squareQ);
}

// Change of the soft links' price when all blocks of these groups change sides. Links between two of them
// stay as they are: together or apart.
double PairMoves::penaltyDelta(std::span<Group* const> groups) {
    ++evaluations_;
    for (const Group* group : groups)
        for (const std::int32_t block : blocksOf(*group))
            marked_[static_cast<std::size_t>(block)] = evaluations_;
    double delta = 0.0;
    for (const Group* group : groups)
        for (const std::int32_t block : blocksOf(*group)) {
            const std::size_t from = partition_.label(static_cast<std::size_t>(block));
            problem_.forNeighbours(static_cast<std::size_t>(block), [&](std::size_t other, double weight) {
                if (weight == infinity || !inPair(other) || marked_[other] == evaluations_)
                    return;
                delta += partition_.label(other) == from ? -weight : weight;
            });
        }
    return delta;
}

bool PairMoves::moveOne(MoveKind kind) {
    bool moved = false;
    for (Group& group : groups_)
        if (state_.improves(group.delta))
            moved |= tryGroups(kind, group, nullptr);
    return moved;
}

// Evaluates one or two groups against the partition as it is now and moves them if that improves it. Keys and
// lengths may be older: they only say what is worth trying, and after any move the groups are made anew.
bool PairMoves::tryGroups(MoveKind kind, Group& first, Group* second) {
    if (first.moved || (second != nullptr && second->moved))
        return false;
    Load load = first.load;
    const std::size_t nFeatures = sum_.size();
    const auto firstIndex = static_cast<std::size_t>(&first - groups_.data());
    std::copy_n(sums_.data() + firstIndex * nFeatures, nFeatures, sum_.begin());
    if (second != nullptr) {
        load.weight += second->load.weight;
        load.demand += second->load.demand;
        load.count += second->load.count;
        const auto secondIndex = static_cast<std::size_t>(second - groups_.data());
        for (std::size_t i = 0; i != nFeatures; ++i)
            sum_[i] += sums_[secondIndex * nFeatures + i];
    }
    const auto others = second == nullptr ? std::span<const std::int32_t>{} : blocksOf(*second);
    if (!partition_.fits(p_, q_, load) || !partition_.keepsRules(p_, q_, blocksOf(first), others))
        return false;
    Group* const both[] = {&first, second};
    const std::span<Group* const> moving{both, second == nullptr ? 1U : 2U};
    const ExchangeTerms terms = partition_.exchangeTerms(p_, q_, load.weight, sum_.data());
    const double squares = partition_.exchangeDelta(p_, q_, load.weight, terms);
    const double delta = squares + (hasSoft_ ? penaltyDelta(moving) : 0.0);
    // When two clusters trade all they have, large terms cancel and rounding is all that is left.
    const double rounding = 1e-14 * (std::abs(terms.fixed) + std::abs(terms.fixed - squares));
    if (!state_.improves(delta + rounding))
        return false;

    moving_.clear();
    for (Group* group : moving) {
        moving_.insert(moving_.end(), blocksOf(*group).begin(), blocksOf(*group).end());
        group->moved = true;
    }
    state_.make(moving_.size() == 1 ? MoveKind::single : kind, p_, q_, moving_, delta);
    return true;
}

bool PairMoves::moveTwo() {
    std::vector<std::size_t> out;
    std::vector<std::size_t> in;
    for (std::size_t i = 0; i != groups_.size(); ++i) {
        const Load& load = groups_[i].load;
        // By blocks rather than by demand or weight, which may be zero.
        (load.count >= 0 ? out : in).push_back(i);
    }
    const bool moved = scanOpposite(out, in);
    return (hasSoft_ && moveLinkedTwo()) || moved;
}

// Tries the pairs of an outgoing and an incoming group in order of the sum of their keys, as far as the bound
// on what the centers gain by following leaves hope.
bool PairMoves::scanOpposite(std::vector<std::size_t>& out, std::vector<std::size_t>& in) {
    const auto keepPromising = [&](std::vector<std::size_t>& groups, const Extremes& others) {
        std::erase_if(groups, [&](std::size_t i) { return !promising(groups_[i], others); });
    };
    keepPromising(out, extremes(in));
    keepPromising(in, extremes(out));
    const Extremes incoming = extremes(in);
    const auto byKey = [&](std::size_t a, std::size_t b) {
        return groups_[a].key < groups_[b].key || (groups_[a].key == groups_[b].key && a < b);
    };
    std::ranges::sort(out, byKey);
    std::ranges::sort(in, byKey);
    // Unequal demands can make most of many pairs unfit; this keeps one pair of clusters from costing n^2.
    std::size_t budget = 10000 + 32 * groups_.size();
    bool moved = false;
    for (const std::size_t i : out) {
        Group& first = groups_[i];
        const double most = mostFollowing(first, incoming);
        for (const std::size_t j : in) {
            Group& second = groups_[j];
            const double key = first.key + second.key;
            if (first.moved || !state_.improves(key - most) || budget == 0)
                break;
            --budget;
            const double follow = following(first.lengthP + second.lengthP, first.lengthQ + second.lengthQ,
                                            first.load.weight + second.load.weight);
            if (state_.improves(key - follow))
                moved |= tryGroups(MoveKind::swap, first, &second);
        }
    }
    return moved;
}

PairMoves::Extremes PairMoves::extremes(std::span<const Group> groups) {
    Extremes result;
    for (const Group& group : groups)
        result.include(group);
    return result;
}

PairMoves::Extremes PairMoves::extremes(std::span<const std::size_t> groups) const {
    Extremes result;
    for (const std::size_t i : groups)
        result.include(groups_[i]);
    return result;
}

void PairMoves::Extremes::include(const Group& group) {
    lowestKey = std::min(lowestKey, group.key);
    longestP = std::max(longestP, group.lengthP);
    longestQ = std::max(longestQ, group.lengthQ);
    leastWeight = std::min(leastWeight, group.load.weight);
    mostWeight = std::max(mostWeight, group.load.weight);
}

// At most what the centers gain by following when sets with these lengths go; infinite when a cluster may run
// out of weight.
double PairMoves::following(double lengthP, double lengthQ, double weight) const {
    const double restP = Partition::remainder(partition_.weight(p_), weight);
    const double restQ = Partition::remainder(partition_.weight(q_), -weight);
    if (restP <= 0.0 || restQ <= 0.0)
        return infinity;
    return lengthP * lengthP / restP + lengthQ * lengthQ / restQ;
}

double PairMoves::mostFollowing(const Group& group, const Extremes& others) const {
    const double lengthP = group.lengthP + others.longestP;
    const double lengthQ = group.lengthQ + others.longestQ;
    const double restP = Partition::remainder(partition_.weight(p_), group.load.weight + others.mostWeight);
    const double restQ =
        Partition::remainder(partition_.weight(q_), -(group.load.weight + others.leastWeight));
    if (restP <= 0.0 || restQ <= 0.0)
        return infinity;
    return lengthP * lengthP / restP + lengthQ * lengthQ / restQ;
}

// Whether some group with such extremes could make this one worth moving with it.
bool PairMoves::promising(const Group& group, const Extremes& others) const {
    return !group.moved && others.lowestKey != infinity &&
           state_.improves(group.key + others.lowestKey - mostFollowing(group, others));
}

// Two groups with a soft link between them: their keys count the link twice, so they are tried directly.
bool PairMoves::moveLinkedTwo() {
    bool moved = false;
    for (std::size_t i = 0; i != groups_.size(); ++i)
        for (std::size_t at = groups_[i].start; at != groups_[i].end; ++at)
            problem_.forNeighbours(
                static_cast<std::size_t>(blocks_[at]), [&](std::size_t other, double weight) {
                    if (weight != infinity && inPair(other) && groupOf_[other] > i)
                        moved |= tryGroups(MoveKind::swap, groups_[i], &groups_[groupOf_[other]]);
                });
    return moved;
}

} // namespace konstrain
