#include "kempe_chains.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "component_search.h"

namespace konstrain::linked {

namespace {

class Chains {
public:
    Chains(const Potts& potts, std::span<std::int32_t> colours, double least)
        : potts_(potts), colours_(colours), least_(least), classes_(potts.nColours()),
          visited_(potts.nNodes(), 0) {
        for (std::size_t node = 0; node != potts.nNodes(); ++node)
            classes_[static_cast<std::size_t>(colours[node])].push_back(node);
    }

    void improve() {
        // A pair of colours has nothing new to offer until one of the two classes has changed.
        std::vector<std::size_t> changed(classes_.size(), 1);
        for (std::size_t round = 1, last = 1; round <= last; ++round)
            for (std::size_t a = 0; a != classes_.size(); ++a)
                for (std::size_t b = a + 1; b != classes_.size(); ++b)
                    if (std::max(changed[a], changed[b]) >= round && exchange(a, b)) {
                        last = round + 1;
                        changed[a] = changed[b] = last;
                    }
    }

private:
    // The nodes of two colours with the links between them fall into connected parts, Kempe chains.
    // Exchanging the two colours within one part keeps every hard link: both ends of a link are in the part,
    // and differ before and after. Parts do not touch, so each is exchanged by its own gain. Exchanges the
    // colours in every part that gains by it.
    bool exchange(std::size_t a, std::size_t b) {
        ++exchange_;
        bool improved = false;
        std::vector<std::size_t> either = classes_[a];
        either.insert(either.end(), classes_[b].begin(), classes_[b].end());
        for (const std::size_t node : either) {
            if (visited_[node] == exchange_ || !(gainOf(node, a, b) > least_))
                continue;
            for (const std::size_t member : chain_)
                colours_[member] = opposite(member, a, b);
            improved = true;
        }
        if (!improved)
            return false;
        classes_[a].clear();
        classes_[b].clear();
        for (const std::size_t node : either)
            classes_[static_cast<std::size_t>(colours_[node])].push_back(node);
        return true;
    }

    std::int32_t opposite(std::size_t node, std::size_t a, std::size_t b) const {
        return static_cast<std::int32_t>(static_cast<std::size_t>(colours_[node]) == a ? b : a);
    }

    // Collects the part that a node lies in.
    double gainOf(std::size_t node, std::size_t a, std::size_t b) {
        double gain = 0.0;
        chain_.assign(1, node);
        visited_[node] = exchange_;
        for (std::size_t head = 0; head != chain_.size(); ++head) {
            const auto cost = potts_.cost(chain_[head]);
            const std::int32_t next = opposite(chain_[head], a, b);
            gain +=
                cost[static_cast<std::size_t>(colours_[chain_[head]])] - cost[static_cast<std::size_t>(next)];
            for (const Neighbour& neighbour : potts_.neighbours(chain_[head])) {
                const auto other = static_cast<std::size_t>(neighbour.node);
                if (colours_[other] == next && visited_[other] != exchange_) {
                    visited_[other] = exchange_;
                    chain_.push_back(other);
                }
            }
        }
        return gain;
    }

    const Potts& potts_;
    std::span<std::int32_t> colours_;
    double least_; // gains below this are rounding
    std::vector<std::vector<std::size_t>> classes_;
    std::vector<std::size_t> visited_;
    std::vector<std::size_t> chain_;
    std::size_t exchange_ = 0;
};

} // namespace

void improveByChains(const Potts& potts, std::span<std::int32_t> colours, double least) {
    Chains(potts, colours, least * std::abs(total(potts, colours))).improve();
}

} // namespace konstrain::linked
