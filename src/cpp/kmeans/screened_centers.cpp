#include "screened_centers.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define KONSTRAIN_KERNELS "screen_kernels.h"
#include "for_each_fma_target.h"

namespace konstrain::kmeans {

namespace {

const auto twoNearestOf = KONSTRAIN_PICK(twoNearest);
const auto scoreRows = KONSTRAIN_PICK(scoreRows);
const auto leastScore = KONSTRAIN_PICK(leastScore);
const auto limitOfLanes = KONSTRAIN_PICK(limitOfLanes);
const auto scoresUpTo = KONSTRAIN_PICK(scoresUpTo);
template <typename Value> const auto shiftRow = KONSTRAIN_PICK(shiftRow<Value>);

constexpr float infiniteScore = std::numeric_limits<float>::infinity();
// Half a unit in the last place of a float, and a generous bound on that of a double.
constexpr double floatRounding = std::numeric_limits<float>::epsilon() / 2;
constexpr double doubleRounding = std::numeric_limits<double>::epsilon() * 4;

struct Params {
    // Centers kept for a row; larger: more distances in double precision per row.
    std::size_t maxKept = 12;
};
constexpr Params params;
// Where more are within reach, those are kept up to the second-least score of the lane that comes here when
// lanes are sorted by it: about 22 of 24 centers, and never fewer than 14.
constexpr auto limitingLane = static_cast<std::int32_t>(params.maxKept / 4);

std::size_t roundUp(std::size_t count, std::size_t unit) {
    return (count + unit - 1) / unit * unit;
}

} // namespace

ScreenedCenters::ScreenedCenters(const DenseRows<double>& centers)
    : middle_(centers.nColumns), halfSquares_(centers.nRows),
      offsets_(roundUp(centers.nRows, screenTile), infiniteScore),
      points_(offsets_.size() * centers.nColumns), tiles_(points_.size()) {
    const std::size_t d = nColumns();
    for (std::size_t j = 0; j != centers.nRows; ++j)
        for (std::size_t f = 0; f != d; ++f)
            middle_[f] += centers.values[j * d + f] / static_cast<double>(centers.nRows);
    double longest = 0.0;
    for (std::size_t j = 0; j != centers.nRows; ++j)
        longest = std::max(longest, std::sqrt(shiftRow<double>(centers.values + j * d, middle_.data(), 1.0, d,
                                                               points_.data() + j * d)));
    // What is so long that its square is infinite, or so short that it is nothing, has no scale.
    if (!(longest > 1e-150 && longest < 1e150))
        return;
    scale_ = std::ldexp(1.0, -std::ilogb(longest) - 1);
    longest_ = longest * scale_;
    for (std::size_t j = 0; j != centers.nRows; ++j) {
        float* point = points_.data() + j * d;
        halfSquares_[j] = 0.5 * shiftRow<double>(centers.values + j * d, middle_.data(), scale_, d, point);
        for (std::size_t f = 0; f != d; ++f)
            tiles_[(j / screenTile * d + f) * screenTile + j % screenTile] = point[f];
    }
    setDuals({});
}

void ScreenedCenters::setDuals(std::span<const double> duals) {
    largestOffset_ = 0.0;
    for (std::size_t j = 0; j != halfSquares_.size(); ++j) {
        const double dual = duals.empty() ? 0.0 : duals[j];
        const double offset = halfSquares_[j] + 0.5 * dual * scale_ * scale_;
        largestOffset_ = std::max(largestOffset_, std::abs(offset));
        offsets_[j] = static_cast<float>(offset);
    }
}

template <typename Value> double ScreenedCenters::shift(const Value* row, float* to) const {
    return shiftRow<Value>(row, middle_.data(), scale_, nColumns(), to);
}

// Standard error analysis of an inner product (Higham 2002, section 3.1): n roundings of relative size u in a
// sum whose terms add up to at most S in magnitude leave an error of about n u S. Here S is at most the
// largest offset plus |x| |c| by Cauchy and Schwarz; the shift to the middle is rounded in double precision.
double ScreenedCenters::error(double square) const {
    const double length = std::sqrt(square);
    // d products and sums, and a dozen more operations: of the parts of a score, of the offset, and of
    // what the score is compared with.
    const double roundings = static_cast<double>(nColumns()) + 12.0;
    return roundings * (floatRounding * (largestOffset_ + length * longest_) +
                        doubleRounding * (length + longest_) * (length + longest_)) +
           static_cast<double>(std::numeric_limits<float>::min()) * roundings; // products that underflow
}

void ScreenedCenters::twoNearest(const float* tile, float* first, float* second,
                                 std::int32_t* nearest) const {
    const std::size_t nCenters = roundUp(halfSquares_.size(), screenGroup);
    twoNearestOf(tile, points_.data(), offsets_.data(), nCenters, nColumns(), first, second, nearest);
}

void ScreenedCenters::score(const float* rows, std::size_t nRows, float* scores) const {
    for (std::size_t first = 0; first != nScores(); first += screenTile)
        scoreRows(tiles_.data() + first * nColumns(), offsets_.data() + first, rows, nRows, nColumns(),
                  scores + first, nScores());
}

// Any limit is valid, because the caller gets a bound for what lies above it. The second limit is found
// without sorting: lanes of a register hold the two least scores of every sixteenth center, and the lane of
// rank r by its second-least score has at least 2 r + 2 scores at or below it among the lanes up to its own.
std::size_t ScreenedCenters::keepLeast(const float* scores, double reach, std::int32_t* kept,
                                       float& limit) const {
    std::size_t count = params.maxKept + 1;
    limit = leastScore(scores, nScores()) + static_cast<float>(reach);
    if (limit < infiniteScore)
        count = scoresUpTo(scores, nScores(), limit, kept);
    if (count <= params.maxKept)
        return count;
    limit = limitOfLanes(scores, nScores(), limitingLane);
    // Not a number, or infinite: nothing is known.
    return limit < infiniteScore ? scoresUpTo(scores, nScores(), limit, kept) : 0;
}

template double ScreenedCenters::shift(const double* row, float* to) const;
template double ScreenedCenters::shift(const float* row, float* to) const;

} // namespace konstrain::kmeans
