#pragma once

#include <cstdint>
#include <vector>

#include "center_distances.h"
#include "search_state.h"

namespace konstrain {

// Moves of one block to the cluster where it lowers the objective most.
class SingleMoves {
public:
    SingleMoves(SearchState& state, const CenterDistances& distances);

    // Whether the block was moved. What cannot have changed since the block was last looked at is not looked
    // at again: a move from p to q depends on nothing but the contents of p and q.
    bool tryBlock(std::size_t block);

private:
    bool mayLeave(std::size_t block) const;
    void chargeLinks(std::size_t block);
    void forgetLinks(std::size_t block);
    void collectTargets(std::size_t block, double distance, double gain, std::int64_t lastLook);
    bool moveToBest(std::size_t block, double gain);
    double entryFactor(std::size_t cluster, double weight) const;

    SearchState& state_;
    const Partition& partition_;
    const SearchProblem& problem_;
    const CenterDistances& distances_;
    std::vector<std::int64_t> lastLook_; // of each block, in moves made; -1: never
    std::vector<double> charge_;         // of the current block's links, per cluster it would share with
    std::vector<std::size_t> targets_;
    std::vector<double> squares_;
    std::vector<double> buffer_;
};

} // namespace konstrain
