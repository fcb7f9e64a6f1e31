#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deadline.h"
#include "kind_chains.h"
#include "row_pricer.h"

namespace konstrain {

// Labels that keep all bounds, made from the cheapest clusters at some prices by moving the rows that lose
// least by it; then, as long as that helps, one or two rows at a time go where they cost less.
class ResourceRepair {
public:
    // `labels` are the cheapest clusters at the prices that `pricer` has taken; they are changed in place.
    ResourceRepair(const ResourceProblem& problem, const RowKinds& kinds, const RowPricer& pricer,
                   const PricedRows& rows, std::span<std::int32_t> labels);

    // Whether labels were found that keep all bounds.
    bool run(TimePoint deadline);

private:
    // A row may go to a cluster that is this much dearer for it than its cheapest one, prices included.
    struct Choice {
        std::uint32_t row;
        std::int32_t cluster;
        double regret;
    };

    // Rows of one kind brought from a cluster to another, perhaps in exchange for rows of another kind.
    struct Transfer {
        std::size_t kind = 0;
        std::size_t from = 0;
        std::size_t to = 0;
        std::size_t inExchange = 0; // the other kind; the same one: for nothing
    };

    bool repairOnce();
    bool repairByChain();
    KindChains chains() const;
    double costOf(const KindChains& chains, const Transfer& transfer) const;
    double changeOf(const Transfer& transfer);
    void follow(const std::vector<std::size_t>& moves);
    bool repairByTwo();
    bool improveOnce();
    bool improveByTwo();
    std::vector<const Choice*> likeliest() const;
    double excessWith(std::size_t cluster, const double* added, double sign) const;
    double excessAfter(std::size_t cluster, std::size_t row, double sign) const {
        return excessWith(cluster, problem_.amount(row), sign);
    }
    double unitOfRegret() const;
    double changeOf(const Choice& choice) const;
    double costOf(const Choice& choice) const;
    bool isMove(const Choice& choice) const { return labels_[choice.row] != choice.cluster; }
    bool touchesExcess(const Choice& choice) const;
    void move(std::size_t row, std::int32_t to);

    const ResourceProblem& problem_;
    const RowKinds& kinds_;
    std::span<std::int32_t> labels_;
    std::vector<double> sums_;
    std::vector<double> excess_; // of each cluster
    double total_ = 0.0;         // of all clusters
    std::vector<Choice> choices_;
    std::vector<double> regret_; // of each row in its present cluster
    std::vector<double> moving_; // amounts of a transfer
};

} // namespace konstrain
