#include "dils.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "random.h"

namespace konstrain::baselines {

namespace {

class DilsSearch {
public:
    DilsSearch(const PairDistances& distances, const SignedLinks& links, std::size_t nClusters,
               const DilsOptions& options)
        : distances_(distances), links_(links), nClusters_(nClusters), options_(options),
          random_(options.seed), worse_(drawIndividual()), better_(drawIndividual()), child_(worse_),
          order_(distances.nRows()) {
        std::iota(order_.begin(), order_.end(), std::size_t{0});
        sortIndividuals();
    }

    DilsResult run() {
        std::int64_t nGenerations = 0;
        while (nClusters_ > 1 && mayEvaluate()) {
            ++nGenerations;
            breed();
            improve();
            compete();
        }
        const auto labels = better_.labels();
        return {{labels.begin(), labels.end()}, better_.value(), nEvaluations_, nGenerations, nRestarts_};
    }

private:
    bool mayEvaluate() const { return nEvaluations_ < options_.maxEvaluations && !isPast(options_.deadline); }

    std::int32_t drawLabel() { return static_cast<std::int32_t>(drawBelow(nClusters_, random_)); }

    DilsFitness drawIndividual() {
        std::vector<std::int32_t> labels(distances_.nRows());
        for (std::int32_t& label : labels)
            label = drawLabel();
        ++nEvaluations_;
        return {distances_, links_, nClusters_, std::move(labels)};
    }

    void sortIndividuals() {
        if (worse_.value() < better_.value())
            std::swap(worse_, better_);
    }

    // Uniform crossover, then segment mutation. The child begins as a copy of the parent it is closer to.
    void breed() {
        std::vector<std::int32_t> labels(order_.size());
        for (std::size_t row = 0; row != labels.size(); ++row)
            labels[row] = (drawUnit(random_) < options_.inheritance ? better_ : worse_).labels()[row];
        const std::size_t begin = drawBelow(labels.size(), random_);
        for (std::size_t i = 0; i != options_.segment; ++i)
            labels[(begin + i) % labels.size()] = drawLabel();
        child_ = worse_.nDifferent(labels) < better_.nDifferent(labels) ? worse_ : better_;
        child_.become(labels);
        ++nEvaluations_;
    }

    // First improvement over rows and labels in random order. A pass over all rows without success ends it:
    // nothing would change any more.
    void improve() {
        std::int64_t budget = std::min(options_.maxNeighbours, options_.maxEvaluations - nEvaluations_);
        bool improved = true;
        while (improved && budget > 0) {
            improved = false;
            shuffle(order_, random_);
            for (std::size_t i = 0; i != order_.size() && budget > 0; ++i)
                improved |= improveRow(order_[i], budget);
        }
    }

    bool improveRow(std::size_t row, std::int64_t& budget) {
        const double before = child_.value();
        others_.clear();
        for (std::size_t cluster = 0; cluster != nClusters_; ++cluster)
            if (cluster != child_.label(row))
                others_.push_back(cluster);
        // Drawn one by one: the first is often good enough.
        for (std::size_t left = others_.size(); left > 0 && budget > 0; --left) {
            std::swap(others_[left - 1], others_[drawBelow(left, random_)]);
            --budget;
            ++nEvaluations_;
            if (child_.valueAfter(row, others_[left - 1]) < before) {
                child_.move(row, others_[left - 1]);
                return true;
            }
        }
        return false;
    }

    void compete() {
        if (!(child_.value() < worse_.value()))
            return;
        std::swap(worse_, child_);
        const bool farAhead = better_.value() - worse_.value() > options_.restartGap * better_.value();
        sortIndividuals();
        // The child has left the other one far behind: two unlike individuals again.
        if (farAhead && nEvaluations_ < options_.maxEvaluations) {
            worse_ = drawIndividual();
            ++nRestarts_;
            sortIndividuals();
        }
    }

    const PairDistances& distances_;
    const SignedLinks& links_;
    std::size_t nClusters_;
    const DilsOptions& options_;
    Random random_;
    std::int64_t nEvaluations_ = 0;
    std::int64_t nRestarts_ = 0;
    DilsFitness worse_;
    DilsFitness better_;
    DilsFitness child_;
    std::vector<std::size_t> order_;
    std::vector<std::size_t> others_;
};

} // namespace

DilsResult searchDually(const PairDistances& distances, const SignedLinks& links, std::size_t nClusters,
                        const DilsOptions& options) {
    return DilsSearch(distances, links, nClusters, options).run();
}

} // namespace konstrain::baselines
