#include "partition.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace konstrain {

Partition::Partition(const SearchProblem& problem, std::span<std::int32_t> labels,
                     std::span<const double> means)
    : problem_(problem), nFeatures_(problem.means.nFeatures()), labels_(labels), weight_(problem.nClusters()),
      demand_(problem.nClusters()), sums_(problem.nClusters() * nFeatures_), centers_(sums_.size()),
      members_(problem.nClusters()), position_(labels.size()), updates_(problem.nClusters()),
      changed_(problem.nClusters()), travelled_(problem.nClusters()), buffer_(nFeatures_),
      before_(nFeatures_), held_(problem.nClusters() * problem.nAmounts()), moving_(problem.nAmounts()) {
    for (std::size_t block = 0; block != labels_.size(); ++block) {
        assert(labels_[block] >= 0 && label(block) < problem.nClusters());
        position_[block] = members_[label(block)].size();
        members_[label(block)].push_back(static_cast<std::int32_t>(block));
    }
    if (!means.empty())
        adopt(means);
    else
        for (std::size_t cluster = 0; cluster != members_.size(); ++cluster)
            recompute(cluster);
}

void Partition::adopt(std::span<const double> means) {
    assert(means.size() == centers_.size());
    for (std::size_t block = 0; block != labels_.size(); ++block)
        load(block, label(block), 1.0);
    std::copy(means.begin(), means.end(), centers_.begin());
    for (std::size_t i = 0; i != sums_.size(); ++i)
        sums_[i] = centers_[i] * weight_[i / nFeatures_];
}

double Partition::remainder(double whole, double part) {
    const double rest = whole - part;
    // Weights that sum to the whole leave rounding only; divided by it, a square of rounding would count.
    return rest > 1e-13 * (std::abs(whole) + std::abs(part)) ? rest : 0.0;
}

bool Partition::fits(std::size_t p, std::size_t q, const Load& load) const {
    const double sizeP = demand_[p] - load.demand;
    const double sizeQ = demand_[q] + load.demand;
    if (sizeP < problem_.sizeMin[p] || sizeP > problem_.sizeMax[p] || sizeQ < problem_.sizeMin[q] ||
        sizeQ > problem_.sizeMax[q])
        return false;
    if (!problem_.nonempty)
        return true;
    const auto countP = static_cast<std::int64_t>(members_[p].size());
    const auto countQ = static_cast<std::int64_t>(members_[q].size());
    return (countP == 0 || countP != load.count) && (countQ == 0 || countQ != -load.count);
}

bool Partition::keepsRules(std::size_t p, std::size_t q, std::span<const std::int32_t> first,
                           std::span<const std::int32_t> second) const {
    if (moving_.empty())
        return true;
    std::fill(moving_.begin(), moving_.end(), 0.0);
    for (const auto blocks : {first, second})
        for (const std::int32_t block : blocks) {
            const auto b = static_cast<std::size_t>(block);
            const double side = label(b) == p ? 1.0 : -1.0;
            for (std::size_t a = 0; a != moving_.size(); ++a)
                moving_[a] += side * problem_.amounts[b * moving_.size() + a];
        }
    return isWithinRules(p, -1.0) && isWithinRules(q, 1.0);
}

// Whether a cluster keeps its rules once what is moving has joined (sign 1) or left it (-1).
bool Partition::isWithinRules(std::size_t cluster, double sign) const {
    const std::size_t nAmounts = moving_.size();
    const std::size_t nRules = problem_.nRules();
    for (std::size_t r = 0; r != nRules; ++r) {
        double value = 0.0;
        for (std::size_t a = 0; a != nAmounts; ++a)
            value += problem_.rules[r * nAmounts + a] * (held_[cluster * nAmounts + a] + sign * moving_[a]);
        if (value < problem_.ruleLow[cluster * nRules + r] || value > problem_.ruleHigh[cluster * nRules + r])
            return false;
    }
    return true;
}

ExchangeTerms Partition::exchangeTerms(std::size_t p, std::size_t q, double weight, const double* sum) const {
    // A cluster without weight has no center; any point will do in the formula, this one keeps numbers small.
    const double* centerP = center(hasCenter(p) ? p : q);
    const double* centerQ = center(hasCenter(q) ? q : p);
    ExchangeTerms terms;
    for (std::size_t i = 0; i != nFeatures_; ++i) {
        const double u = sum[i] - weight * centerP[i];
        const double v = sum[i] - weight * centerQ[i];
        terms.fixed += (centerP[i] - centerQ[i]) * (u + v);
        terms.squareP += u * u;
        terms.squareQ += v * v;
    }
    return terms;
}

// For one block this is Hartigan's formula.
double Partition::exchangeDelta(std::size_t p, std::size_t q, double weight,
                                const ExchangeTerms& terms) const {
    const double restP = remainder(weight_[p], weight);
    const double restQ = remainder(weight_[q], -weight);
    return terms.fixed - (restP > 0.0 ? terms.squareP / restP : 0.0) -
           (restQ > 0.0 ? terms.squareQ / restQ : 0.0);
}

void Partition::exchange(std::size_t p, std::size_t q, std::span<const std::int32_t> blocks) {
    ++now_;
    const double weightP = weight_[p];
    const double weightQ = weight_[q];
    for (const std::int32_t block : blocks) {
        const auto b = static_cast<std::size_t>(block);
        const std::size_t from = label(b);
        assert(from == p || from == q);
        relabel(b, from, from == p ? q : p);
    }
    settle(p, weightP);
    settle(q, weightQ);
}

void Partition::relabel(std::size_t block, std::size_t from, std::size_t to) {
    std::vector<std::int32_t>& old = members_[from];
    old[position_[block]] = old.back();
    position_[static_cast<std::size_t>(old.back())] = position_[block];
    old.pop_back();
    position_[block] = members_[to].size();
    members_[to].push_back(static_cast<std::int32_t>(block));
    labels_[block] = static_cast<std::int32_t>(to);
    carry(block, from, -1.0);
    carry(block, to, 1.0);
}

void Partition::carry(std::size_t block, std::size_t cluster, double factor) {
    const double* row = problem_.means.row(block, buffer_);
    const double weight = factor * problem_.weight[block];
    double* sum = sums_.data() + cluster * nFeatures_;
    for (std::size_t i = 0; i != nFeatures_; ++i)
        sum[i] += weight * row[i];
    load(block, cluster, factor);
    ++updates_[cluster];
}

// What a block brings to a cluster, or takes away with it, besides its row.
void Partition::load(std::size_t block, std::size_t cluster, double factor) {
    weight_[cluster] += factor * problem_.weight[block];
    demand_[cluster] += factor * problem_.demandOf(block);
    const std::size_t nAmounts = moving_.size();
    for (std::size_t a = 0; a != nAmounts; ++a)
        held_[cluster * nAmounts + a] += factor * problem_.amounts[block * nAmounts + a];
}

void Partition::settle(std::size_t cluster, double weightBefore) {
    const double* center = centers_.data() + cluster * nFeatures_;
    std::copy_n(center, nFeatures_, before_.begin());
    // As many updates as members have passed: computing anew costs no more than they did, and ends the drift.
    // Little left of a large weight: what is left may be rounding.
    if (updates_[cluster] >= members_[cluster].size() || weight_[cluster] < 1e-6 * weightBefore)
        recompute(cluster);
    else
        for (std::size_t i = 0; i != nFeatures_ && weight_[cluster] > 0.0; ++i)
            centers_[cluster * nFeatures_ + i] = sums_[cluster * nFeatures_ + i] / weight_[cluster];
    travelled_[cluster] += std::sqrt(squaredDistance(before_.data(), center, nFeatures_));
    changed_[cluster] = now_;
}

void Partition::recompute(std::size_t cluster) {
    double* sum = sums_.data() + cluster * nFeatures_;
    std::fill_n(sum, nFeatures_, 0.0);
    weight_[cluster] = demand_[cluster] = 0.0;
    std::fill_n(held_.begin() + static_cast<std::ptrdiff_t>(cluster * moving_.size()), moving_.size(), 0.0);
    for (const std::int32_t block : members_[cluster])
        carry(static_cast<std::size_t>(block), cluster, 1.0);
    updates_[cluster] = 0;
    for (std::size_t i = 0; i != nFeatures_ && weight_[cluster] > 0.0; ++i)
        centers_[cluster * nFeatures_ + i] = sum[i] / weight_[cluster];
}

double Partition::cost() {
    double total = 0.0;
    for (std::size_t cluster = 0; cluster != members_.size(); ++cluster) {
        if (updates_[cluster] != 0)
            recompute(cluster);
        for (const std::int32_t block : members_[cluster]) {
            const auto b = static_cast<std::size_t>(block);
            const double* row = problem_.means.row(b, buffer_);
            total += problem_.weight[b] * squaredDistance(row, center(cluster), nFeatures_);
        }
    }
    return total + penalty();
}

double Partition::penalty() const {
    double total = 0.0;
    for (std::size_t block = 0; block != labels_.size(); ++block)
        problem_.forNeighbours(block, [&](std::size_t other, double weight) {
            if (other > block)
                total += linkPrice(weight, labels_[block], labels_[other]);
        });
    return total;
}

} // namespace konstrain
