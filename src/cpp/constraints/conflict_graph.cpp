#include "conflict_graph.h"

#include <algorithm>
#include <utility>

namespace konstrain::constraints {

Induced Cutter::cut(std::span<const Node> members) {
    Induced part;
    part.nodes.assign(members.begin(), members.end());
    part.indptr.assign(1, 0);
    for (std::size_t i = 0; i != members.size(); ++i)
        local_[at(members[i])] = static_cast<Node>(i);
    for (const Node node : members) {
        for (const Node other : graph_.neighbours(node))
            if (local_[at(other)] >= 0)
                part.indices.push_back(local_[at(other)]);
        part.indptr.push_back(static_cast<std::int64_t>(part.indices.size()));
    }
    for (const Node node : members)
        local_[at(node)] = -1;
    return part;
}

std::vector<char> survivors(const ConflictView& graph, std::int64_t least) {
    std::vector<char> alive(graph.size(), 1);
    std::vector<std::int64_t> degree(graph.size());
    std::vector<Node> removed;
    for (std::size_t v = 0; v != graph.size(); ++v) {
        degree[v] = graph.indptr[v + 1] - graph.indptr[v];
        if (degree[v] < least) {
            alive[v] = 0;
            removed.push_back(static_cast<Node>(v));
        }
    }
    while (!removed.empty()) {
        const Node v = removed.back();
        removed.pop_back();
        for (const Node w : graph.neighbours(v))
            if (alive[at(w)] != 0 && --degree[at(w)] < least) {
                alive[at(w)] = 0;
                removed.push_back(w);
            }
    }
    return alive;
}

std::vector<std::vector<Node>> connectedParts(const ConflictView& graph, std::vector<char> alive) {
    std::vector<std::vector<Node>> parts;
    for (std::size_t start = 0; start != graph.size(); ++start) {
        if (alive[start] == 0)
            continue;
        std::vector<Node> part{static_cast<Node>(start)};
        alive[start] = 0;
        for (std::size_t i = 0; i != part.size(); ++i)
            for (const Node w : graph.neighbours(part[i]))
                if (alive[at(w)] != 0) {
                    alive[at(w)] = 0;
                    part.push_back(w);
                }
        std::sort(part.begin(), part.end());
        parts.push_back(std::move(part));
    }
    return parts;
}

Degeneracy degeneracy(const ConflictView& graph) {
    const std::size_t n = graph.size();
    Degeneracy result;
    result.coreNumber.resize(n);
    result.order.reserve(n);
    std::int64_t largest = 0;
    for (std::size_t v = 0; v != n; ++v) {
        result.coreNumber[v] = graph.indptr[v + 1] - graph.indptr[v];
        largest = std::max(largest, result.coreNumber[v]);
    }
    std::vector<std::vector<Node>> bucket(static_cast<std::size_t>(largest) + 1);
    for (std::size_t v = 0; v != n; ++v)
        bucket[static_cast<std::size_t>(result.coreNumber[v])].push_back(static_cast<Node>(v));
    std::vector<char> done(n, 0);
    for (std::size_t d = 0; d != bucket.size(); ++d)
        while (!bucket[d].empty()) {
            const Node v = bucket[d].back();
            bucket[d].pop_back();
            // Entries are not moved when a degree falls, only added: an old one is recognised here.
            if (done[at(v)] != 0 || static_cast<std::size_t>(result.coreNumber[at(v)]) != d)
                continue;
            done[at(v)] = 1;
            result.order.push_back(v);
            for (const Node w : graph.neighbours(v))
                if (done[at(w)] == 0 && static_cast<std::size_t>(result.coreNumber[at(w)]) > d)
                    bucket[static_cast<std::size_t>(--result.coreNumber[at(w)])].push_back(w);
        }
    return result;
}

bool adjacent(const ConflictView& graph, Node a, Node b) {
    const auto row = graph.neighbours(a);
    return std::binary_search(row.begin(), row.end(), b);
}

} // namespace konstrain::constraints
