#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "candidate_lists.h"

namespace konstrain::transport {

// Sums over pairs of clusters, in whole numbers: the order of additions, and so the number of threads, does
// not matter.
class PairSums {
public:
    explicit PairSums(std::size_t nClusters) : nClusters_(nClusters), keys_(1024, noKey), sums_(1024, 0) {}

    void add(std::size_t a, std::size_t b, std::int64_t amount);
    void addAll(const PairSums& other);
    void clear();
    // Calls `take(a, b, sum)` once per pair, in no particular order.
    template <typename Take> void forEach(const Take& take) const {
        for (std::size_t slot = 0; slot != keys_.size(); ++slot)
            if (keys_[slot] != noKey)
                take(keys_[slot] / nClusters_, keys_[slot] % nClusters_, sums_[slot]);
    }

private:
    static constexpr std::uint64_t noKey = ~std::uint64_t{0};

    std::size_t slotOf(std::uint64_t key) const;
    void addKey(std::uint64_t key, std::int64_t amount);
    void grow();

    std::size_t nClusters_;
    std::size_t nUsed_ = 0;
    std::vector<std::uint64_t> keys_;
    std::vector<std::int64_t> sums_;
};

// Duals that bring sizes near their bounds, by Newton steps on a smoothed dual.
//
// A row takes its cheapest cluster; here it takes shares that fall off exponentially with the priced cost, so
// that sizes become smooth functions of the duals. Their derivative is the Laplacian of a graph whose edges
// are the rows that stand between two clusters: with shares s, d size_j / d dual_l = sum over rows of s_j s_l
// / T for j != l. This is the dual of entropic optimal transport (Cuturi 2013), solved by Newton steps
// instead of Sinkhorn's iteration, over the few clusters on each row's list.
class SmoothedDuals {
public:
    SmoothedDuals(const CandidateLists& lists, std::span<const std::int64_t> lower,
                  std::span<const std::int64_t> upper);

    ~SmoothedDuals();

    // Takes the shares at these duals and this temperature, which is `heat` times the first one; then
    // `excess` is by how much the sizes of whole rows miss them.
    void measure(std::span<const double> duals, double temperature, double heat);
    std::int64_t excess() const { return excess_; }
    // One Newton step from where the shares were measured.
    void step(std::span<double> duals);

private:
    struct Worker;

    void measureRow(std::size_t row, std::span<const double> duals, Worker& worker) const;
    void takeUpPairs();
    void chooseActive(std::span<const double> duals);
    void applyActive(std::span<const double> direction, std::span<double> result) const;
    void solve();

    const CandidateLists& lists_;
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    double rowsPerCoupled_; // couplings are counted on one row in this many at first
    std::size_t coupledStride_ = 1;
    double temperature_ = 0.0;
    std::int64_t excess_ = 0;
    std::vector<Worker> workers_;
    std::vector<double> shares_;
    std::vector<std::int64_t> sizes_;
    // The Laplacian in compressed rows, without its diagonal and with positive weights.
    std::vector<std::size_t> starts_;
    std::vector<std::int32_t> neighbours_;
    std::vector<double> weights_;
    std::vector<double> degree_;
    std::vector<std::uint8_t> active_;
    std::vector<double> wanted_;    // right-hand side of the step for active clusters
    std::vector<double> direction_; // the step
};

} // namespace konstrain::transport
