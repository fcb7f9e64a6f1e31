#include "cluster_points.h"

#include <algorithm>
#include <cmath>

#include "infinity.h"

namespace konstrain::exact {

ClusterPoints::ClusterPoints(std::span<const double> points, std::size_t nFeatures,
                             std::span<const double> weight, std::span<const double> demand, double sizeMin,
                             double sizeMax, std::span<const std::int64_t> indptr,
                             std::span<const std::int32_t> indices)
    : nFeatures_(nFeatures), points_(points.begin(), points.end()), weight_(weight.begin(), weight.end()),
      squaredNorm_(weight.size()), demand_(demand.begin(), demand.end()), sizeMin_(sizeMin),
      sizeMax_(sizeMax), hasSizes_(sizeMin > 0.0 || std::isfinite(sizeMax)),
      indptr_(indptr.begin(), indptr.end()), indices_(indices.begin(), indices.end()),
      cliquesOf_(weight.size()) {
    for (std::size_t i = 0; i != size(); ++i)
        for (std::size_t a = 0; a != nFeatures_; ++a)
            squaredNorm_[i] += point(i)[a] * point(i)[a];
    coverConflictsByCliques();
}

std::span<const std::int32_t> ClusterPoints::conflicts(std::size_t i) const {
    const auto begin = static_cast<std::size_t>(indptr_[i]);
    return std::span(indices_).subspan(begin, static_cast<std::size_t>(indptr_[i + 1]) - begin);
}

double ClusterPoints::ratio(std::size_t i, double reduced) const {
    if (demand_[i] > 0.0)
        return reduced / demand_[i];
    return reduced < 0.0 ? -infinity : infinity;
}

void ClusterPoints::coverConflictsByCliques() {
    const auto areInConflict = [this](std::int32_t i, std::int32_t j) {
        const auto others = conflicts(static_cast<std::size_t>(i));
        return std::ranges::binary_search(others, j);
    };
    const auto shareClique = [this](std::int32_t i, std::int32_t j) {
        return std::ranges::any_of(cliquesOf_[static_cast<std::size_t>(i)], [&](std::int32_t c) {
            return std::ranges::find(cliques_[static_cast<std::size_t>(c)], j) !=
                   cliques_[static_cast<std::size_t>(c)].end();
        });
    };
    for (std::size_t i = 0; i != size(); ++i)
        for (const std::int32_t j : conflicts(i)) {
            const auto first = static_cast<std::int32_t>(i);
            if (j < first || shareClique(first, j))
                continue;
            std::vector<std::int32_t> clique{first, j};
            for (const std::int32_t other : conflicts(i))
                if (std::ranges::all_of(clique, [&](std::int32_t member) {
                        return member != other && areInConflict(member, other);
                    }))
                    clique.push_back(other);
            for (const std::int32_t member : clique)
                cliquesOf_[static_cast<std::size_t>(member)].push_back(
                    static_cast<std::int32_t>(cliques_.size()));
            cliques_.push_back(std::move(clique));
        }
}

} // namespace konstrain::exact
