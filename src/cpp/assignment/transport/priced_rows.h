#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace konstrain::transport {

struct PricedSums {
    double cost = 0.0;   // of the chosen labels, without duals
    double priced = 0.0; // sum of the minima of cost plus dual
};

// Duals pieces of a matrix, one after the other, without asking for memory. One per worker.
class RowPricer {
public:
    explicit RowPricer(std::span<const double> duals);

    // What `priceRows` does, except that `sizes` are added to.
    PricedSums dual(std::span<const double> costs, std::span<std::int32_t> labels, std::span<float> gaps,
                    std::span<std::int64_t> sizes);

private:
    std::size_t nColumns_;
    std::vector<double> offsets_;
    std::vector<double> padded_; // the last rows, with padding behind them
    std::vector<std::int64_t> ignored_;
};

// For each row of the row-major matrix `costs` the first column with the least cost plus dual. Also writes
// how much the second-best column costs more unless `gaps` is empty (the largest float when that is more, or
// there is one column), and the number of rows per column.
PricedSums priceRows(std::span<const double> costs, std::span<const double> duals,
                     std::span<std::int32_t> labels, std::span<float> gaps, std::span<std::int64_t> sizes);

} // namespace konstrain::transport
