#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::exact {

// A star cut: sum_{j in T} Z_ij - sum_{j<l in T} Z_jl <= Z_ii with |T| from 1 (pair) over 2 (triangle) to 5.
// The center i comes first, then T ascending, then -1 up to the end.
inline constexpr std::size_t starWidth = 6; // fact: the center and |T| <= 5
using Star = std::array<std::int32_t, starWidth>;

// Symmetric m x m matrices are row-major with only the entries (i, j), i >= j, read and written; an entry is
// named by its position i * m + j.
struct LowerMatrix {
    std::span<const double> values;
    std::size_t size;
};

// The cuts as rows <A_t, Y> <= limit[t] of unit Frobenius norm over Y = D Z D, D = diag(sqrt(weight)). Row t
// holds entries [start[t], start[t + 1]): first `diagonals[t]` on the diagonal, then entries below it.
// `coefficient` is what multiplies the entry in <A_t, Y>: A_t itself has half of it, twice, off the diagonal.
struct CutRows {
    std::span<const std::int64_t> start;
    std::span<const std::int32_t> position;
    std::span<const double> coefficient;
    std::span<const std::int32_t> diagonals;
    std::span<const double> limit;

    std::size_t count() const { return start.size() - 1; }
};

struct OwnedCutRows {
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> position;
    std::vector<double> coefficient;
    std::vector<double> norm; // of each row before it was scaled to 1
};

// `forbidden` lists positions that are zero in every clustering; rows leave them out.
OwnedCutRows buildCutRows(std::span<const Star> stars, std::span<const double> weight,
                          std::span<const std::int32_t> forbidden);

struct Separation {
    std::vector<Star> stars;
    double worstTriangle; // largest violation of a triangle, relative to Z_ii
};

struct SeparationOptions {
    std::size_t mostOfAKind;   // pairs, triangles, larger stars: this many of each at most, the most violated
    double leastViolation;     // of pairs and triangles, relative to Z_ii
    double leastStarViolation; // of larger stars
    double starsBelow;         // larger stars are looked for once no triangle is violated by more
};

// Cuts that Y violates and that are not in `known`.
Separation separateCuts(LowerMatrix y, std::span<const double> weight, std::span<const Star> known,
                        const SeparationOptions& options);

} // namespace konstrain::exact
