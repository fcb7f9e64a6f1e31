#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "class_relaxation.h"
#include "deadline.h"
#include "potts.h"
#include "stable_sets.h"

namespace konstrain {

// Exact search for the best colouring where cliques leave too wide a gap: depth first, with worths of nodes
// for bounds. A branching costs several times what one of `CliqueSearch` does, and the tree that was
// counted had a tenth of the nodes.
class ClassSearch {
public:
    // Starts from colours that keep all links, or any if `value` is infinite.
    ClassSearch(const Potts& potts, std::size_t nodeLimit, TimePoint end,
                std::span<const std::int32_t> colours, double value)
        : potts_(potts), sets_(potts), nodesLeft_(nodeLimit), end_(end), value_(value),
          best_(colours.begin(), colours.end()) {}

    // The least total, with its colours; infinite when no colours keep all links. After giving up (`gaveUp`)
    // they are the best known, if any. `worth`: see `ClassRelaxation`.
    double solve(std::vector<double> worth, std::span<std::int32_t> colours);
    bool gaveUp() const { return gaveUp_; }
    // What all colourings cost at least.
    double bound() const { return rootBound_; }

private:
    void searchRoot(ClassRelaxation& root);
    void searchInRounds(const ClassRelaxation& root);
    void search(ClassRelaxation& relaxation);
    void branch(ClassRelaxation& relaxation);
    bool forbidDearer(ClassRelaxation& relaxation);
    void complete(const ClassRelaxation& relaxation);
    double cutoff() const;

    const Potts& potts_;
    StableSets sets_;
    std::size_t nodesLeft_;
    TimePoint end_;
    bool gaveUp_ = false;
    double value_;            // of the best colours
    double limit_ = infinity; // what is not worth looking at in this round
    double rootBound_ = -infinity;
    std::vector<std::int32_t> best_;
};

} // namespace konstrain
