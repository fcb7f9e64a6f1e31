#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "chunks.h"
#include "cost_source.h"
#include "deadline.h"

namespace konstrain::transport {

// Costs of one row without duals, and the clusters they belong to.
struct CandidateList {
    const double* costs;
    const std::int32_t* clusters;
    std::size_t length;
};

// For each row the few clusters that are cheapest for it at some duals, and what is known about all others.
// Most rows have one cluster that is cheaper than all others by far: lists take up what is within reach of
// it.
//
// A list stands in for a row of the cost matrix as long as the row's cheapest cluster on it costs no more
// than `beyond`, below which no cluster off the list lies at the duals in force (`rebase` keeps that true).
class CandidateLists {
public:
    CandidateLists(CostSource& source, std::size_t length, std::size_t nThreads);

    std::size_t nRows() const { return source_.nRows(); }
    std::size_t nClusters() const { return source_.nClusters(); }
    std::size_t nThreads() const { return nThreads_; }
    // Most clusters on a list, but for those that `extend` made longer.
    std::size_t length() const { return length_; }

    CandidateList operator[](std::size_t row) const {
        if (long_[row] == notLong)
            return {costs_.get() + row * length_, clusters_.get() + row * length_, counts_[row]};
        const LongList& list = longLists_[long_[row]];
        return {list.costs.data(), list.clusters.data(), list.costs.size()};
    }
    double beyond(std::size_t row) const { return beyond_[row]; }

    // Makes all lists at these duals, of clusters whose reduced cost exceeds the least one by no more
    // than `reach`. False when the deadline passed first.
    bool makeAll(std::span<const double> duals, double reach, TimePoint deadline);
    // Duals have changed: lowers what is known of clusters off the lists accordingly, then makes the lists
    // anew on which the cheapest cluster may not be. False when the deadline passed first.
    bool rebase(std::span<const double> duals, TimePoint deadline);
    // Makes some lists anew at duals that only rose since the last `rebase`, so that they end above `floors`,
    // a value per row. Lists for which `length` is too short become as much longer as they must.
    void extend(std::span<const std::int32_t> rows, std::span<const double> duals,
                std::span<const double> floors);

    double leastOnList(std::size_t row, std::span<const double> duals) const;
    // The cheapest cluster of each row on its list, of equally cheap ones the first by number.
    void labelRows(std::span<const double> duals, std::span<std::int32_t> labels) const;
    // All duals were lowered by as much.
    void shift(double amount);
    // Entries of all lists that are longer than `length`: a measure of memory.
    std::size_t nLongEntries() const { return nLongEntries_; }

private:
    // What one worker needs to make lists.
    struct Scratch {
        std::vector<double> costs;
        std::vector<std::int32_t> places;
    };
    // Costs of a row, and the clusters they belong to.
    struct RowCosts {
        const double* values;
        const std::int32_t* clusters;
    };
    struct LongList {
        std::vector<double> costs;
        std::vector<std::int32_t> clusters;
    };
    static constexpr std::uint32_t notLong = ~std::uint32_t{0};

    // By how much duals rose at least since the last `rebase`, for any cluster.
    double leastRise(std::span<const double> duals) const;
    std::int32_t cheapest(std::size_t row, std::span<const double> duals) const;
    void lengthen(std::size_t row, const double* costs, std::span<const double> duals, double floor);
    bool makeRows(std::span<const std::int32_t> rows, std::span<const double> duals, TimePoint deadline);
    void makeFromAll(std::span<const std::int32_t> rows, const double* duals, double reach,
                     std::size_t worker);
    void makeFromShort(std::span<const std::int32_t> rows, const double* duals, double reach,
                       std::size_t worker);
    void makeList(std::size_t row, const double* costs, const double* duals, double reach,
                  std::vector<std::int32_t>& places);
    bool takeShortlist(std::size_t row, const Shortlist& list, const double* duals,
                       std::vector<std::int32_t>& places);
    void keepCheapest(std::size_t row, const RowCosts& costs, const double* duals,
                      std::vector<std::int32_t>& places, std::size_t count);

    CostSource& source_;
    std::size_t length_;
    std::size_t nThreads_;
    std::vector<Scratch> scratch_; // one per thread
    std::unique_ptr<double[]> costs_;
    std::unique_ptr<std::int32_t[]> clusters_;
    std::vector<std::uint32_t> counts_; // clusters on each list
    std::vector<double> beyond_;
    double reach_ = infinity;
    std::vector<std::uint32_t> long_; // per row: where its long list is
    std::vector<LongList> longLists_;
    std::size_t nLongEntries_ = 0;
    std::vector<std::int32_t> everyCluster_;
    std::vector<double> basis_; // duals at which `beyond_` holds
};

} // namespace konstrain::transport
