#pragma once

#include <cstddef>
#include <span>

namespace konstrain::kmeans {

// The mean of each block, one row each, in single or double precision. Whatever the precision of the rows,
// everything made from them (sums, centers, distances) is in double precision.
class BlockMeans {
public:
    BlockMeans(const double* rows, std::size_t nBlocks, std::size_t nFeatures)
        : doubles_(rows), nBlocks_(nBlocks), nFeatures_(nFeatures) {}
    BlockMeans(const float* rows, std::size_t nBlocks, std::size_t nFeatures)
        : floats_(rows), nBlocks_(nBlocks), nFeatures_(nFeatures) {}

    std::size_t nBlocks() const { return nBlocks_; }
    std::size_t nFeatures() const { return nFeatures_; }
    // The row itself where it is in double precision, else a copy in `buffer` (one row long).
    const double* row(std::size_t block, std::span<double> buffer) const;
    // Largest magnitude of any value.
    double largest() const;

private:
    const double* doubles_ = nullptr;
    const float* floats_ = nullptr;
    std::size_t nBlocks_;
    std::size_t nFeatures_;
};

double squaredDistance(const double* a, const double* b, std::size_t nFeatures);

// Squared distances of one row to the chosen rows of `centers`, in the order of `chosen`.
void squaredDistances(const double* row, const double* centers, std::size_t nFeatures,
                      std::span<const std::size_t> chosen, double* out);

} // namespace konstrain::kmeans
