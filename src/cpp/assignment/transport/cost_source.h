#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "hardware.h"
#include "infinity.h"

namespace konstrain::transport {

// Some clusters of a row with its costs there. No other cluster costs less than `beyond`, dual included.
struct Shortlist {
    const double* costs;
    const std::int32_t* clusters;
    std::size_t count;
    double beyond;
};

// Where the costs of rows come from: a matrix, or rows and centers between which distances are taken when
// they are asked for. The same row always has the same costs, bit for bit.
class CostSource {
public:
    CostSource(std::size_t nRows, std::size_t nClusters) : nRows_(nRows), nClusters_(nClusters) {}
    CostSource(const CostSource&) = delete;
    CostSource& operator=(const CostSource&) = delete;
    virtual ~CostSource() = default;

    // Rows that one call of `read` may ask for.
    static constexpr std::size_t mostRows = laneCount * 4;

    std::size_t nRows() const { return nRows_; }
    std::size_t nClusters() const { return nClusters_; }
    // Doubles that `read` may touch: kernels read a row in full vectors, past its end.
    std::size_t bufferSize() const { return mostRows * nClusters_ + laneCount; }

    // The costs of a few rows, one row after the other: in `buffer`, or where they lie already. Workers may
    // call it at the same time.
    virtual const double* read(std::span<const std::int32_t> rows, std::size_t worker, double* buffer) = 0;

    // Whether the cheapest clusters of a row can be found without all of its costs.
    virtual bool makesShortlists() const { return false; } // else the next two are not to be called
    // The duals at which clusters are cheap from now on, and by how much others may exceed the cheapest
    // one. Not while workers make shortlists.
    virtual void setDuals(std::span<const double> /*duals*/, double /*reach*/) {}
    // Finds the clusters within reach of the cheapest one of each of a few rows, about two dozen at most, in
    // order; none where that cannot be said. They stay until the worker's next call. Costs are those that
    // `read` gives.
    virtual void shortlist(std::span<const std::int32_t> /*rows*/, std::size_t /*worker*/,
                           std::span<Shortlist> /*lists*/) {}

private:
    std::size_t nRows_;
    std::size_t nClusters_;
};

// Costs that somebody has computed already, row-major.
class MatrixCosts final : public CostSource {
public:
    MatrixCosts(std::span<const double> costs, std::size_t nClusters)
        : CostSource(costs.size() / nClusters, nClusters), costs_(costs) {}

    const double* read(std::span<const std::int32_t> rows, std::size_t /*worker*/, double* buffer) override {
        if (areNeighbours(rows) && mayBeOverread(rows.back()))
            return costsOf(rows.front());
        for (std::size_t n = 0; n != rows.size(); ++n)
            std::copy_n(costsOf(rows[n]), nClusters(), buffer + n * nClusters());
        return buffer;
    }

private:
    static bool areNeighbours(std::span<const std::int32_t> rows) {
        for (std::size_t n = 1; n != rows.size(); ++n)
            if (rows[n] != rows[n - 1] + 1)
                return false;
        return true;
    }
    // Whether a full vector may be read past the end of a row, as kernels do.
    bool mayBeOverread(std::int32_t row) const {
        return (static_cast<std::size_t>(row) + 1) * nClusters() + laneCount <= costs_.size();
    }
    const double* costsOf(std::int32_t row) const {
        return costs_.data() + static_cast<std::size_t>(row) * nClusters();
    }

    std::span<const double> costs_;
};

} // namespace konstrain::transport
