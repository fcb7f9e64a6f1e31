#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hardware.h"
#include "row_views.h"

namespace konstrain::kmeans {

// Rows, or centers, that a kernel reads side by side, and how many it asks for at least on the other side.
// Floats are half as wide as doubles: a register has `screenLanes` of them, a tile two registers.
inline constexpr std::size_t screenLanes = laneCount * 2;
inline constexpr std::size_t screenTile = screenLanes * 2;
inline constexpr std::size_t screenGroup = laneCount;

// Centers in single precision, which say of most of them that they are too far away: twice as many numbers
// fit into a register, and no differences are taken. What is left is for doubles to decide.
//
// With x and c measured from the middle of the centers, |x - c|^2 = |x|^2 + 2 (|c|^2 / 2 - x.c). Centers
// differ in the bracket only, the score, to which half a dual may be added. For each row the largest
// possible error of its scores is known: rounding of d products and sums, each at most as large as |x| |c|
// and the largest offset together.
class ScreenedCenters {
public:
    explicit ScreenedCenters(const DenseRows<double>& centers);

    // Fewer centers are not worth it.
    static constexpr std::size_t fewest = screenLanes * 4;
    // Whether single precision tells these centers apart at all.
    bool isUsable() const { return scale_ > 0.0; }
    std::size_t nColumns() const { return middle_.size(); }
    // Scores of one row: those past the last center are infinite.
    std::size_t nScores() const { return offsets_.size(); }

    // From now on scores are those of squared distances with these duals.
    void setDuals(std::span<const double> duals);

    // Writes a row in the units of the scores and returns its squared length.
    template <typename Value> double shift(const Value* row, float* to) const;
    // How far scores of a row of this squared length may be off.
    double error(double square) const;
    // How far scores are apart where costs are as far apart as this.
    double scoreOf(double difference) const { return 0.5 * difference * scale_ * scale_; }
    // What a row of this squared length costs, dual included, where it has this score.
    double cost(double square, double score) const { return (square + 2.0 * score) / (scale_ * scale_); }

    // The two least scores of each row of a tile, and the first center that has the least one. Column `f` of
    // row `i` is at `tile[f * screenTile + i]`.
    void twoNearest(const float* tile, float* first, float* second, std::int32_t* nearest) const;
    // All scores of a few rows, a multiple of `screenGroup`.
    void score(const float* rows, std::size_t nRows, float* scores) const;
    // Writes which centers have scores no more than `reach` above the least one of a row, about two dozen at
    // most, in order, and the score that none of the others is below. `kept` must hold `nScores` and a tile
    // more.
    std::size_t keepLeast(const float* scores, double reach, std::int32_t* kept, float& limit) const;

private:
    std::vector<double> middle_;
    double scale_ = 0.0; // a power of two; 0: not usable
    double longest_ = 0.0;
    double largestOffset_ = 0.0;
    std::vector<double> halfSquares_;
    std::vector<float> offsets_;
    std::vector<float> points_; // one after the other
    std::vector<float> tiles_;  // side by side
};

} // namespace konstrain::kmeans
