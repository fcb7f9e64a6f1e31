#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "linked_assignment.h"

namespace konstrain::baselines {

// Links whose penalty depends on the cluster: row e of the row-major matrix `penalties` holds what link e
// costs. A cannot-link within cluster h costs penalties[e][h]; a must-link between g and h costs
// penalties[e][g] + penalties[e][h].
struct PricedLinks {
    std::span<const std::int64_t> indptr;
    std::span<const std::int32_t> indices;
    std::span<const std::int32_t> links; // number of the link behind each entry of `indices`
    std::span<const double> penalties;
    std::span<const std::uint8_t> isMust;
};

struct GreedyPass {
    std::int64_t nChanged;
    std::int64_t nStuck;
    std::int32_t firstStuck; // -1: none
};

// Labels rows one after the other, each with its cheapest cluster given the labels that its neighbours have
// by then (-1: none yet). Of equally cheap clusters the present one stays, else the first is taken. Weights
// of links as in `LinkView`. A row for which every cluster is forbidden takes the nearest; with
// `stopWhenStuck` the pass ends there instead, with that row and all later ones unlabelled.
GreedyPass greedyPass(std::span<const double> costs, std::size_t nClusters,
                      std::span<const std::int32_t> order, const linked::LinkView& links, bool stopWhenStuck,
                      std::span<std::int32_t> labels);

// The same for links whose penalty depends on the cluster; nothing is forbidden. Returns how many labels
// changed.
std::int64_t pricedGreedyPass(std::span<const double> costs, std::size_t nClusters,
                              std::span<const std::int32_t> order, const PricedLinks& links,
                              std::span<std::int32_t> labels);

} // namespace konstrain::baselines
