#include "class_relaxation.h"

#include <algorithm>
#include <utility>

#include "volume_step.h"

namespace konstrain {

ClassRelaxation::ClassRelaxation(const Potts& potts, const StableSets& sets, std::vector<double> worth)
    : potts_(potts), sets_(sets), nColours_(potts.nColours()), colours_(potts.nNodes(), -1),
      allowed_(potts.nNodes() * nColours_), worth_(std::move(worth)), classes_(nColours_) {
    for (std::size_t node = 0; node != potts.nNodes(); ++node)
        for (std::size_t colour = 0; colour != nColours_; ++colour)
            allowed_[node * nColours_ + colour] = potts.cost(node)[colour] < infinity;
}

std::size_t ClassRelaxation::nAllowed(std::size_t node) const {
    return static_cast<std::size_t>(
        std::ranges::count(std::span(allowed_).subspan(node * nColours_, nColours_), 1));
}

double ClassRelaxation::gain(std::size_t node, std::size_t colour, std::span<const double> worth) const {
    return isOpen(node) && isAllowed(node, colour) ? worth[node] - potts_.cost(node)[colour] : -infinity;
}

// The bound at these worths. Classes of the last look that still stand give the search a floor.
double ClassRelaxation::look(std::span<const double> worth, std::vector<StableSet>& classes) const {
    double bound = constant_;
    for (std::size_t node = 0; node != worth.size(); ++node)
        bound += isOpen(node) ? worth[node] : 0.0;
    std::vector<double> gains(worth.size());
    for (std::size_t colour = 0; colour != nColours_; ++colour) {
        std::vector<std::int32_t> candidates;
        for (std::size_t node = 0; node != worth.size(); ++node) {
            gains[node] = gain(node, colour, worth);
            if (gains[node] > 0.0)
                candidates.push_back(static_cast<std::int32_t>(node));
        }
        std::vector<std::int32_t>& last = classes[colour].nodes;
        std::erase_if(last,
                      [&](std::int32_t node) { return !(gains[static_cast<std::size_t>(node)] > 0.0); });
        double floor = 0.0;
        for (const std::int32_t node : last)
            floor += gains[static_cast<std::size_t>(node)];
        StableSet best = sets_.heaviest(std::move(candidates), gains, floor);
        if (best.nodes.empty())
            best.nodes = std::move(last);
        bound -= best.most;
        classes[colour] = std::move(best);
    }
    return bound;
}

void ClassRelaxation::raise(int steps, double stepLength, double memory, double target, TimePoint end) {
    VolumeStep volume(stepLength);
    std::vector<double> worth = worth_;
    std::vector<double> direction(worth.size(), 0.0);
    std::vector<double> missing(worth.size());
    std::vector<StableSet> classes = classes_;
    bound_ = -infinity;
    for (int step = 0; step != steps; ++step) {
        const double value = look(worth, classes);
        for (std::size_t node = 0; node != worth.size(); ++node)
            missing[node] = isOpen(node) ? 1.0 : 0.0;
        for (const StableSet& members : classes)
            for (const std::int32_t node : members.nodes)
                missing[static_cast<std::size_t>(node)] -= 1.0;
        const double fresh = step == 0 ? 1.0 : 1.0 - memory;
        double along = 0.0;
        double norm = 0.0;
        for (std::size_t node = 0; node != worth.size(); ++node) {
            along += direction[node] * missing[node];
            direction[node] += fresh * (missing[node] - direction[node]);
            norm += direction[node] * direction[node];
        }
        if (value > bound_) {
            bound_ = value;
            worth_ = worth;
            classes_ = classes;
            volume.succeed(along);
        } else {
            volume.fail();
        }
        if (bound_ >= target || !VolumeStep::leads(norm) || isPast(end))
            return;
        const double length = volume.towards(target, bound_, norm);
        for (std::size_t node = 0; node != worth.size(); ++node)
            worth[node] = worth_[node] + length * direction[node];
    }
}

// What a colour earns at most when it may not take a node of its class.
double ClassRelaxation::mostWithout(std::size_t colour, std::size_t node) const {
    std::vector<double> gains(worth_.size());
    std::vector<std::int32_t> candidates;
    double floor = 0.0;
    for (std::size_t other = 0; other != worth_.size(); ++other) {
        gains[other] = gain(other, colour);
        if (other != node && gains[other] > 0.0)
            candidates.push_back(static_cast<std::int32_t>(other));
    }
    for (const std::int32_t other : classes_[colour].nodes)
        floor += static_cast<std::size_t>(other) == node ? 0.0 : gains[static_cast<std::size_t>(other)];
    return sets_.heaviest(std::move(candidates), gains, floor).most;
}

// What a colour earns at most beside a node that it has to take, or `floor` if that is more.
double ClassRelaxation::mostWith(std::size_t colour, std::size_t node, double floor) const {
    std::vector<double> gains(worth_.size());
    std::vector<std::int32_t> candidates;
    for (std::size_t other = 0; other != worth_.size(); ++other) {
        gains[other] = gain(other, colour);
        if (other != node && gains[other] > 0.0 && !sets_.areLinked(node, other))
            candidates.push_back(static_cast<std::int32_t>(other));
    }
    return sets_.heaviest(std::move(candidates), gains, floor).most;
}

// What a colour earns beside a node by those members of its class that may stay.
double ClassRelaxation::leastWith(std::size_t colour, std::size_t node) const {
    double sum = 0.0;
    for (const std::int32_t other : classes_[colour].nodes) {
        const auto member = static_cast<std::size_t>(other);
        sum += member == node || sets_.areLinked(node, member) ? 0.0 : gain(member, colour);
    }
    return sum;
}

std::vector<double> ClassRelaxation::rises(std::size_t node, double cutoff) const {
    const double needed = cutoff - bound_;
    std::vector<double> rise(nColours_, infinity);
    std::vector<char> isMember(nColours_, 0);
    double mostElsewhere = 0.0; // what other colours lose at most when they may not take the node
    double most = -infinity;
    for (std::size_t colour = 0; colour != nColours_; ++colour) {
        isMember[colour] = std::ranges::count(classes_[colour].nodes, static_cast<std::int32_t>(node)) > 0;
        mostElsewhere += isMember[colour] ? gain(node, colour) : 0.0;
    }
    for (std::size_t colour = 0; colour != nColours_; ++colour)
        if (isAllowed(node, colour)) {
            rise[colour] =
                isMember[colour] ? 0.0 : classes_[colour].most - gain(node, colour) - leastWith(colour, node);
            most = std::max(most, rise[colour]);
        }
    if (most + mostElsewhere < needed)
        return rise; // nothing can be proved
    std::vector<double> loss(nColours_, 0.0);
    double losses = 0.0;
    for (std::size_t colour = 0; colour != nColours_; ++colour)
        if (isMember[colour])
            losses += loss[colour] = classes_[colour].most - mostWithout(colour, node);
    for (std::size_t colour = 0; colour != nColours_; ++colour) {
        if (!isAllowed(node, colour))
            continue;
        rise[colour] += losses - loss[colour];
        if (rise[colour] < needed)
            continue;
        // The cutoff is reached if the colour earns no more than this beside the node.
        const double enough = classes_[colour].most - gain(node, colour) + losses - loss[colour] - needed;
        if (isMember[colour] || mostWith(colour, node, enough) <= enough)
            rise[colour] = infinity;
    }
    return rise;
}

std::vector<std::int32_t> ClassRelaxation::suggestion() const {
    std::vector<std::int32_t> colours = colours_;
    std::vector<double> best(colours.size(), 0.0);
    for (std::size_t colour = 0; colour != nColours_; ++colour)
        for (const std::int32_t member : classes_[colour].nodes) {
            const auto node = static_cast<std::size_t>(member);
            if (gain(node, colour) > best[node]) {
                best[node] = gain(node, colour);
                colours[node] = static_cast<std::int32_t>(colour);
            }
        }
    return colours;
}

bool ClassRelaxation::forbid(std::size_t node, std::size_t colour) {
    if (!isAllowed(node, colour))
        return true;
    allowed_[node * nColours_ + colour] = 0;
    const std::size_t left = nAllowed(node);
    if (left != 1)
        return left > 0;
    const auto row = std::span(allowed_).subspan(node * nColours_, nColours_);
    return settle(node, static_cast<std::size_t>(std::ranges::find(row, 1) - row.begin()));
}

bool ClassRelaxation::settle(std::size_t node, std::size_t colour) {
    colours_[node] = static_cast<std::int32_t>(colour);
    constant_ += potts_.cost(node)[colour];
    return std::ranges::all_of(potts_.neighbours(node), [&](const Neighbour& neighbour) {
        return forbid(static_cast<std::size_t>(neighbour.node), colour);
    });
}

bool ClassRelaxation::forbidAllBut(std::size_t node, std::size_t colour) {
    for (std::size_t other = 0; other != nColours_; ++other)
        if (other != colour && !forbid(node, other))
            return false;
    return isOpen(node) ? settle(node, colour) : isAllowed(node, colour);
}

} // namespace konstrain
