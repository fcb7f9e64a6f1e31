// Included by candidate_lists.cpp once per instruction set; see for_each_target.h.

#define KONSTRAIN_INLINE __attribute__((always_inline)) inline

namespace konstrain::transport::KONSTRAIN_TARGET {

using namespace konstrain::KONSTRAIN_TARGET; // the lanes of this instruction set

// Puts `value` into four ascending vectors, lane by lane; what is too large falls out.
KONSTRAIN_INLINE void insert(Doubles (&least)[4], Doubles value) {
#pragma GCC unroll 4
    for (auto& kept : least) {
        const Integers smaller = value < kept;
        const Doubles larger = smaller ? kept : value;
        kept = smaller ? value : kept;
        value = larger;
    }
}

// The least and the fourth-least priced cost of every eighth column, from each of the first eight on.
inline void leastOfLanes(const double* costs, const double* duals, std::size_t nColumns, double* first,
                         double* fourth) {
    for (std::size_t lane = 0; lane != laneCount; lane += nLanes) {
        Doubles least[4] = {all(infinity), all(infinity), all(infinity), all(infinity)};
        for (std::size_t j = lane; j < nColumns; j += laneCount)
            insert(least, load(costs + j) + load(duals + j));
        store(first + lane, least[0]);
        store(fourth + lane, least[3]);
    }
}

// Writes the columns whose priced cost is at most `limit` and returns how many there are.
inline std::size_t columnsUpTo(const double* costs, const double* duals, std::size_t nColumns, double limit,
                               std::int32_t* columns) {
    std::size_t count = 0;
    for (std::size_t j = 0; j < nColumns; j += nLanes) {
        const Integers hit = load(costs + j) + load(duals + j) <= all(limit);
        for (std::size_t lane = 0; lane != nLanes; ++lane)
            if (hit[lane] != 0)
                columns[count++] = static_cast<std::int32_t>(j + lane);
    }
    return count;
}

} // namespace konstrain::transport::KONSTRAIN_TARGET

#undef KONSTRAIN_INLINE
