#include "newton_duals.h"

#include <algorithm>
#include <cmath>

#include "cholesky.h"
#include "infinity.h"

namespace konstrain::priced {

namespace {

// A cluster that is dearer by more temperatures than this takes no share.
constexpr double farthest = 9.0;
// Rows whose second-cheapest cluster is dearer by more temperatures than this are left aside.
constexpr double reach = 16.0;
// Newton steps at one temperature, how much the next one is lower, and how many there are at most.
constexpr int mostSteps = 12;
constexpr double cooling = 0.25;
constexpr int mostTemperatures = 14;
// A step moves no price by more temperatures than about this.
constexpr double longestStep = 8.0;
// Added to the diagonal, relative to its largest entry: rules may say the same in several ways.
constexpr double ridge = 1e-9;
// Sums this near to their bounds, in mean amounts or in shares of the rows that are looked at, end the steps
// at a temperature.
constexpr double nearEnough = 1e-3;
// How often a step that does not raise the dual is shortened.
constexpr int mostCuts = 4;
// Rows that give the first prices, and rows beyond which a sample of them does.
constexpr std::size_t sampleRows = 4096;
constexpr std::size_t manyRows = 16384;
// Of the rows, one in so many is looked at from prices nearby; fewest of them; how many per row that stands
// wrong; how many times as many where these were too few.
constexpr std::size_t nearShare = 8;
constexpr std::size_t fewestNear = 2048;
constexpr double nearPerExcess = 16.0;
constexpr double widening = 4.0;
// Looks at all rows.
constexpr int mostLooks = 8;
// Share of the rows that may stand wrong before prices of a similar problem count as none.
constexpr double mostExcess = 0.05;

} // namespace

NewtonDuals::NewtonDuals(const RuleProblem& problem, TimePoint deadline)
    : problem_(problem), deadline_(deadline), pricer_(problem),
      nPrices_(problem.nClusters * problem.nRules()), low_(problem.low.begin(), problem.low.end()),
      high_(problem.high.begin(), problem.high.end()), base_(problem.nClusters * problem.nAmounts),
      priced_(problem.nClusters), direction_(nPrices_), trial_(nPrices_) {}

PricedRows NewtonDuals::find(std::span<double> prices, bool isWarm) {
    const auto n = static_cast<double>(problem_.nRows());
    pricer_.take(prices);
    PricedRows rows = pricer_.priceAll();
    if (isWarm) {
        // Duals of a problem that turns out to be another one are worse than none.
        const std::vector<double> none(nPrices_, 0.0);
        pricer_.take(none);
        PricedRows without = pricer_.priceAll();
        if (without.least >= rows.least - paidByBounds(problem_, prices)) {
            std::ranges::fill(prices, 0.0);
            rows = std::move(without);
            isWarm = false;
        }
    }
    if ((!isWarm || excessOf(rows.sums) > mostExcess * n) && problem_.nRows() > manyRows) {
        findOnSample(prices);
        pricer_.take(prices);
        rows = pricer_.priceAll();
    }
    std::vector<double> best(prices.begin(), prices.end());
    PricedRows bestRows = rows;
    double bound = rows.least - paidByBounds(problem_, prices);
    const auto enough = static_cast<double>(nPrices_);
    double wanted =
        std::max({static_cast<double>(fewestNear), n / nearShare, nearPerExcess * excessOf(rows.sums)});
    for (int look = 0; look != mostLooks && !isPast(deadline_); ++look) {
        const bool isSettled = findNear(prices, rows, wanted);
        pricer_.take(prices);
        rows = pricer_.priceAll();
        const double reached = rows.least - paidByBounds(problem_, prices);
        const bool rises = reached > bound;
        if (rises) {
            bound = reached;
            std::copy(prices.begin(), prices.end(), best.begin());
            bestRows = rows;
        }
        if (isSettled && excessOf(rows.sums) <= enough)
            break;
        if (wanted >= n && !rises)
            break;
        // Prices went so far that rows which were left aside, or too few others, decide.
        if (!isSettled || !rises)
            wanted *= widening;
    }
    std::copy(best.begin(), best.end(), prices.begin());
    return bestRows;
}

void NewtonDuals::findOnSample(std::span<double> prices) {
    const std::size_t stride = problem_.nRows() / sampleRows;
    near_.clear();
    for (std::size_t row = 0; row < problem_.nRows(); row += stride)
        near_.push_back(static_cast<std::uint32_t>(row));
    const double part = static_cast<double>(near_.size()) / static_cast<double>(problem_.nRows());
    // What the sample holds too much or too little of, compared with all rows, is dealt out to all clusters:
    // it must not be impossible where the whole is not.
    std::vector<double> whole(problem_.nAmounts);
    std::vector<double> sample(problem_.nAmounts);
    for (std::size_t row = 0; row != problem_.nRows(); ++row)
        for (std::size_t a = 0; a != problem_.nAmounts; ++a) {
            whole[a] += problem_.amount(row)[a];
            sample[a] += row % stride == 0 ? problem_.amount(row)[a] : 0.0;
        }
    for (std::size_t e = 0; e != nPrices_; ++e) {
        const std::size_t r = e % problem_.nRules();
        const double surplus = problem_.ruleOf(r, sample.data()) - part * problem_.ruleOf(r, whole.data());
        const double dealt = surplus / static_cast<double>(problem_.nClusters);
        low_[e] = problem_.low[e] * part + dealt;
        high_[e] = problem_.high[e] * part + dealt;
    }
    std::fill(base_.begin(), base_.end(), 0.0);
    // Prices of a sample are off by what its sums are off: no use in their last digits.
    cool(prices, medianGap(prices), sampleRows / 16);
    std::copy(problem_.low.begin(), problem_.low.end(), low_.begin());
    std::copy(problem_.high.begin(), problem_.high.end(), high_.begin());
}

// Whether these rows, so many of them, were enough to settle the prices.
bool NewtonDuals::findNear(std::span<double> prices, const PricedRows& rows, double count) {
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
    return cool(prices, widest < infinity && widest > 0.0 ? widest / reach : medianGap(prices), 0);
}

// Steps at falling temperatures until so few rows are left; false when the first of them did not settle.
bool NewtonDuals::cool(std::span<double> prices, double temperature, std::size_t fewest) {
    temperature_ = temperature;
    for (int level = 0; level != mostTemperatures && temperature > 0.0 && !isPast(deadline_); ++level) {
        if (!settle(prices))
            return level > 0;
        temperature_ *= cooling;
        narrow(prices, reach * temperature_);
        if (near_.size() <= fewest)
            break;
    }
    return true;
}

bool NewtonDuals::settle(std::span<double> prices) {
    measure(prices, now_);
    for (int step = 0; step != mostSteps; ++step) {
        if (!direct(prices, now_))
            return true;
        bool rises = false;
        for (int cut = 0; cut != mostCuts && !rises; ++cut) {
            for (std::size_t e = 0; e != nPrices_; ++e)
                trial_[e] = prices[e] + direction_[e];
            measure(trial_, next_);
            rises = next_.value > now_.value;
            for (double& d : direction_)
                d *= cooling;
        }
        if (!rises)
            return step > 0;
        std::copy(trial_.begin(), trial_.end(), prices.begin());
        std::swap(now_, next_);
    }
    return !direct(prices, now_);
}

// Leaves rows aside that prefer their cluster by more than this.
void NewtonDuals::narrow(std::span<const double> prices, double widest) {
    pricer_.take(prices);
    std::erase_if(near_, [&](std::uint32_t row) {
        const LeastTwo least = pricer_.priceRow(row, priced_.data());
        if (least.gap() <= widest)
            return false;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            base_[least.best * problem_.nAmounts + a] += problem_.amount(row)[a];
        return true;
    });
}

void NewtonDuals::measure(std::span<const double> prices, Shares& shares) {
    const std::size_t n = base_.size();
    shares.sums = base_;
    shares.slope.assign(n * n, 0.0);
    pricer_.take(prices);
    shares.value = pricer_.paidBy(base_);
    for (const std::uint32_t row : near_)
        measureRow(row, shares);
    for (std::size_t i = 0; i != n; ++i)
        for (std::size_t j = 0; j != i; ++j)
            shares.slope[j * n + i] = shares.slope[i * n + j];
    for (std::size_t e = 0; e != nPrices_; ++e)
        if (prices[e] != 0.0)
            shares.value -= prices[e] * (prices[e] > 0.0 ? high_[e] : low_[e]);
}

void NewtonDuals::measureRow(std::size_t row, Shares& shares) {
    const auto [least, second, best] = pricer_.priceRow(row, priced_.data());
    const double* amount = problem_.amount(row);
    if (second - least > farthest * temperature_) {
        shares.value += least;
        for (std::size_t a = 0; a != problem_.nAmounts; ++a)
            shares.sums[best * problem_.nAmounts + a] += amount[a];
        return;
    }
    taking_.clear();
    double sum = 0.0;
    for (std::size_t j = 0; j != problem_.nClusters; ++j)
        if (priced_[j] - least <= farthest * temperature_) {
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

// The Newton step from here; false when the sums are as the prices want them.
bool NewtonDuals::direct(std::span<const double> prices, const Shares& shares) {
    const std::size_t nRules = problem_.nRules();
    const std::size_t nAmounts = problem_.nAmounts;
    const std::size_t width = base_.size();
    // How rules fall with prices: the slope of the sums, seen through the rules of both.
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
    std::vector<double> diagonal(nPrices_);
    for (std::size_t e = 0; e != nPrices_; ++e) {
        diagonal[e] = curvature(e, e);
        steepest = std::max(steepest, diagonal[e]);
    }
    const double enough = nearEnough * std::max(1.0, static_cast<double>(near_.size()));
    bool isSettled = true;
    for (std::size_t e = 0; e != nPrices_; ++e) {
        const double value = problem_.ruleOf(e % nRules, shares.sums.data() + (e / nRules) * nAmounts);
        const double unit = 1.0 / std::max(diagonal[e], 1.0 / temperature_);
        const bool isFull = prices[e] + unit * (value - high_[e]) > 0.0;
        const bool isShort = prices[e] + unit * (value - low_[e]) < 0.0;
        direction_[e] = isFull || isShort ? 0.0 : -prices[e];
        if (isFull || isShort) {
            active_.push_back(e);
            wanted_.push_back(value - (isFull ? high_[e] : low_[e]));
            isSettled = isSettled && std::abs(wanted_.back()) <= enough;
        } else
            isSettled = isSettled && prices[e] == 0.0;
    }
    if (isSettled)
        return false;
    const std::size_t n = active_.size();
    matrix_.assign(n * n, 0.0);
    for (std::size_t x = 0; x != n; ++x) {
        for (std::size_t y = 0; y <= x; ++y)
            matrix_[x * n + y] = curvature(active_[x], active_[y]);
        // Where hardly a row is in reach the derivative says nothing: the step ends at its longest.
        matrix_[x * n + x] +=
            ridge * (steepest + 1.0 / temperature_) + std::abs(wanted_[x]) / (longestStep * temperature_);
    }
    for (std::size_t g = 0; g != nPrices_; ++g)
        if (direction_[g] != 0.0)
            for (std::size_t x = 0; x != n; ++x)
                wanted_[x] -= curvature(active_[x], g) * direction_[g];
    factorize(matrix_, n);
    solveFactorized(matrix_, n, wanted_);
    for (std::size_t x = 0; x != n; ++x)
        direction_[active_[x]] = wanted_[x];
    for (std::size_t e = 0; e != nPrices_; ++e) {
        // The dual has a kink where a price changes its sign, unless both bounds are the same.
        const double target = prices[e] + direction_[e];
        const bool mayPay = target > 0.0 ? high_[e] < infinity : low_[e] > -infinity;
        const bool crosses = (prices[e] > 0.0 && target < 0.0) || (prices[e] < 0.0 && target > 0.0);
        if (target != 0.0 && (!mayPay || (crosses && low_[e] != high_[e])))
            direction_[e] = -prices[e];
    }
    return true;
}

double NewtonDuals::medianGap(std::span<const double> prices) {
    pricer_.take(prices);
    return konstrain::medianGap(near_.size(),
                                [&](std::size_t at) { return pricer_.priceRow(near_[at], priced_.data()); });
}

// By how much the rules miss their bounds, all together.
double NewtonDuals::excessOf(std::span<const double> sums) const {
    double total = 0.0;
    for (std::size_t e = 0; e != nPrices_; ++e) {
        const double value =
            problem_.ruleOf(e % problem_.nRules(), sums.data() + (e / problem_.nRules()) * problem_.nAmounts);
        total += std::max({0.0, problem_.low[e] - value, value - problem_.high[e]});
    }
    return total;
}

} // namespace konstrain::priced
