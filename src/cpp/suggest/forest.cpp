#include "forest.h"

#include "random.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

namespace konstrain::suggest {
namespace {

struct Split {
    std::size_t feature = 0;
    double threshold = 0.0;
    double purity = -1.0; // below 0: none was found
};

// A node that splits sends rows at most the threshold to `child`, others to the next one; a leaf has its
// number.
struct Node {
    Split split;
    std::size_t child = 0;
    std::int32_t leaf = -1;
};

// Rows of a node: a part of the rows drawn.
struct Part {
    std::size_t node, begin, end;
};

// Rows of each class on one side of a split. The sum of their squares over their number is what the Gini
// index compares.
class Side {
public:
    explicit Side(std::size_t nClasses) : counts_(nClasses) {}

    void clear() {
        std::ranges::fill(counts_, 0);
        squares_ = total_ = 0.0;
    }
    void add(std::int32_t group) {
        auto& count = counts_[static_cast<std::size_t>(group)];
        squares_ += 2.0 * count + 1.0;
        ++count;
        ++total_;
    }
    void remove(std::int32_t group) {
        auto& count = counts_[static_cast<std::size_t>(group)];
        squares_ -= 2.0 * count - 1.0;
        --count;
        --total_;
    }
    [[nodiscard]] double purity() const { return squares_ / total_; }

private:
    std::vector<std::int32_t> counts_;
    double squares_ = 0.0, total_ = 0.0;
};

class Tree {
public:
    Tree(const LabeledRows& data, Random& random)
        : data_(data), random_(random), features_(data.nFeatures), left_(data.nClasses),
          right_(data.nClasses) {
        std::iota(features_.begin(), features_.end(), std::size_t{0});
    }

    void grow(std::size_t nDrawn) {
        drawn_.resize(nDrawn);
        for (auto& row : drawn_)
            row = drawBelow(data_.size(), random_);
        nodes_.assign(1, {});
        std::int32_t nLeaves = 0;
        std::vector<Part> open{{0, 0, nDrawn}};
        while (!open.empty()) {
            const Part part = open.back();
            open.pop_back();
            const Split split = isPure(part) ? Split{} : bestSplit(part);
            if (split.purity < 0.0) {
                nodes_[part.node].leaf = nLeaves++;
                continue;
            }
            const auto begin = drawn_.begin();
            const auto middle =
                std::partition(begin + static_cast<std::ptrdiff_t>(part.begin),
                               begin + static_cast<std::ptrdiff_t>(part.end), [&](std::size_t row) {
                                   return data_.at(row, split.feature) <= split.threshold;
                               });
            const auto cut = static_cast<std::size_t>(middle - begin);
            const std::size_t child = nodes_.size();
            nodes_[part.node] = {split, child, -1};
            nodes_.resize(child + 2);
            open.push_back({child, part.begin, cut});
            open.push_back({child + 1, cut, part.end});
        }
    }

    [[nodiscard]] std::int32_t leafOf(std::size_t row) const {
        const Node* node = nodes_.data();
        while (node->leaf < 0) {
            const bool isRight = data_.at(row, node->split.feature) > node->split.threshold;
            node = &nodes_[node->child + static_cast<std::size_t>(isRight)];
        }
        return node->leaf;
    }

private:
    [[nodiscard]] bool isPure(const Part& part) const {
        const auto group = data_.classes[drawn_[part.begin]];
        return std::all_of(drawn_.begin() + static_cast<std::ptrdiff_t>(part.begin),
                           drawn_.begin() + static_cast<std::ptrdiff_t>(part.end),
                           [&](std::size_t row) { return data_.classes[row] == group; });
    }

    // Random forests (Breiman 2001): the best split over a random subset of about sqrt(d) features, and over
    // more of them while none of these can split. The swap is one step of a Fisher-Yates shuffle.
    Split bestSplit(const Part& part) {
        const auto nTried = static_cast<std::size_t>(std::sqrt(static_cast<double>(features_.size())));
        Split best;
        for (std::size_t i = 0; i < features_.size() && (i < nTried || best.purity < 0.0); ++i) {
            std::swap(features_[i], features_[i + drawBelow(features_.size() - i, random_)]);
            tryFeature(part, features_[i], best);
        }
        return best;
    }

    // One sort, then a sweep over all thresholds: moving a row from right to left changes the sums of squares
    // by constants, so each threshold costs O(1). Lower Gini impurity means a larger sum of purities.
    void tryFeature(const Part& part, std::size_t feature, Split& best) {
        sorted_.clear();
        left_.clear();
        right_.clear();
        for (std::size_t i = part.begin; i < part.end; ++i) {
            const auto group = data_.classes[drawn_[i]];
            sorted_.emplace_back(data_.at(drawn_[i], feature), group);
            right_.add(group);
        }
        std::ranges::sort(sorted_);
        for (std::size_t i = 1; i < sorted_.size(); ++i) {
            left_.add(sorted_[i - 1].second);
            right_.remove(sorted_[i - 1].second);
            const double below = sorted_[i - 1].first, above = sorted_[i].first;
            if (below == above)
                continue;
            const double purity = left_.purity() + right_.purity();
            if (purity > best.purity) {
                // Halfway may round to the upper value, which must stay above.
                const double middle = std::midpoint(below, above);
                best = {feature, middle < above ? middle : below, purity};
            }
        }
    }

    const LabeledRows& data_;
    Random& random_;
    std::vector<std::size_t> features_, drawn_;
    std::vector<std::pair<double, std::int32_t>> sorted_;
    Side left_, right_;
    std::vector<Node> nodes_;
};

} // namespace

void growForest(const LabeledRows& data, std::size_t nDrawn, std::uint64_t seed,
                std::span<std::int32_t> leaves) {
    assert(data.size() > 0 && nDrawn > 0 && leaves.size() % data.size() == 0);
    Random random(seed);
    Tree tree(data, random);
    for (auto line = leaves.begin(); line != leaves.end();) {
        tree.grow(nDrawn);
        for (std::size_t row = 0; row < data.size(); ++row)
            *line++ = tree.leafOf(row);
    }
}

} // namespace konstrain::suggest
