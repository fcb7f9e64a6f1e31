#include "box_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <memory>
#include <queue>

#include "infinity.h"

namespace konstrain::exact {

namespace {

// Boxes before the first check of progress; more search longer where multipliers leave a gap.
constexpr std::int64_t firstCheck = 4096;

std::size_t at(std::int32_t i) {
    return static_cast<std::size_t>(i);
}

// sum over some points of slope * (weight |x - c|^2) + constant, as a function of the center c.
struct Quadratic {
    double weight = 0.0;
    double squares = 0.0; // weighted squared lengths
    double constant = 0.0;
    double terms = 0.0; // magnitudes of what the constant is a sum of
    std::vector<double> moment;

    explicit Quadratic(std::size_t nFeatures) : moment(nFeatures, 0.0) {}

    void add(const ClusterPoints& points, std::size_t i, double slope, double term) {
        const double w = slope * points.weight(i);
        weight += w;
        squares += w * points.squaredNorm(i);
        constant += term;
        terms += std::abs(term);
        for (std::size_t a = 0; a != moment.size(); ++a)
            moment[a] += w * points.point(i)[a];
    }

    double at(std::span<const double> center) const {
        double value = squares + constant;
        for (std::size_t a = 0; a != moment.size(); ++a)
            value += (weight * center[a] - 2.0 * moment[a]) * center[a];
        return value;
    }

    // At least the sum of the magnitudes of all terms in `at`, to which rounding is proportional.
    double magnitude(std::span<const double> center) const {
        double squared = 0.0;
        for (const double coordinate : center)
            squared += coordinate * coordinate;
        return 2.0 * (squares + weight * squared) + terms;
    }
};

struct Box {
    std::vector<double> low;
    std::vector<double> high;
    std::vector<double> center;       // where its bound is attained
    Quadratic inside;                 // points that are in the cluster wherever its center lies in the box
    double demand = 0.0;              // of these points
    std::vector<std::int32_t> open;   // points that may be in or out
    double multiplierLow = -infinity; // range of the multiplier of sizes in this box and all smaller ones
    double multiplierHigh = infinity;
    double bound = -infinity;
    Fixed fixed;                     // points that divided boxes were fixed on
    std::int32_t branchPoint = none; // divide by whether this point is in the cluster, not by space
    std::int64_t number = 0;

    explicit Box(std::size_t d) : low(d), high(d), center(d), inside(d) {}
    std::size_t bytes() const {
        return sizeof(Box) + 4 * low.size() * sizeof(double) +
               (open.size() + fixed.in.size() + fixed.out.size()) * sizeof(std::int32_t);
    }
};

struct IsWorse {
    bool operator()(const std::unique_ptr<Box>& a, const std::unique_ptr<Box>& b) const {
        return a->bound != b->bound ? a->bound > b->bound : a->number > b->number;
    }
};

class BoxSearch {
public:
    BoxSearch(const ClusterPoints& points, std::span<const double> duals, const BoxLimits& limits)
        : points_(points), duals_(duals), limits_(limits), deadline_(limits.deadline),
          isOpen_(points.size(), 0), isTaken_(points.size(), 0), shift_(points.size(), 0.0),
          reduced_(points.size(), 0.0), cliqueIsListed_(points.cliques().size(), 0),
          clique_(points.cliques().size(), 0.0), incumbent_(std::min(0.0, limits.incumbent)),
          leastMultiplier_(points.sizeMin() > 0.0 ? -infinity : 0.0),
          mostMultiplier_(std::isfinite(points.sizeMax()) ? infinity : 0.0) {
        // A sum of n terms is off by less than n roundings of the sum of their magnitudes; a dozen more
        // operations lie between the data and the terms.
        rounding_ = static_cast<double>(points.size() + 16) * std::numeric_limits<double>::epsilon();
    }

    BoxBound run();

private:
    std::unique_ptr<Box> root() const;
    void addChildren(const Box& box);
    void addWithFixed(const Box& box, bool isIn);
    void addChild(std::unique_ptr<Box> child, std::span<const std::int32_t> candidates, double parentBound);
    void classify(Box& box, std::span<const std::int32_t> candidates);
    void boundMultiplier(Box& box);
    double crossing(std::span<const double> ranges, double demand, bool skipsConflicts, bool isLast);
    void boundBox(Box& box);
    double feasibleValue(const Box& box, std::span<const double> center, double& multiplier);
    double ascendOnConflicts();
    double lowerBound(const Box& box, double multiplier, double conflictTotal, std::vector<double>& center);
    double valueAt(const Box& box, std::span<const double> center);
    void offer(const Box& box, double value, std::span<const double> center);
    void offerWithFixed(const Box& box, std::span<const double> center);
    std::int32_t pointToBranchOn(const Box& box, std::span<const double> center) const;
    bool hasOpenConflict(std::size_t i) const;
    bool hasStalled(double bound);
    bool isWorthless(double bound) const { return bound >= incumbent_ - limits_.tolerance; }

    const ClusterPoints& points_;
    std::span<const double> duals_;
    const BoxLimits& limits_;
    PolledDeadline deadline_;
    // Scratch of the box at hand: its open points with their ranges.
    std::vector<std::int32_t> open_;
    std::vector<double> low_;
    std::vector<double> high_;
    std::vector<std::int32_t> cliques_; // with at least two open points
    std::vector<char> isOpen_;
    std::vector<char> isTaken_;
    std::vector<double> shift_;   // what multipliers add to the reduced distance of a point
    std::vector<double> reduced_; // reduced distances at the center at hand
    std::vector<char> cliqueIsListed_;
    std::vector<double> clique_; // their multipliers
    double multiplier_ = 0.0;    // of sizes
    double rounding_;
    double incumbent_;
    double leastMultiplier_;
    double mostMultiplier_;
    std::vector<std::int32_t> all_; // points that a cluster may hold to its advantage
    double closed_ = 0.0;           // least bound of a closed box, and of clusters without points
    std::int64_t nBoxes_ = 0;
    std::int64_t nextCheck_ = firstCheck;
    double lastDistance_ = infinity; // of bound and incumbent at the last check
    std::size_t nBytes_ = 0;
    std::priority_queue<std::unique_ptr<Box>, std::vector<std::unique_ptr<Box>>, IsWorse> queue_;
    std::vector<double> gathered_;
    ColumnSet columns_;
};

BoxBound BoxSearch::run() {
    double total = 0.0;
    for (std::size_t i = 0; i != points_.size(); ++i) {
        total += std::abs(duals_[i]);
        if (duals_[i] > 0.0 || points_.sizeMin() > 0.0)
            all_.push_back(static_cast<std::int32_t>(i));
    }
    if (!all_.empty())
        addChild(root(), all_, -infinity);
    bool finished = true;
    while (!queue_.empty()) {
        const Box& top = *queue_.top();
        if (limits_.poll && nBoxes_ % 64 == 0)
            limits_.poll();
        const bool isOver = nBoxes_ >= limits_.boxes || nBytes_ > limits_.bytes || deadline_.isPast() ||
                            hasStalled(top.bound);
        if (isOver || isWorthless(top.bound)) {
            finished = !isOver || isWorthless(top.bound);
            closed_ = std::min(closed_, top.bound);
            break;
        }
        // The queue hands out constant references only.
        const std::unique_ptr<Box> box = std::move(const_cast<std::unique_ptr<Box>&>(queue_.top()));
        queue_.pop();
        nBytes_ -= box->bytes();
        addChildren(*box);
    }
    // Whether a point is in or out is found with a few roundings of its dual.
    return {closed_ - 16.0 * std::numeric_limits<double>::epsilon() * total,
            incumbent_,
            finished,
            nBoxes_,
            std::move(gathered_),
            std::move(columns_)};
}

// Twice the boxes are smaller by a factor of 2^(1/d) in each direction, and chords come closer by its square.
// Where the bound gains less than half of that, it is not space that keeps it from the incumbent, and further
// boxes are not worth their time.
bool BoxSearch::hasStalled(double bound) {
    if (nBoxes_ < nextCheck_)
        return false;
    const double distance = incumbent_ - bound;
    const bool isSlow = distance > lastDistance_ * std::exp2(-1.0 / static_cast<double>(points_.nFeatures()));
    nextCheck_ = 2 * nBoxes_;
    lastDistance_ = distance;
    return isSlow;
}

std::unique_ptr<Box> BoxSearch::root() const {
    // The center of a cluster is a mean, so it lies among the points.
    const std::size_t d = points_.nFeatures();
    auto box = std::make_unique<Box>(d);
    std::ranges::fill(box->low, infinity);
    std::ranges::fill(box->high, -infinity);
    for (std::size_t i = 0; i != points_.size(); ++i)
        for (std::size_t a = 0; a != d; ++a) {
            box->low[a] = std::min(box->low[a], points_.point(i)[a]);
            box->high[a] = std::max(box->high[a], points_.point(i)[a]);
        }
    for (std::size_t a = 0; a != d; ++a)
        box->center[a] = 0.5 * (box->low[a] + box->high[a]);
    box->multiplierLow = leastMultiplier_;
    box->multiplierHigh = mostMultiplier_;
    return box;
}

void BoxSearch::addChildren(const Box& box) {
    if (box.branchPoint != none) {
        addWithFixed(box, false);
        addWithFixed(box, true);
        return;
    }
    std::size_t axis = 0;
    for (std::size_t a = 1; a != box.low.size(); ++a)
        if (box.high[a] - box.low[a] > box.high[axis] - box.low[axis])
            axis = a;
    const double middle = 0.5 * (box.low[axis] + box.high[axis]);
    if (!(box.low[axis] < middle && middle < box.high[axis])) {
        closed_ = std::min(closed_, box.bound); // too small to be divided
        return;
    }
    auto left = std::make_unique<Box>(box);
    left->high[axis] = middle;
    addChild(std::move(left), box.open, box.bound);
    auto right = std::make_unique<Box>(box);
    right->low[axis] = middle;
    addChild(std::move(right), box.open, box.bound);
}

// Adds the box with one more point in, or out. Another set of points has another range of multipliers, on
// which the decisions about the rest rest: they are made anew.
void BoxSearch::addWithFixed(const Box& box, bool isIn) {
    auto child = std::make_unique<Box>(box);
    (isIn ? child->fixed.in : child->fixed.out).push_back(box.branchPoint);
    child->inside = Quadratic(points_.nFeatures());
    child->demand = 0.0;
    child->multiplierLow = leastMultiplier_;
    child->multiplierHigh = mostMultiplier_;
    std::vector<char> isFixed(points_.size(), 0);
    for (const std::int32_t i : child->fixed.out)
        isFixed[at(i)] = 1;
    for (const std::int32_t i : child->fixed.in) {
        child->inside.add(points_, at(i), 1.0, -duals_[at(i)]);
        child->demand += points_.demand(at(i));
        isFixed[at(i)] = 1;
        for (const std::int32_t j : points_.conflicts(at(i)))
            isFixed[at(j)] = 1;
    }
    std::vector<std::int32_t> rest;
    std::ranges::copy_if(all_, std::back_inserter(rest), [&](std::int32_t i) { return isFixed[at(i)] == 0; });
    double available = child->demand;
    for (const std::int32_t i : rest)
        available += points_.demand(at(i));
    // Demands add up to a rounding of their sum.
    const double margin = rounding_ * available;
    if (child->demand > points_.sizeMax() + margin || available < points_.sizeMin() - margin)
        return; // no cluster has these points in and out
    addChild(std::move(child), rest, box.bound);
}

void BoxSearch::addChild(std::unique_ptr<Box> child, std::span<const std::int32_t> candidates,
                         double parentBound) {
    child->number = ++nBoxes_;
    child->bound = parentBound;
    child->branchPoint = none;
    for (std::size_t a = 0; a != child->low.size(); ++a)
        child->center[a] = std::clamp(child->center[a], child->low[a], child->high[a]);
    classify(*child, candidates);
    boundBox(*child);
    for (const std::int32_t i : open_)
        isOpen_[at(i)] = isTaken_[at(i)] = 0;
    if (isWorthless(child->bound)) {
        closed_ = std::min(closed_, child->bound);
        return;
    }
    child->open = open_;
    nBytes_ += child->bytes();
    queue_.push(std::move(child));
}

// Sorts the candidates into those that are in, out, or open. In and out are so at the best multipliers of
// sizes, not in every cluster: their demand says nothing about whether a cluster fits the box.
void BoxSearch::classify(Box& box, std::span<const std::int32_t> candidates) {
    open_.clear();
    low_.clear();
    high_.clear();
    const std::size_t d = points_.nFeatures();
    const double least = box.multiplierLow;
    for (const std::int32_t i : candidates) {
        const double* x = points_.point(at(i));
        double nearest = 0.0;
        double farthest = 0.0;
        for (std::size_t a = 0; a != d; ++a) {
            const double below = box.low[a] - x[a];
            const double above = x[a] - box.high[a];
            const double near = std::max(std::max(below, above), 0.0);
            const double far = std::max(-below, -above);
            nearest += near * near;
            farthest += far * far;
        }
        const double low = points_.weight(at(i)) * nearest - duals_[at(i)];
        if (points_.demand(at(i)) > 0.0 ? low + least * points_.demand(at(i)) >= 0.0 : low >= 0.0)
            continue;
        open_.push_back(i);
        low_.push_back(low);
        high_.push_back(points_.weight(at(i)) * farthest - duals_[at(i)]);
    }
    for (const std::int32_t i : open_)
        isOpen_[at(i)] = 1;
    if (points_.hasSizes())
        boundMultiplier(box);
    const double lowest = box.multiplierLow;
    const double highest = box.multiplierHigh;
    // Points that are out first: their conflicts then bind nobody.
    if (points_.hasSizes() && lowest > least)
        for (std::size_t p = 0; p != open_.size(); ++p)
            if (low_[p] + lowest * points_.demand(at(open_[p])) >= 0.0)
                isOpen_[at(open_[p])] = 0;
    std::size_t kept = 0;
    for (std::size_t p = 0; p != open_.size(); ++p) {
        const std::size_t i = at(open_[p]);
        if (isOpen_[i] == 0)
            continue;
        const double shift =
            points_.hasSizes() && points_.demand(i) > 0.0 ? highest * points_.demand(i) : 0.0;
        if (high_[p] + shift <= 0.0 && !hasOpenConflict(i)) {
            box.inside.add(points_, i, 1.0, -duals_[i]);
            box.demand += points_.demand(i);
            isOpen_[i] = 0;
            continue;
        }
        open_[kept] = open_[p];
        low_[kept] = low_[p];
        high_[kept] = high_[p];
        ++kept;
    }
    open_.resize(kept);
    low_.resize(kept);
    high_.resize(kept);
}

bool BoxSearch::hasOpenConflict(std::size_t i) const {
    if (!points_.hasConflicts())
        return false;
    return std::ranges::any_of(points_.conflicts(i), [this](std::int32_t j) { return isOpen_[at(j)] != 0; });
}

// Narrows the range in which the best multiplier of sizes lies for all centers in the box. Any choice in it
// gives a valid bound; a narrow range decides more points.
void BoxSearch::boundMultiplier(Box& box) {
    const double highest = -crossing(low_, box.demand, false, false);
    const double lowest = -crossing(high_, box.demand, true, true);
    box.multiplierHigh = std::min(box.multiplierHigh, std::max(highest, box.multiplierLow));
    box.multiplierLow = std::max(box.multiplierLow, std::min(lowest, box.multiplierHigh));
}

// The ratio at which a cluster is full when points join in the order of some reduced distances: negative when
// `sizeMax` stops it, positive when `sizeMin` asks for more, else zero. `isLast`: infinite when it never is.
double BoxSearch::crossing(std::span<const double> ranges, double demand, bool skipsConflicts, bool isLast) {
    std::vector<AscendingQueue::Item> order(open_.size());
    for (std::size_t p = 0; p != open_.size(); ++p)
        order[p] = {points_.ratio(at(open_[p]), ranges[p]), open_[p]};
    AscendingQueue queue(std::move(order));
    while (!queue.isEmpty()) {
        const auto [reached, point] = queue.pop();
        const std::size_t i = at(point);
        if (reached >= 0.0 && demand >= points_.sizeMin())
            return 0.0;
        if (skipsConflicts && hasOpenConflict(i))
            continue;
        demand += points_.demand(i);
        if (reached < 0.0 && demand > points_.sizeMax())
            return reached;
        if (reached >= 0.0 && demand >= points_.sizeMin())
            return reached;
    }
    return demand >= points_.sizeMin() || !isLast ? 0.0 : infinity;
}

void BoxSearch::boundBox(Box& box) {
    const std::size_t d = points_.nFeatures();
    std::vector<double> center(d);
    if (points_.isFree()) {
        box.bound = std::max(box.bound, lowerBound(box, 0.0, 0.0, center));
        box.center = center;
        if (!isWorthless(box.bound))
            offer(box, valueAt(box, center), center);
        return;
    }
    cliques_.clear();
    for (const std::int32_t i : open_)
        for (const std::int32_t c : points_.cliquesOf(at(i)))
            if (cliqueIsListed_[at(c)] == 0) {
                cliqueIsListed_[at(c)] = 1;
                cliques_.push_back(c);
            }
    for (const std::int32_t c : cliques_)
        cliqueIsListed_[at(c)] = 0;
    std::erase_if(cliques_, [&](std::int32_t c) {
        return std::ranges::count_if(points_.cliques()[at(c)],
                                     [&](std::int32_t i) { return isOpen_[at(i)] != 0; }) < 2;
    });
    // Multipliers that are right at the old center first, then at the one that this bound leads to.
    std::vector<double> place = box.center;
    for (int round = 0; round != 2 && !isWorthless(box.bound); ++round) {
        double multiplier = 0.0;
        const double feasible = feasibleValue(box, place, multiplier);
        if (feasible < infinity)
            offer(box, feasible, place);
        multiplier_ = std::clamp(multiplier, box.multiplierLow, box.multiplierHigh);
        const double conflictTotal = ascendOnConflicts();
        double relaxed = box.inside.at(place) - conflictTotal;
        if (points_.hasSizes())
            relaxed +=
                multiplier_ * (box.demand - (multiplier_ >= 0.0 ? points_.sizeMax() : points_.sizeMin()));
        for (const std::int32_t i : open_)
            relaxed += std::min(0.0, reduced_[at(i)] + shift_[at(i)]);
        const double bound = lowerBound(box, multiplier_, conflictTotal, center);
        if (bound > box.bound || round == 0)
            box.center = center;
        box.bound = std::max(box.bound, bound);
        if (isWorthless(box.bound))
            return;
        // Smaller boxes close `spread`, but not the distance of relaxation and feasible clusters.
        const double spread = relaxed - bound;
        const double integrality = feasible - relaxed;
        if (round == 0 && integrality > 0.5 * limits_.tolerance &&
            (spread < 0.5 * limits_.tolerance || (integrality < infinity && integrality > spread))) {
            offerWithFixed(box, place);
            if (isWorthless(box.bound))
                return;
            box.branchPoint = pointToBranchOn(box, place);
        }
        place = center;
    }
}

// The value of a cluster at this center, and the multiplier of sizes at which it is full.
double BoxSearch::feasibleValue(const Box& box, std::span<const double> center, double& multiplier) {
    for (const std::int32_t i : open_) {
        reduced_[at(i)] = points_.reducedDistance(at(i), center, duals_);
        isTaken_[at(i)] = 0;
    }
    const Filling filling = fillCluster(points_, reduced_, open_, box.demand, isTaken_);
    multiplier = filling.multiplier;
    return box.inside.at(center) + filling.value;
}

// Chooses the multipliers of conflicts at the reduced distances at hand: of each clique only the best point
// may count. Midway between the two best points both are fixed in the largest box. Returns the sum.
double BoxSearch::ascendOnConflicts() {
    for (const std::int32_t i : open_)
        shift_[at(i)] =
            points_.hasSizes() && points_.demand(at(i)) > 0.0 ? multiplier_ * points_.demand(at(i)) : 0.0;
    for (const std::int32_t c : cliques_)
        clique_[at(c)] = 0.0;
    // A change passes on along chains of cliques that share points.
    bool changes = true;
    for (std::size_t round = 0; changes && round <= cliques_.size(); ++round) {
        changes = false;
        for (const std::int32_t c : cliques_) {
            double best = infinity;
            double second = infinity;
            for (const std::int32_t i : points_.cliques()[at(c)]) {
                if (isOpen_[at(i)] == 0)
                    continue;
                const double value = reduced_[at(i)] + shift_[at(i)] - clique_[at(c)];
                second = std::min(second, std::max(best, value));
                best = std::min(best, value);
            }
            const double change = (second < 0.0 ? -0.5 * (best + second) : 0.0) - clique_[at(c)];
            if (change == 0.0)
                continue;
            changes = changes || std::abs(change) > limits_.tolerance;
            clique_[at(c)] += change;
            for (const std::int32_t i : points_.cliques()[at(c)])
                if (isOpen_[at(i)] != 0)
                    shift_[at(i)] += change;
        }
    }
    double total = 0.0;
    for (const std::int32_t c : cliques_)
        total += clique_[at(c)];
    return total;
}

// The bound of a box at the multipliers at hand, less a margin for rounding; `center` is where it is
// attained.
double BoxSearch::lowerBound(const Box& box, double multiplier, double conflictTotal,
                             std::vector<double>& center) {
    Quadratic sum = box.inside;
    const bool isFree = points_.isFree();
    double magnitude = conflictTotal;
    for (std::size_t p = 0; p != open_.size(); ++p) {
        const std::size_t i = at(open_[p]);
        const double shift = isFree ? 0.0 : shift_[i];
        const double low = low_[p] + shift;
        const double high = high_[p] + shift;
        if (low >= 0.0)
            continue;
        magnitude += 2.0 * std::abs(shift);
        if (high <= 0.0) {
            sum.add(points_, i, 1.0, shift - duals_[i]);
            continue;
        }
        const double slope = -low / (high - low);
        sum.add(points_, i, slope, slope * (shift - duals_[i]) + low * (1.0 - slope));
        magnitude += std::abs(duals_[i]);
    }
    for (std::size_t a = 0; a != center.size(); ++a)
        center[a] = std::clamp(sum.weight > 0.0 ? sum.moment[a] / sum.weight : box.center[a], box.low[a],
                               box.high[a]);
    double bound = sum.at(center) - conflictTotal;
    if (multiplier != 0.0) {
        const double limit = multiplier > 0.0 ? points_.sizeMax() : points_.sizeMin();
        bound += multiplier * (box.demand - limit);
        magnitude += std::abs(multiplier) * (box.demand + limit);
    }
    return bound - rounding_ * (sum.magnitude(center) + magnitude);
}

double BoxSearch::valueAt(const Box& box, std::span<const double> center) {
    double value = box.inside.at(center);
    for (const std::int32_t i : open_)
        value += std::min(0.0, points_.reducedDistance(at(i), center, duals_));
    return value;
}

void BoxSearch::offer(const Box& box, double value, std::span<const double> center) {
    const bool isBest = value < incumbent_;
    incumbent_ = std::min(incumbent_, value);
    if (!isBest && value >= limits_.gatherBelow)
        return;
    if (!box.fixed.isEmpty())
        offerWithFixed(box, center);
    else if (isBest || gathered_.size() < limits_.mostGathered * center.size())
        gathered_.insert(gathered_.end(), center.begin(), center.end());
}

// Offers a cluster of all points, not only of those that multipliers leave open: it may be much better, and a
// descent from the center would not find it where points were fixed.
void BoxSearch::offerWithFixed(const Box& box, std::span<const double> center) {
    std::vector<double> reduced;
    std::vector<std::int32_t> members;
    chooseMembers(points_, duals_, center, box.fixed, reduced, members);
    const double below =
        columns_.cost.size() < limits_.mostGathered ? std::max(incumbent_, limits_.gatherBelow) : incumbent_;
    const std::size_t count = columns_.cost.size();
    addColumn(points_, duals_, members, below, columns_);
    if (columns_.cost.size() > count)
        incumbent_ = std::min(incumbent_, columns_.reduced.back());
}

// A point that the relaxation and the feasible cluster treat differently, one with many conflicts first; else
// the point that the relaxation is least sure of, which it may hold in part.
std::int32_t BoxSearch::pointToBranchOn(const Box& box, std::span<const double> center) const {
    std::int32_t chosen = none;
    std::pair<std::size_t, double> most{0, -infinity};
    for (const std::int32_t i : open_) {
        const double shifted = reduced_[at(i)] + shift_[at(i)];
        const bool differs = (shifted <= 0.0) != (isTaken_[at(i)] != 0);
        const auto nOpen = static_cast<std::size_t>(std::ranges::count_if(
            points_.conflicts(at(i)), [&](std::int32_t j) { return isOpen_[at(j)] != 0; }));
        const std::pair<std::size_t, double> weight{differs ? nOpen + 1 : 0, -std::abs(shifted)};
        if (weight > most) {
            most = weight;
            chosen = i;
        }
    }
    if (chosen != none)
        return chosen;
    // Multipliers decide all points, but not so that sizes are kept.
    for (const std::int32_t i : all_) {
        const double shifted =
            points_.reducedDistance(at(i), center, duals_) + multiplier_ * points_.demand(at(i));
        if (-std::abs(shifted) > most.second && points_.conflicts(at(i)).empty() &&
            std::ranges::find(box.fixed.in, i) == box.fixed.in.end() &&
            std::ranges::find(box.fixed.out, i) == box.fixed.out.end()) {
            most.second = -std::abs(shifted);
            chosen = i;
        }
    }
    return chosen;
}

} // namespace

BoxBound searchBoxes(const ClusterPoints& points, std::span<const double> duals, const BoxLimits& limits) {
    return BoxSearch(points, duals, limits).run();
}

} // namespace konstrain::exact
