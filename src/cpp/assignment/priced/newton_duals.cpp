#include "newton_duals.h"

#include <algorithm>
#include <cmath>

#include "cholesky.h"
#include "infinity.h"
#include "median_gap.h"
#include "tolerances.h"

namespace konstrain::priced {

namespace {

struct Params {
    // Newton steps at one temperature, attempts to shorten one, temperatures, and passes over all rows, at
    // most; larger: better duals in hard cases, and more time for hopeless ones.
    int maxRounds = 12;
    // Factor by which the temperature falls, a step that does not raise the dual is shortened, and the share
    // of rows is widened where they were too few; larger: more and safer steps.
    double cooling = 0.25;
    // Rows that are taken in per misplaced row, and at least one row in as many; larger: fewer passes over
    // all rows, each with more rows in its steps.
    double nearPerExcess = 16.0;
};
constexpr Params params;

// Temperatures above which a row has no share even after a step, which moves no dual by more than the cutoff.
constexpr double reach = shareCutoff + shareCutoff;

} // namespace

NewtonDuals::NewtonDuals(const RuleProblem& problem, TimePoint deadline)
    : problem_(problem), deadline_(deadline), pricer_(problem), nDuals_(problem.nClusters * problem.nRules()),
      low_(problem.low.begin(), problem.low.end()), high_(problem.high.begin(), problem.high.end()),
      base_(problem.nClusters * problem.nAmounts), priced_(problem.nClusters), direction_(nDuals_),
      trial_(nDuals_) {}

PricedLabels NewtonDuals::find(std::span<double> duals, bool isWarm) {
    const auto n = static_cast<double>(problem_.nRows());
    pricer_.take(duals);
    PricedLabels rows = pricer_.priceAll();
    if (isWarm) {
        // Duals of a problem that turns out to be another one are worse than none.
        const std::vector<double> none(nDuals_, 0.0);
        pricer_.take(none);
        PricedLabels without = pricer_.priceAll();
        if (without.least >= rows.least - paidByBounds(problem_, duals)) {
            std::ranges::fill(duals, 0.0);
            rows = std::move(without);
            isWarm = false;
        }
    }
    // Where all rows would have to be taken in, duals of a similar problem are no better than none.
    if ((!isWarm || params.nearPerExcess * excessOf(rows.sums) > n) && problem_.nRows() > 4 * sampleRows) {
        findOnSample(duals);
        pricer_.take(duals);
        rows = pricer_.priceAll();
    }
    std::vector<double> best(duals.begin(), duals.end());
    PricedLabels bestRows = rows;
    double bound = rows.least - paidByBounds(problem_, duals);
    const auto enough = static_cast<double>(nDuals_);
    double wanted = std::max({static_cast<double>(sampleRows), n / params.nearPerExcess,
                              params.nearPerExcess * excessOf(rows.sums)});
    for (int pass = 0; pass != params.maxRounds && !isPast(deadline_); ++pass) {
        const bool hasConverged = findNear(duals, rows, wanted);
        pricer_.take(duals);
        rows = pricer_.priceAll();
        const double reached = rows.least - paidByBounds(problem_, duals);
        const bool rises = reached > bound;
        if (rises) {
            bound = reached;
            std::copy(duals.begin(), duals.end(), best.begin());
            bestRows = rows;
        }
        if (hasConverged && excessOf(rows.sums) <= enough)
            break;
        if (wanted >= n && !rises)
            break;
        // Duals went so far that rows which were left aside matter, or too few rows were taken in.
        if (!hasConverged || !rises)
            wanted /= params.cooling;
    }
    std::copy(best.begin(), best.end(), duals.begin());
    return bestRows;
}

void NewtonDuals::findOnSample(std::span<double> duals) {
    const std::size_t stride = problem_.nRows() / sampleRows;
    near_.clear();
    for (std::size_t row = 0; row < problem_.nRows(); row += stride)
        near_.push_back(static_cast<std::uint32_t>(row));
    const double part = static_cast<double>(near_.size()) / static_cast<double>(problem_.nRows());
    // What the sample holds too much or too little of, compared with all rows, is spread over all clusters:
    // the problem of the sample must not be infeasible where that of all rows is feasible.
    std::vector<double> whole(problem_.nAmounts);
    std::vector<double> sample(problem_.nAmounts);
    for (std::size_t row = 0; row != problem_.nRows(); ++row)
        for (std::size_t a = 0; a != problem_.nAmounts; ++a) {
            whole[a] += problem_.amount(row)[a];
            sample[a] += row % stride == 0 ? problem_.amount(row)[a] : 0.0;
        }
    for (std::size_t e = 0; e != nDuals_; ++e) {
        const std::size_t r = e % problem_.nRules();
        const double surplus = problem_.ruleOf(r, sample.data()) - part * problem_.ruleOf(r, whole.data());
        const double spread = surplus / static_cast<double>(problem_.nClusters);
        low_[e] = problem_.low[e] * part + spread;
        high_[e] = problem_.high[e] * part + spread;
    }
    std::fill(base_.begin(), base_.end(), 0.0);
    // Duals of a sample are off by what its sums are off: no use in their last digits.
    cool(duals, medianGap(duals), sampleRows / 16);
    std::copy(problem_.low.begin(), problem_.low.end(), low_.begin());
    std::copy(problem_.high.begin(), problem_.high.end(), high_.begin());
}

// Steps over the `count` rows of smallest gaps. Returns whether these were enough for the duals to converge.
bool NewtonDuals::findNear(std::span<double> duals, const PricedLabels& rows, double count) {
    const std::size_t n = problem_.nRows();
    const std::size_t wanted = count < static_cast<double>(n) ? static_cast<std::size_t>(count) : n;
    near_.clear();
    std::fill(base_.begin(), base_.end(), 0.0);
    const double widest = wanted < n ? nthOf(rows.gaps, wanted) : infinity;
    for (std::size_t row = 0; row != n; ++row) {
        if (rows.gaps[row] <= widest) {
            near_.push_back(static_cast<std::uint32_t>(row));
            continue;
        }
        double* sums = base_.data() + static_cast<std::size_t>(rows.labels[row]) * problem_.nAmounts;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            sums[a] += problem_.amount(row)[a];
    }
    return cool(duals, widest < infinity && widest > 0.0 ? widest / reach : medianGap(duals), 0);
}

// Steps at falling temperatures until `fewest` rows are left; false when those at the first temperature did
// not converge.
bool NewtonDuals::cool(std::span<double> duals, double temperature, std::size_t fewest) {
    temperature_ = temperature;
    for (int level = 0; level != params.maxRounds && temperature > 0.0 && !isPast(deadline_); ++level) {
        if (!converge(duals))
            return level > 0;
        temperature_ *= params.cooling;
        leaveAside(duals, reach * temperature_);
        if (near_.size() <= fewest)
            break;
    }
    return true;
}

// Newton steps with backtracking at one temperature: the smoothed dual is concave, so a step that does not
// raise it is too long. False when no step raised it, or they did not converge within `maxRounds`.
bool NewtonDuals::converge(std::span<double> duals) {
    measure(duals, now_);
    for (int step = 0; step != params.maxRounds; ++step) {
        if (!direct(duals, now_))
            return true;
        bool rises = false;
        for (int cut = 0; cut != params.maxRounds && !rises; ++cut) {
            for (std::size_t e = 0; e != nDuals_; ++e)
                trial_[e] = duals[e] + direction_[e];
            measure(trial_, next_);
            rises = next_.value > now_.value;
            for (double& d : direction_)
                d *= params.cooling;
        }
        if (!rises)
            return step > 0;
        std::copy(trial_.begin(), trial_.end(), duals.begin());
        std::swap(now_, next_);
    }
    return !direct(duals, now_);
}

// Leaves rows aside that prefer their cluster by more than this.
void NewtonDuals::leaveAside(std::span<const double> duals, double widest) {
    pricer_.take(duals);
    std::erase_if(near_, [&](std::uint32_t row) {
        const LeastTwo least = pricer_.priceRow(row, priced_.data());
        if (least.gap() <= widest)
            return false;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            base_[least.best * problem_.nAmounts + a] += problem_.amount(row)[a];
        return true;
    });
}

void NewtonDuals::measure(std::span<const double> duals, Shares& shares) {
    const std::size_t n = base_.size();
    shares.sums = base_;
    shares.slope.assign(n * n, 0.0);
    pricer_.take(duals);
    shares.value = pricer_.paidBy(base_);
    for (const std::uint32_t row : near_)
        measureRow(row, shares);
    for (std::size_t i = 0; i != n; ++i)
        for (std::size_t j = 0; j != i; ++j)
            shares.slope[j * n + i] = shares.slope[i * n + j];
    for (std::size_t e = 0; e != nDuals_; ++e)
        if (duals[e] != 0.0)
            shares.value -= duals[e] * (duals[e] > 0.0 ? high_[e] : low_[e]);
}

void NewtonDuals::measureRow(std::size_t row, Shares& shares) {
    const auto [least, second, best] = pricer_.priceRow(row, priced_.data());
    const double* amount = problem_.amount(row);
    if (second - least > shareCutoff * temperature_) {
        shares.value += least;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            shares.sums[best * problem_.nAmounts + a] += amount[a];
        return;
    }
    taking_.clear();
    double sum = 0.0;
    for (std::size_t j = 0; j != problem_.nClusters; ++j)
        if (priced_[j] - least <= shareCutoff * temperature_) {
            taking_.emplace_back(j, std::exp((least - priced_[j]) / temperature_));
            sum += taking_.back().second;
        }
    shares.value += least - temperature_ * std::log(sum);
    counting_.clear();
    for (std::size_t a = 0; a != problem_.nAmounts; ++a)
        if (amount[a] != 0.0)
            counting_.push_back(a);
    const std::size_t nAmounts = problem_.nAmounts;
    const std::size_t n = base_.size();
    // Below the diagonal only; `measure` mirrors it.
    held_.clear();
    for (auto& [j, share] : taking_) {
        share /= sum;
        const double steepness = share / temperature_;
        for (const std::size_t a : counting_) {
            const std::size_t entry = j * nAmounts + a;
            shares.sums[entry] += share * amount[a];
            held_.emplace_back(entry, share * amount[a]);
            for (const std::size_t b : counting_)
                if (b <= a)
                    shares.slope[entry * n + j * nAmounts + b] += steepness * amount[a] * amount[b];
        }
    }
    for (std::size_t p = 0; p != held_.size(); ++p) {
        double* slope = shares.slope.data() + held_[p].first * n;
        const double scaled = held_[p].second / temperature_;
        for (std::size_t q = 0; q <= p; ++q)
            slope[held_[q].first] -= scaled * held_[q].second;
    }
}

// Sets `direction_` to the Newton step from here; false when the sums are as the duals want them.
// It is the active-set step of a projected Newton method (Bertsekas 1982): a dual whose rule lies strictly
// between its bounds goes to zero, the others solve the Newton equations. The Hessian over amounts is mapped
// to rules by their weights on both sides; O((k r)^3) for k clusters and r rules, which are few.
bool NewtonDuals::direct(std::span<const double> duals, const Shares& shares) {
    const std::size_t nRules = problem_.nRules();
    const std::size_t nAmounts = problem_.nAmounts;
    const std::size_t width = base_.size();
    // How rules fall with duals: the slope of the sums, seen through the rules of both.
    const auto curvature = [&](std::size_t e, std::size_t g) {
        double total = 0.0;
        const double* slope = shares.slope.data() + (e / nRules) * nAmounts * width + (g / nRules) * nAmounts;
        for (std::size_t a = 0; a != nAmounts; ++a)
            if (const double first = problem_.rule(e % nRules)[a]; first != 0.0)
                for (std::size_t b = 0; b != nAmounts; ++b)
                    total += first * slope[a * width + b] * problem_.rule(g % nRules)[b];
        return total;
    };
    active_.clear();
    wanted_.clear();
    double steepest = 0.0;
    std::vector<double> diagonal(nDuals_);
    std::vector<double> missed(nDuals_);
    for (std::size_t e = 0; e != nDuals_; ++e) {
        diagonal[e] = curvature(e, e);
        steepest = std::max(steepest, diagonal[e]);
    }
    const double enough = tolerances::converged * std::max(1.0, static_cast<double>(near_.size()));
    bool hasConverged = true;
    for (std::size_t e = 0; e != nDuals_; ++e) {
        const double value = problem_.ruleOf(e % nRules, shares.sums.data() + (e / nRules) * nAmounts);
        const double unit = 1.0 / std::max(diagonal[e], 1.0 / temperature_);
        const bool isFull = duals[e] + unit * (value - high_[e]) > 0.0;
        const bool isShort = duals[e] + unit * (value - low_[e]) < 0.0;
        direction_[e] = isFull || isShort ? 0.0 : -duals[e];
        if (isFull || isShort) {
            active_.push_back(e);
            wanted_.push_back(value - (isFull ? high_[e] : low_[e]));
            missed[e] = wanted_.back();
            hasConverged = hasConverged && std::abs(wanted_.back()) <= enough;
        } else
            hasConverged = hasConverged && duals[e] == 0.0;
    }
    if (hasConverged)
        return false;
    const std::size_t n = active_.size();
    matrix_.assign(n * n, 0.0);
    for (std::size_t x = 0; x != n; ++x) {
        for (std::size_t y = 0; y <= x; ++y)
            matrix_[x * n + y] = curvature(active_[x], active_[y]);
        // Where hardly a row is in reach the derivative is no guide: the step ends at its longest.
        matrix_[x * n + x] += tolerances::ridge * (steepest + 1.0 / temperature_) +
                              std::abs(wanted_[x]) / (shareCutoff * temperature_);
    }
    for (std::size_t g = 0; g != nDuals_; ++g)
        if (direction_[g] != 0.0)
            for (std::size_t x = 0; x != n; ++x)
                wanted_[x] -= curvature(active_[x], g) * direction_[g];
    factorize(matrix_, n);
    solveFactorized(matrix_, n, wanted_);
    for (std::size_t x = 0; x != n; ++x)
        direction_[active_[x]] = wanted_[x];
    for (std::size_t e = 0; e != nDuals_; ++e) {
        // The dual has a kink where a dual changes its sign, unless both bounds are the same. One that leaves
        // zero for the side of the bound that is kept crosses it as well: the step would not lead up.
        const double target = duals[e] + direction_[e];
        const bool mayPay = target > 0.0 ? high_[e] < infinity : low_[e] > -infinity;
        const double side = duals[e] != 0.0 ? duals[e] : missed[e];
        const bool crosses = (side > 0.0 && target < 0.0) || (side < 0.0 && target > 0.0);
        if (target != 0.0 && (!mayPay || (crosses && low_[e] != high_[e])))
            direction_[e] = -duals[e];
    }
    return true;
}

double NewtonDuals::medianGap(std::span<const double> duals) {
    pricer_.take(duals);
    return konstrain::medianGap(near_.size(),
                                [&](std::size_t at) { return pricer_.priceRow(near_[at], priced_.data()); });
}

// By how much the rules miss their bounds, all together.
double NewtonDuals::excessOf(std::span<const double> sums) const {
    double total = 0.0;
    for (std::size_t e = 0; e != nDuals_; ++e) {
        const double value =
            problem_.ruleOf(e % problem_.nRules(), sums.data() + (e / problem_.nRules()) * problem_.nAmounts);
        total += std::max({0.0, problem_.low[e] - value, value - problem_.high[e]});
    }
    return total;
}

} // namespace konstrain::priced
