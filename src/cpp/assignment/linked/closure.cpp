#include "closure.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace konstrain::linked {

namespace {

// Least fixed point by a queue. Sets of needed colours only grow, and with them what a node would pay for
// escaping, so a node is examined again at most once per colour that a neighbour gained: the work is bounded
// by links times colours squared, and in practice few nodes ever get a second colour.
class Closure {
public:
    explicit Closure(const Potts& potts)
        : potts_(potts), k_(potts.nColours()), needed_(potts.nNodes() * k_, 0), size_(potts.nNodes(), 0),
          only_(potts.nNodes(), 0), escape_(potts.nNodes(), 0), together_(potts.nNodes() * k_, 0.0),
          queued_(potts.nNodes(), 0),
          hasAttraction_(
              std::ranges::any_of(potts.links(), [](const PottsLink& link) { return link.weight < 0; })) {}

    // One flag per (node, colour), row-major.
    std::vector<char> run() {
        for (std::size_t node = 0; node != potts_.nNodes(); ++node)
            escape_[node] = static_cast<std::size_t>(cheapest(potts_.cost(node)).colour);
        for (std::size_t node = 0; node != potts_.nNodes(); ++node)
            add(node, escape_[node]);
        for (std::size_t head = 0; head != queue_.size(); ++head) {
            queued_[queue_[head]] = 0;
            grow(queue_[head]);
        }
        return std::move(needed_);
    }

private:
    // Node may now take colour: its neighbours may have to pay for sharing it, or for not following it.
    void add(std::size_t node, std::size_t colour) {
        needed_[node * k_ + colour] = 1;
        ++size_[node];
        only_[node] = colour;
        for (const Neighbour& neighbour : potts_.neighbours(node)) {
            const auto other = static_cast<std::size_t>(neighbour.node);
            if (neighbour.weight > 0)
                together_[other * k_ + colour] += neighbour.weight;
            // Duals only rise, so a neighbour is examined again only when its present escape became more
            // expensive.
            if (!queued_[other] && (neighbour.weight < 0 || colour == escape_[other])) {
                queued_[other] = 1;
                queue_.push_back(other);
            }
        }
    }

    // What node would pay at most for soft must-links if it escaped to colour.
    double apart(std::size_t node, std::size_t colour) const {
        double dual = 0.0;
        if (!hasAttraction_)
            return dual;
        for (const Neighbour& neighbour : potts_.neighbours(node)) {
            const auto other = static_cast<std::size_t>(neighbour.node);
            if (neighbour.weight < 0 && !(size_[other] == 1 && only_[other] == colour))
                dual -= neighbour.weight;
        }
        return dual;
    }

    // The escape of a node is its cheapest colour when every neighbour does its worst with the colours it
    // keeps. Any colour that costs at least that much alone can be exchanged for the escape in an optimum,
    // whatever the neighbours do, and without loss: only cheaper colours are needed.
    void grow(std::size_t node) {
        const auto cost = potts_.cost(node);
        double threshold = infinity;
        std::size_t escape = k_; // none: every colour is needed
        for (std::size_t colour = 0; colour != k_; ++colour) {
            const double atMost = cost[colour] + together_[node * k_ + colour];
            // The must-link part is computed only where it can matter.
            if (atMost < threshold) {
                const double total = atMost + apart(node, colour);
                if (total < threshold) {
                    threshold = total;
                    escape = colour;
                }
            }
        }
        for (std::size_t colour = 0; colour != k_; ++colour)
            if (!needed_[node * k_ + colour] && (cost[colour] < threshold || colour == escape))
                add(node, colour);
        escape_[node] = escape;
    }

    const Potts& potts_;
    std::size_t k_;
    std::vector<char> needed_;
    std::vector<std::size_t> size_;
    std::vector<std::size_t> only_; // the colour last added: the only one while size is 1
    std::vector<std::size_t> escape_;
    std::vector<double> together_; // per colour: dual of links to neighbours that may take it
    std::vector<char> queued_;
    std::vector<std::size_t> queue_;
    bool hasAttraction_;
};

} // namespace

Potts keepNeeded(const Potts& potts) {
    const std::vector<char> needed = Closure(potts).run();
    Potts narrowed = potts;
    for (std::size_t node = 0; node != potts.nNodes(); ++node)
        for (std::size_t colour = 0; colour != potts.nColours(); ++colour)
            if (!needed[node * potts.nColours() + colour])
                narrowed.cost(node)[colour] = infinity;
    return narrowed;
}

} // namespace konstrain::linked
