#include "quantization.h"

#include <algorithm>
#include <cassert>
#include <vector>

#include "infinity.h"

namespace konstrain::baselines {

namespace {

class CostMatrix {
public:
    CostMatrix(std::span<const double> matrix, std::size_t nClusters)
        : matrix_(matrix), nClusters_(nClusters) {}

    std::size_t nClusters() const { return nClusters_; }
    double at(std::int32_t row, std::int32_t cluster) const {
        return matrix_[static_cast<std::size_t>(row) * nClusters_ + static_cast<std::size_t>(cluster)];
    }
    std::int32_t nearestBut(std::int32_t row, std::int32_t left) const {
        std::int32_t best = -1;
        for (std::int32_t j = 0; j != static_cast<std::int32_t>(nClusters_); ++j)
            if (j != left && (best < 0 || at(row, j) < at(row, best)))
                best = j;
        return best;
    }

private:
    std::span<const double> matrix_;
    std::size_t nClusters_;
};

// What it costs when the two rows of a link go to clusters a and b: 0 when that keeps the link.
class Penalties {
public:
    Penalties(std::span<const double> separation, std::size_t nClusters)
        : apart_(separation, nClusters), together_(nClusters) {
        for (std::int32_t j = 0; j != static_cast<std::int32_t>(nClusters); ++j)
            together_[static_cast<std::size_t>(j)] = apart_.at(j, apart_.nearestBut(j, j));
    }
    double mustLink(std::int32_t a, std::int32_t b) const { return a == b ? 0.0 : apart_.at(a, b); }
    double cannotLink(std::int32_t a, std::int32_t b) const {
        return a == b ? together_[static_cast<std::size_t>(a)] : 0.0;
    }

private:
    CostMatrix apart_;
    std::vector<double> together_;
};

struct RowPair {
    std::int32_t first;
    std::int32_t second;
};

template <typename Visit> void forEachPair(std::span<const std::int32_t> pairs, Visit visit) {
    for (std::size_t at = 0; at != pairs.size(); at += 2)
        visit(RowPair{pairs[at], pairs[at + 1]});
}

template <typename Penalty>
void moveBoth(const CostMatrix& costs, const RowPair& link, Penalty penalty, std::span<std::int32_t> labels) {
    const auto nClusters = static_cast<std::int32_t>(costs.nClusters());
    double least = infinity;
    for (std::int32_t a = 0; a != nClusters; ++a) {
        for (std::int32_t b = 0; b != nClusters; ++b) {
            const double cost = costs.at(link.first, a) + costs.at(link.second, b) + penalty(a, b);
            if (cost < least) {
                least = cost;
                labels[static_cast<std::size_t>(link.first)] = a;
                labels[static_cast<std::size_t>(link.second)] = b;
            }
        }
    }
}

void settleMustLink(const CostMatrix& costs, const RowPair& link, std::int32_t& first, std::int32_t& second) {
    const double firstHere = costs.at(link.first, first), firstThere = costs.at(link.first, second);
    const double secondHere = costs.at(link.second, second), secondThere = costs.at(link.second, first);
    const double stay = firstHere + secondHere + 0.5 * (firstThere + secondThere);
    const double joinFirst = firstHere + secondThere, joinSecond = firstThere + secondHere;
    if (stay <= joinFirst && stay <= joinSecond)
        return;
    if (joinFirst <= joinSecond)
        second = first;
    else
        first = second;
}

void settleCannotLink(const CostMatrix& costs, const RowPair& link, std::int32_t& first,
                      std::int32_t& second) {
    const std::int32_t firstNext = costs.nearestBut(link.first, first);
    const std::int32_t secondNext = costs.nearestBut(link.second, second);
    const double firstHere = costs.at(link.first, first), secondHere = costs.at(link.second, second);
    const double firstAway = costs.at(link.first, firstNext), secondAway = costs.at(link.second, secondNext);
    const double stay = firstHere + secondHere + (firstHere >= secondHere ? firstAway : secondAway);
    const double moveFirst = firstAway + secondHere, moveSecond = firstHere + secondAway;
    if (stay <= moveFirst && stay <= moveSecond)
        return;
    if (moveFirst <= moveSecond)
        first = firstNext;
    else
        second = secondNext;
}

} // namespace

void cvqePass(std::span<const double> costs, std::size_t nClusters, std::span<const double> separation,
              const PairView& links, std::span<std::int32_t> labels) {
    assert(nClusters > 1 && costs.size() == labels.size() * nClusters);
    assert(separation.size() == nClusters * nClusters);
    const CostMatrix distances(costs, nClusters);
    const Penalties penalties(separation, nClusters);
    const auto label = [&](std::int32_t row) { return labels[static_cast<std::size_t>(row)]; };
    forEachPair(links.mustLink, [&](const RowPair& link) {
        if (label(link.first) != label(link.second))
            moveBoth(distances, link, [&](auto a, auto b) { return penalties.mustLink(a, b); }, labels);
    });
    forEachPair(links.cannotLink, [&](const RowPair& link) {
        if (label(link.first) == label(link.second))
            moveBoth(distances, link, [&](auto a, auto b) { return penalties.cannotLink(a, b); }, labels);
    });
}

void lcvqePass(std::span<const double> costs, std::size_t nClusters, const PairView& links,
               std::span<std::int32_t> labels) {
    assert(nClusters > 1 && costs.size() == labels.size() * nClusters);
    const CostMatrix distances(costs, nClusters);
    const auto label = [&](std::int32_t row) -> std::int32_t& {
        return labels[static_cast<std::size_t>(row)];
    };
    forEachPair(links.mustLink, [&](const RowPair& link) {
        if (label(link.first) != label(link.second))
            settleMustLink(distances, link, label(link.first), label(link.second));
    });
    forEachPair(links.cannotLink, [&](const RowPair& link) {
        if (label(link.first) == label(link.second))
            settleCannotLink(distances, link, label(link.first), label(link.second));
    });
}

} // namespace konstrain::baselines
