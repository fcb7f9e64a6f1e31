#include "blocks.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace konstrain::constraints {

namespace {

// The root of a set is its smallest node. Rows come before the auxiliary nodes of groups and labels, so a
// block's root is its first row.
class DisjointSets {
public:
    explicit DisjointSets(std::size_t size) : parent_(size) {
        std::iota(parent_.begin(), parent_.end(), std::int32_t{0});
    }

    // Path halving: every other node on the way is linked to its grandparent, which makes a sequence of finds
    // nearly linear (Tarjan and van Leeuwen 1984).
    std::int32_t find(std::int32_t node) {
        while (at(node) != node) {
            at(node) = at(at(node));
            node = at(node);
        }
        return node;
    }

    void unite(std::int32_t a, std::int32_t b) {
        a = find(a);
        b = find(b);
        at(std::max(a, b)) = std::min(a, b);
    }

private:
    std::int32_t& at(std::int32_t node) { return parent_[static_cast<std::size_t>(node)]; }

    std::vector<std::int32_t> parent_;
};

std::int32_t countCodes(std::span<const std::int32_t> codes) {
    return codes.empty() ? 0 : *std::max_element(codes.begin(), codes.end()) + 1;
}

} // namespace

// Union-find: rows of one block have one root, which is its first row because `unite` keeps the smaller
// number. So one pass in the order of the rows meets every root before the others of its block and numbers
// blocks by their first rows, whatever the order of the pairs.
std::int32_t mergeBlocks(std::span<const std::int32_t> pairs, std::span<const std::int32_t> groups,
                         std::span<const std::int32_t> labels, std::span<std::int32_t> blockOf) {
    const auto nRows = static_cast<std::int32_t>(blockOf.size());
    const std::int32_t nGroups = countCodes(groups);
    DisjointSets sets(static_cast<std::size_t>(nRows + nGroups + countCodes(labels)));
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
        assert(pairs[i] >= 0 && pairs[i] < nRows && pairs[i + 1] >= 0 && pairs[i + 1] < nRows);
        sets.unite(pairs[i], pairs[i + 1]);
    }
    // One auxiliary node per group instead of all its pairs.
    const auto uniteByCode = [&](std::span<const std::int32_t> codes, std::int32_t offset) {
        for (std::size_t row = 0; row != codes.size(); ++row)
            if (codes[row] >= 0)
                sets.unite(static_cast<std::int32_t>(row), offset + codes[row]);
    };
    uniteByCode(groups, nRows);
    uniteByCode(labels, nRows + nGroups);

    std::int32_t nBlocks = 0;
    for (std::int32_t row = 0; row != nRows; ++row) {
        const std::int32_t root = sets.find(row);
        blockOf[static_cast<std::size_t>(row)] =
            root == row ? nBlocks++ : blockOf[static_cast<std::size_t>(root)];
    }
    return nBlocks;
}

void listRows(std::span<const std::int32_t> blockOf, std::span<std::int64_t> indptr,
              std::span<std::int32_t> rows) {
    assert(rows.size() == blockOf.size() && !indptr.empty());
    std::fill(indptr.begin(), indptr.end(), std::int64_t{0});
    for (const std::int32_t block : blockOf)
        ++indptr[static_cast<std::size_t>(block) + 1];
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    std::vector<std::int64_t> next(indptr.begin(), indptr.end() - 1);
    for (std::size_t row = 0; row != blockOf.size(); ++row) {
        const auto slot = static_cast<std::size_t>(next[static_cast<std::size_t>(blockOf[row])]++);
        rows[slot] = static_cast<std::int32_t>(row);
    }
}

namespace {

struct HalfEdge {
    std::int32_t from;
    std::int32_t to;
    std::int32_t edge;
};

// Stable counting sort, so that repeated edges keep the order in which they were given.
template <typename Key>
std::vector<HalfEdge> sortedBy(const std::vector<HalfEdge>& halves, std::size_t nNodes, Key key) {
    std::vector<std::int64_t> next(nNodes + 1, 0);
    for (const HalfEdge& half : halves)
        ++next[static_cast<std::size_t>(key(half)) + 1];
    std::partial_sum(next.begin(), next.end(), next.begin());
    std::vector<HalfEdge> sorted(halves.size());
    for (const HalfEdge& half : halves)
        sorted[static_cast<std::size_t>(next[static_cast<std::size_t>(key(half))]++)] = half;
    return sorted;
}

} // namespace

// Radix sort by the two ends, least significant first: two stable counting sorts, O(nodes + edges). Repeated
// edges are then neighbours, in the order in which they were given, so that their weights are added in it.
LinkArrays buildLinks(std::size_t nNodes, std::span<const std::int32_t> first,
                      std::span<const std::int32_t> second, std::span<const double> weights) {
    assert(first.size() == second.size() && (weights.empty() || weights.size() == first.size()));
    std::vector<HalfEdge> halves;
    halves.reserve(2 * first.size());
    for (std::size_t e = 0; e != first.size(); ++e) {
        halves.push_back({first[e], second[e], static_cast<std::int32_t>(e)});
        halves.push_back({second[e], first[e], static_cast<std::int32_t>(e)});
    }
    halves = sortedBy(halves, nNodes, [](const HalfEdge& half) { return half.to; });
    halves = sortedBy(halves, nNodes, [](const HalfEdge& half) { return half.from; });

    LinkArrays links;
    links.indptr.assign(nNodes + 1, 0);
    links.indices.reserve(halves.size());
    links.weights.reserve(weights.empty() ? 0 : halves.size());
    for (std::size_t i = 0; i != halves.size();) {
        const HalfEdge& head = halves[i];
        double sum = 0.0;
        for (; i != halves.size() && halves[i].from == head.from && halves[i].to == head.to; ++i)
            sum += weights.empty() ? 1.0 : weights[static_cast<std::size_t>(halves[i].edge)];
        if (sum == 0.0)
            continue;
        ++links.indptr[static_cast<std::size_t>(head.from) + 1];
        links.indices.push_back(head.to);
        if (!weights.empty())
            links.weights.push_back(sum);
    }
    std::partial_sum(links.indptr.begin(), links.indptr.end(), links.indptr.begin());
    return links;
}

namespace {

double weightOf(std::span<const double> weights, std::int32_t row) {
    return weights.empty() ? 1.0 : weights[static_cast<std::size_t>(row)];
}

double totalWeight(std::span<const double> weights, std::span<const std::int32_t> rows) {
    double total = 0.0;
    for (const std::int32_t row : rows)
        total += weightOf(weights, row);
    return total;
}

std::span<const std::int32_t> rowsOf(std::span<const std::int64_t> indptr, std::span<const std::int32_t> rows,
                                     std::size_t block) {
    const auto begin = static_cast<std::size_t>(indptr[block]);
    return rows.subspan(begin, static_cast<std::size_t>(indptr[block + 1]) - begin);
}

} // namespace

template <typename T>
void averageBlocks(const StridedRows<T>& x, std::span<const std::int64_t> indptr,
                   std::span<const std::int32_t> rows, std::span<const double> weights, std::span<T> means,
                   std::span<double> scatter) {
    std::vector<double> mean(x.nColumns);
    const auto value = [&](std::int32_t row, std::size_t column) {
        return static_cast<double>(
            x.data[row * x.rowStride + static_cast<std::ptrdiff_t>(column) * x.columnStride]);
    };
    for (std::size_t block = 0; block != scatter.size(); ++block) {
        const auto members = rowsOf(indptr, rows, block);
        T* out = means.data() + block * x.nColumns;
        scatter[block] = 0.0;
        if (members.size() == 1) {
            for (std::size_t c = 0; c != x.nColumns; ++c)
                out[c] = static_cast<T>(value(members.front(), c));
            continue;
        }
        const double total = totalWeight(weights, members);
        std::fill(mean.begin(), mean.end(), 0.0);
        for (const std::int32_t row : members) {
            const double weight = total > 0.0 ? weightOf(weights, row) : 1.0;
            for (std::size_t c = 0; c != x.nColumns; ++c)
                mean[c] += weight * value(row, c);
        }
        for (double& m : mean)
            m /= total > 0.0 ? total : static_cast<double>(members.size());
        for (const std::int32_t row : members) {
            double squared = 0.0;
            for (std::size_t c = 0; c != x.nColumns; ++c) {
                const double difference = value(row, c) - mean[c];
                squared += difference * difference;
            }
            scatter[block] += (total > 0.0 ? weightOf(weights, row) : 0.0) * squared;
        }
        for (std::size_t c = 0; c != x.nColumns; ++c)
            out[c] = static_cast<T>(mean[c]);
    }
}

template <typename T, typename Index>
SparseMeans<T> averageBlocksSparse(std::span<const Index> xIndptr, std::span<const Index> xIndices,
                                   std::span<const T> xData, std::size_t nColumns,
                                   std::span<const std::int64_t> indptr, std::span<const std::int32_t> rows,
                                   std::span<const double> weights, std::span<double> scatter) {
    SparseMeans<T> means;
    means.indptr.assign(1, 0);
    std::vector<double> mean(nColumns, 0.0);
    std::vector<double> present(nColumns, 0.0); // weight of the rows that store this column
    std::vector<char> seen(nColumns, 0);
    std::vector<std::int32_t> touched;
    const auto eachEntry = [&](std::int32_t row, auto&& visit) {
        const auto r = static_cast<std::size_t>(row);
        for (auto i = static_cast<std::size_t>(xIndptr[r]); i != static_cast<std::size_t>(xIndptr[r + 1]);
             ++i)
            visit(static_cast<std::size_t>(xIndices[i]), static_cast<double>(xData[i]));
    };
    for (std::size_t block = 0; block != scatter.size(); ++block) {
        const auto members = rowsOf(indptr, rows, block);
        const double total = totalWeight(weights, members);
        touched.clear();
        for (const std::int32_t row : members) {
            const double weight = weightOf(weights, row);
            const double pull = total > 0.0 ? weight : 1.0;
            eachEntry(row, [&](std::size_t column, double value) {
                if (seen[column] == 0) {
                    seen[column] = 1;
                    touched.push_back(static_cast<std::int32_t>(column));
                }
                mean[column] += pull * value;
                present[column] += weight;
            });
        }
        for (const std::int32_t c : touched)
            mean[static_cast<std::size_t>(c)] /= total > 0.0 ? total : static_cast<double>(members.size());
        // Columns a row does not store are zeros: their squares are the mean's, once per missing weight.
        double sum = 0.0;
        for (const std::int32_t row : members)
            eachEntry(row, [&](std::size_t column, double value) {
                const double difference = value - mean[column];
                sum += weightOf(weights, row) * difference * difference;
            });
        std::sort(touched.begin(), touched.end());
        for (const std::int32_t c : touched) {
            const auto column = static_cast<std::size_t>(c);
            sum += std::max(0.0, total - present[column]) * mean[column] * mean[column];
            means.indices.push_back(c);
            means.data.push_back(static_cast<T>(mean[column]));
            mean[column] = 0.0;
            present[column] = 0.0;
            seen[column] = 0;
        }
        scatter[block] = members.size() == 1 ? 0.0 : sum;
        means.indptr.push_back(static_cast<std::int64_t>(means.indices.size()));
    }
    return means;
}

template void averageBlocks(const StridedRows<double>&, std::span<const std::int64_t>,
                            std::span<const std::int32_t>, std::span<const double>, std::span<double>,
                            std::span<double>);
template void averageBlocks(const StridedRows<float>&, std::span<const std::int64_t>,
                            std::span<const std::int32_t>, std::span<const double>, std::span<float>,
                            std::span<double>);

#define KONSTRAIN_BLOCK_MEANS_SPARSE(T, Index)                                                               \
    template SparseMeans<T> averageBlocksSparse(                                                             \
        std::span<const Index>, std::span<const Index>, std::span<const T>, std::size_t,                     \
        std::span<const std::int64_t>, std::span<const std::int32_t>, std::span<const double>,               \
        std::span<double>)
KONSTRAIN_BLOCK_MEANS_SPARSE(double, std::int32_t);
KONSTRAIN_BLOCK_MEANS_SPARSE(double, std::int64_t);
KONSTRAIN_BLOCK_MEANS_SPARSE(float, std::int32_t);
KONSTRAIN_BLOCK_MEANS_SPARSE(float, std::int64_t);
#undef KONSTRAIN_BLOCK_MEANS_SPARSE

} // namespace konstrain::constraints
