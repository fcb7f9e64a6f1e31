// Included by candidate_lists.cpp once per instruction set; see for_each_target.h.

#define KONSTRAIN_INLINE __attribute__((always_inline)) inline

namespace konstrain::transport::KONSTRAIN_TARGET {

using namespace konstrain::KONSTRAIN_TARGET; // the lanes of this instruction set

using Bytes = std::int8_t __attribute__((vector_size(8)));

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

// The least and the fourth-least priced cost that each of eight lanes meets.
inline void leastOfLanes(const double* costs, const double* duals, std::size_t nColumns, double* first,
                         double* fourth) {
    Doubles least[4] = {all(infinity), all(infinity), all(infinity), all(infinity)};
    for (std::size_t j = 0; j < nColumns; j += laneCount)
        insert(least, load(costs + j) + load(duals + j));
    store(first, least[0]);
    store(fourth, least[3]);
}

// Writes the columns whose priced cost is at most `limit` and returns how many there are.
inline std::size_t columnsUpTo(const double* costs, const double* duals, std::size_t nColumns, double limit,
                               std::int32_t* columns) {
    std::size_t count = 0;
    for (std::size_t j = 0; j < nColumns; j += laneCount) {
        const Integers hit = load(costs + j) + load(duals + j) <= all(limit);
        const Bytes bytes = __builtin_convertvector(hit, Bytes);
        std::uint64_t bits;
        std::memcpy(&bits, &bytes, sizeof bits);
        for (bits &= 0x0101010101010101U; bits != 0; bits &= bits - 1)
            columns[count++] = static_cast<std::int32_t>(j) + (__builtin_ctzll(bits) >> 3);
    }
    return count;
}

} // namespace konstrain::transport::KONSTRAIN_TARGET

#undef KONSTRAIN_INLINE
