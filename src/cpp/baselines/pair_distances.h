#pragma once

#include <cstdint>
#include <vector>

#include "row_views.h"

namespace konstrain::baselines {

// Euclidean distances between rows as whole numbers of a tiny unit, so that sums of them do not depend on the
// order in which they are added up. The unit is a power of two, small enough that a distance is off by about
// 1e-13 of the largest on a thousand rows (1e-10 on ten thousand), and large enough that the sum over all
// pairs fits into 64 bits.
class PairDistances {
public:
    explicit PairDistances(const kmeans::DenseRows<double>& rows);

    std::size_t nRows() const { return rows_.nRows; }
    double unit() const { return unit_; }
    // Distances of one row to all; `buffer` holds them when there are too many rows to keep all of them.
    const std::int64_t* to(std::size_t row, std::vector<std::int64_t>& buffer) const;

private:
    void fill(std::size_t row, std::int64_t* distances) const;

    kmeans::DenseRows<double> rows_;
    double unit_ = 1.0;
    std::vector<std::int64_t> kept_;
};

} // namespace konstrain::baselines
