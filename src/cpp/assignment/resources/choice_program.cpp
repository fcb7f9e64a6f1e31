#include "choice_program.h"

#include <algorithm>
#include <cmath>

#include "cholesky.h"
#include "infinity.h"

namespace konstrain {

namespace {

// Bounds nearer to each other than this, in mean amounts, are one.
constexpr double narrow = 1e-6;
// Part of the way to where something becomes negative.
constexpr double nearlyAll = 0.995;
constexpr int mostSteps = 80;
// Shares and sums may be off by this, in rows.
constexpr double nearEnough = 1e-6;
// Prices below this part of the highest are none.
constexpr double leastPrice = 1e-7;
// So stiff is the equation of a sum without bounds that it stays worth nothing.
constexpr double stiff = 1e30;
// Added to the diagonal, relatively: rules may say the same in several ways.
constexpr double ridge = 1e-13;

} // namespace

bool InteriorPoint::Sum::isFree() const {
    return low == -infinity && high == infinity;
}

bool InteriorPoint::Sum::isFixed() const {
    return high - low <= narrow;
}

bool InteriorPoint::Sum::hasLow() const {
    return low > -infinity && !isFixed();
}

bool InteriorPoint::Sum::hasHigh() const {
    return high < infinity && !isFixed();
}

// Chooses the value so that every product of an amount and its cost is about the same.
void InteriorPoint::Sum::begin(double unit, double dearest) {
    const double width = high - low;
    const double least = unit / std::min(width, 1.0);
    below.cost = hasLow() ? std::max(worth, 0.0) + least : 0.0;
    above.cost = hasHigh() ? std::max(-worth, 0.0) + least : 0.0;
    if (!isFixed())
        worth = below.cost - above.cost;
    if (isFixed())
        value = (low + high) / 2.0;
    else if (hasLow() && (worth > 0.0 || !hasHigh()))
        value = low + std::min(width / 2.0, unit / below.cost);
    else if (hasHigh())
        value = high - std::min(width / 2.0, unit / above.cost);
    below.amount = value - low;
    above.amount = high - value;
    lack.cost = dearest - worth;
    lack.amount = unit / lack.cost;
    surplus.cost = dearest + worth;
    surplus.amount = unit / surplus.cost;
}

// How much the value and what is missed of it give way when its worth changes.
double InteriorPoint::Sum::ease() const {
    if (isFree())
        return stiff;
    const double stiffness =
        (hasLow() ? below.cost / below.amount : 0.0) + (hasHigh() ? above.cost / above.amount : 0.0);
    return lack.ease() + surplus.ease() + (isFixed() ? 0.0 : 1.0 / stiffness);
}

// Where the value and what is missed go at the same worth.
double InteriorPoint::Sum::push() const {
    if (isFree())
        return 0.0;
    double total = surplus.wanted / surplus.cost - lack.wanted / lack.cost;
    if (!isFixed()) {
        const double wanted =
            (hasLow() ? below.wanted / below.amount : 0.0) - (hasHigh() ? above.wanted / above.amount : 0.0);
        total += wanted * (ease() - lack.ease() - surplus.ease());
    }
    return total;
}

void InteriorPoint::Sum::step(double change) {
    worthStep = isFree() ? 0.0 : change;
    lack.stepAtCost(-worthStep);
    surplus.stepAtCost(worthStep);
    // What is left of the equation is the value's.
    const double inside = ease() - lack.ease() - surplus.ease();
    const double wanted =
        (hasLow() ? below.wanted / below.amount : 0.0) - (hasHigh() ? above.wanted / above.amount : 0.0);
    valueStep = isFixed() || isFree() ? 0.0 : inside * (wanted - worthStep);
    if (hasLow())
        below.stepAtAmount(valueStep);
    if (hasHigh())
        above.stepAtAmount(-valueStep);
}

InteriorPoint::InteriorPoint(const ChoiceProgram& program, std::span<const double> prices, double dearest)
    : program_(program), dearest_(dearest), choices_(program.cost.size()), rowMissed_(program.nRows()),
      rowEase_(program.nRows()), matrix_(prices.size() * prices.size()), side_(prices.size()) {
    for (std::size_t e = 0; e != prices.size(); ++e) {
        sums_.push_back({.low = program.low[e], .high = program.high[e]});
        sums_.back().worth = sums_.back().isFree() ? 0.0 : -prices[e];
    }
    unit_ = meanRegret();
    if (!(unit_ > 0.0))
        unit_ = dearest;
    for (Sum& sum : sums_)
        if (!sum.isFree())
            sum.begin(unit_, dearest_);
    for (std::size_t row = 0; row != program.nRows(); ++row)
        beginRow(row);
}

// What a choice costs less what it is worth to its cluster.
double InteriorPoint::regret(std::size_t row, std::size_t choice) const {
    double total = program_.cost[choice];
    for (std::size_t r = 0; r != program_.nRules; ++r)
        total -= program_.held[row * program_.nRules + r] * sums_[program_.sumOf(choice) + r].worth;
    return total;
}

// What choices cost above the cheapest of their row on average.
double InteriorPoint::meanRegret() const {
    double total = 0.0;
    for (std::size_t row = 0; row != program_.nRows(); ++row) {
        double least = infinity;
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c) {
            least = std::min(least, regret(row, c));
            total += regret(row, c);
        }
        total -= least * static_cast<double>(program_.end(row) - program_.begin(row));
    }
    return total / static_cast<double>(std::max<std::size_t>(1, choices_.size()));
}

void InteriorPoint::beginRow(std::size_t row) {
    double least = infinity;
    for (std::size_t c = program_.begin(row); c != program_.end(row); ++c) {
        choices_[c].cost = regret(row, c);
        least = std::min(least, choices_[c].cost);
    }
    double total = 0.0;
    for (std::size_t c = program_.begin(row); c != program_.end(row); ++c) {
        choices_[c].cost += unit_ - least;
        total += 1.0 / choices_[c].cost;
    }
    for (std::size_t c = program_.begin(row); c != program_.end(row); ++c)
        choices_[c].amount = 1.0 / (choices_[c].cost * total);
}

template <typename Visit> void InteriorPoint::forEachPair(Visit visit) {
    for (Pair& choice : choices_)
        visit(choice);
    for (Sum& sum : sums_) {
        if (sum.isFree())
            continue;
        if (sum.hasLow())
            visit(sum.below);
        if (sum.hasHigh())
            visit(sum.above);
        visit(sum.lack);
        visit(sum.surplus);
    }
}

// Of amounts and their costs, so far on.
double InteriorPoint::meanProduct(double amountStep, double costStep) {
    double total = 0.0;
    double count = 0.0;
    forEachPair([&](const Pair& pair) {
        total += (pair.amount + amountStep * pair.amountStep) * (pair.cost + costStep * pair.costStep);
        count += 1.0;
    });
    return total / count;
}

// What shares lack to one, and sums to what their rows hold.
void InteriorPoint::measure() {
    for (Sum& sum : sums_)
        sum.missed = sum.value - sum.lack.amount + sum.surplus.amount;
    for (std::size_t row = 0; row != program_.nRows(); ++row) {
        rowMissed_[row] = 1.0;
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c) {
            rowMissed_[row] -= choices_[c].amount;
            for (std::size_t r = 0; r != program_.nRules; ++r)
                sums_[program_.sumOf(c) + r].missed -=
                    choices_[c].amount * program_.held[row * program_.nRules + r];
        }
    }
}

double InteriorPoint::missed() const {
    double most = 0.0;
    for (const double row : rowMissed_)
        most = std::max(most, std::abs(row));
    for (const Sum& sum : sums_)
        if (!sum.isFree())
            most = std::max(most, std::abs(sum.missed));
    return most;
}

// How sums give way when their worth changes: each row's choices together, and each sum's own room.
void InteriorPoint::factorizeStep() {
    const std::size_t n = sums_.size();
    const std::size_t nRules = program_.nRules;
    std::ranges::fill(matrix_, 0.0);
    for (std::size_t row = 0; row != program_.nRows(); ++row) {
        const double* held = program_.held.data() + row * nRules;
        rowEase_[row] = 0.0;
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c)
            rowEase_[row] += choices_[c].ease();
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c)
            for (std::size_t d = program_.begin(row); d <= c; ++d) {
                const double ease =
                    choices_[c].ease() * ((c == d ? 1.0 : 0.0) - choices_[d].ease() / rowEase_[row]);
                for (std::size_t r = 0; r != nRules; ++r)
                    for (std::size_t q = 0; q != nRules; ++q)
                        matrix_[(program_.sumOf(c) + r) * n + program_.sumOf(d) + q] +=
                            ease * held[r] * held[q];
            }
    }
    for (std::size_t s = 0; s != n; ++s)
        matrix_[s * n + s] += sums_[s].ease() + ridge * matrix_[s * n + s];
    factorize(matrix_, n);
}

// Products are to come to this, what the last steps change of them beside their sum taken into account or
// not.
void InteriorPoint::want(double product, bool isCorrecting) {
    forEachPair([&](Pair& pair) {
        pair.wanted =
            product - pair.amount * pair.cost - (isCorrecting ? pair.amountStep * pair.costStep : 0.0);
    });
}

// The step from here; false where rounding leaves none.
bool InteriorPoint::direct() {
    const std::size_t nRules = program_.nRules;
    for (std::size_t s = 0; s != sums_.size(); ++s)
        side_[s] = sums_[s].missed + sums_[s].push();
    std::vector<double> rowPush(program_.nRows());
    for (std::size_t row = 0; row != program_.nRows(); ++row) {
        rowPush[row] = rowMissed_[row];
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c)
            rowPush[row] -= choices_[c].wanted / choices_[c].cost;
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c) {
            const double push =
                choices_[c].wanted / choices_[c].cost + choices_[c].ease() * rowPush[row] / rowEase_[row];
            for (std::size_t r = 0; r != nRules; ++r)
                side_[program_.sumOf(c) + r] -= push * program_.held[row * nRules + r];
        }
    }
    solveFactorized(matrix_, sums_.size(), side_);
    if (!std::ranges::all_of(side_, [](double change) { return std::isfinite(change); }))
        return false;
    for (std::size_t s = 0; s != sums_.size(); ++s)
        sums_[s].step(side_[s]);
    std::vector<double> gained;
    for (std::size_t row = 0; row != program_.nRows(); ++row) {
        gained.clear();
        double worth = rowPush[row];
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c) {
            gained.push_back(0.0);
            for (std::size_t r = 0; r != nRules; ++r)
                gained.back() += program_.held[row * nRules + r] * sums_[program_.sumOf(c) + r].worthStep;
            worth -= choices_[c].ease() * gained.back();
        }
        worth /= rowEase_[row]; // of the row itself
        for (std::size_t c = program_.begin(row); c != program_.end(row); ++c)
            choices_[c].stepAtCost(-worth - gained[c - program_.begin(row)]);
    }
    return true;
}

// How far all may go.
double InteriorPoint::longest(double Pair::* now, double Pair::* step) {
    double farthest = 1.0 / nearlyAll;
    forEachPair([&](const Pair& pair) {
        if (pair.*step < 0.0)
            farthest = std::min(farthest, -(pair.*now) / (pair.*step));
    });
    return nearlyAll * farthest;
}

void InteriorPoint::go(double amountStep, double costStep) {
    forEachPair([&](Pair& pair) {
        pair.amount += amountStep * pair.amountStep;
        pair.cost += costStep * pair.costStep;
    });
    for (Sum& sum : sums_) {
        sum.value += amountStep * sum.valueStep;
        sum.worth += costStep * sum.worthStep;
    }
}

// Of all shares, and of the bounds that are missed.
double InteriorPoint::cost() const {
    double total = 0.0;
    for (std::size_t c = 0; c != choices_.size(); ++c)
        total += program_.cost[c] * choices_[c].amount;
    for (const Sum& sum : sums_)
        total += dearest_ * (sum.lack.amount + sum.surplus.amount);
    return total;
}

double InteriorPoint::solve(double enough, TimePoint deadline, std::span<double> prices) {
    double count = 0.0;
    forEachPair([&](const Pair&) { count += 1.0; });
    for (int step = 0; step != mostSteps && !isPast(deadline); ++step) {
        measure();
        const double product = meanProduct(0.0, 0.0);
        if (product * count <= enough && missed() <= nearEnough)
            break;
        factorizeStep();
        want(0.0, false);
        if (!direct())
            break;
        const double reached =
            meanProduct(longest(&Pair::amount, &Pair::amountStep), longest(&Pair::cost, &Pair::costStep));
        want(product * std::pow(std::max(reached, 0.0) / product, 3.0), true);
        if (!direct())
            break;
        go(longest(&Pair::amount, &Pair::amountStep), longest(&Pair::cost, &Pair::costStep));
    }
    double highest = 0.0;
    for (const Sum& sum : sums_)
        highest = std::max(highest, std::abs(sum.worth));
    for (std::size_t e = 0; e != sums_.size(); ++e)
        prices[e] = std::abs(sums_[e].worth) > leastPrice * highest ? -sums_[e].worth : 0.0;
    return cost();
}

} // namespace konstrain
