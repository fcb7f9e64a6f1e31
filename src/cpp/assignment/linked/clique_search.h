#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "clique_relaxation.h"
#include "deadline.h"
#include "potts.h"

namespace konstrain::linked {

// Exact search for the best colouring where dense hard links make single links weak evidence: depth first,
// with duals of cliques for bounds. A branching costs half a millisecond, many times what one of
// `ComponentSearch` does, and prunes where that one does not.
class CliqueSearch {
public:
    CliqueSearch(const Potts& potts, std::size_t nodeLimit, TimePoint end)
        : potts_(potts), nodesLeft_(nodeLimit), end_(end), best_(potts.nNodes()) {}

    // The least total, with its colours; infinite when no colours keep all links. After giving up (`gaveUp`)
    // they are the best found, if any.
    double solve(std::span<std::int32_t> colours);
    bool gaveUp() const { return gaveUp_; }
    // What all colourings cost at least.
    double bound() const { return rootBound_; }

private:
    void searchRoot(CliqueRelaxation& root);
    void search(CliqueRelaxation& relaxation);
    void branch(CliqueRelaxation& relaxation);
    // Takes colours that keep all links as the best if they are.
    void offer(std::span<const std::int32_t> colours);
    void complete(const CliqueRelaxation& relaxation);
    bool isClosed(double bound) const;

    const Potts& potts_;
    std::size_t nodesLeft_;
    TimePoint end_;
    bool gaveUp_ = false;
    double value_ = infinity; // of the best colours
    double rootBound_ = -infinity;
    std::vector<std::int32_t> best_;
};

} // namespace konstrain::linked
