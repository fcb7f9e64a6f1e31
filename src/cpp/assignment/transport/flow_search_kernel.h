// Included by flow_search.cpp once per instruction set; see for_each_target.h.

namespace konstrain::transport::KONSTRAIN_TARGET {

using namespace konstrain::KONSTRAIN_TARGET; // the lanes of this instruction set

// Shortens distances along the arcs out of the closed node `from` and returns the nearest open node, or -1
// when no open node is reachable.
inline std::int64_t relax(const SearchArrays& search, const double* weights, std::int64_t from) {
    const Doubles dual = all(search.duals[from]);
    const Doubles start = all(search.distance[from]);
    Best nearest{all(infinity), all(infinity), all(std::int64_t{-1})};
    for (std::size_t j = 0; j != search.stride; j += nLanes) {
        const Doubles reduced = load(weights + j) + load(search.duals + j) - dual;
        // Rounding may leave a reduced cost just below zero.
        const Doubles candidate = start + (reduced < all(0.0) ? all(0.0) : reduced);
        const Doubles distance = load(search.distance + j);
        const Integers better = candidate < distance;
        store(search.distance + j, better ? candidate : distance);
        const Doubles before = load(search.open + j);
        const Doubles open = better ? candidate : before;
        store(search.open + j, open);
        const Integers parent = load(search.parent + j);
        store(search.parent + j, better ? all(from) : parent);
        take(nearest, open, firstColumns() + static_cast<std::int64_t>(j));
    }
    double distance = infinity;
    std::int64_t node = -1;
    for (std::size_t lane = 0; lane != nLanes; ++lane) {
        const bool closer = nearest.first[lane] < distance ||
                            (nearest.first[lane] == distance && nearest.column[lane] < node && node >= 0);
        distance = closer ? nearest.first[lane] : distance;
        node = closer ? nearest.column[lane] : node;
    }
    return node;
}

} // namespace konstrain::transport::KONSTRAIN_TARGET
