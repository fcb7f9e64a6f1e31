#include "pair_distances.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace konstrain::baselines {

namespace {

// Rows whose distances are stored, in 128 MB; larger: more memory, fewer distances computed again.
constexpr std::size_t maxKept = 4096;

double squaredDistance(const double* a, const double* b, std::size_t n) {
    double sum = 0.0;
    for (std::size_t i = 0; i != n; ++i)
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

// No two rows are further apart than twice the largest distance to the first one.
double reach(const kmeans::DenseRows<double>& rows) {
    double largest = 0.0;
    for (std::size_t row = 1; row < rows.nRows; ++row)
        largest =
            std::max(largest, squaredDistance(rows.values, rows.values + row * rows.nColumns, rows.nColumns));
    return 2.0 * std::sqrt(largest);
}

// Number of bits for one distance: the sum over all ordered pairs stays below 2^62, and 52 bits are all that
// a double tells.
int bitsPerDistance(std::size_t nRows) {
    return std::min(52, 62 - 2 * static_cast<int>(std::bit_width(nRows)));
}

} // namespace

PairDistances::PairDistances(const kmeans::DenseRows<double>& rows) : rows_(rows) {
    const double largest = reach(rows);
    if (largest > 0.0)
        unit_ = std::ldexp(1.0, std::ilogb(largest) + 1 - bitsPerDistance(rows.nRows));
    if (rows.nRows > maxKept)
        return;
    kept_.resize(rows.nRows * rows.nRows);
    for (std::size_t row = 0; row != rows.nRows; ++row)
        fill(row, kept_.data() + row * rows.nRows);
}

const std::int64_t* PairDistances::to(std::size_t row, std::vector<std::int64_t>& buffer) const {
    if (!kept_.empty())
        return kept_.data() + row * rows_.nRows;
    buffer.resize(rows_.nRows);
    fill(row, buffer.data());
    return buffer.data();
}

void PairDistances::fill(std::size_t row, std::int64_t* distances) const {
    const double* own = rows_.values + row * rows_.nColumns;
    for (std::size_t other = 0; other != rows_.nRows; ++other) {
        const double square = squaredDistance(own, rows_.values + other * rows_.nColumns, rows_.nColumns);
        distances[other] = std::llround(std::sqrt(square) / unit_);
    }
}

} // namespace konstrain::baselines
