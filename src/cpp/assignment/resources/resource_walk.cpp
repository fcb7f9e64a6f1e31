#include "resource_walk.h"

#include <algorithm>
#include <cmath>

#include "infinity.h"

namespace konstrain {

namespace {

// The first temperature, in median prices of the rules that bind, and how far it falls.
constexpr double firstTemperature = 3.0;
constexpr double falling = 1e-2;
// What missing a bound costs at least: its own price so many times, and a part of its rule's highest price.
constexpr double perOwnPrice = 2.0;
constexpr double perHighestPrice = 0.5;
// How much dearer a bound becomes that is missed at a look, and the power of that by which a kept one becomes
// cheaper; looks come after so many steps per row in play.
constexpr double dearer = 1.1;
constexpr double relief = 0.5;
constexpr std::size_t stepsPerLook = 2;
// A move that is dearer by more temperatures than this has no chance.
constexpr double farthest = 9.0;
// One move in so many is tried as an exchange.
constexpr std::size_t oneExchangeIn = 2;
// A sum misses its bound by more than this in mean amounts: less is rounding of many small changes.
constexpr double rounding = 1e-9;

// Two numbers from one: a walk draws millions, and a division for each would take most of its time.
class TwoDraws {
public:
    explicit TwoDraws(Random& random) : bits_(random()) {}
    std::size_t highBelow(std::size_t n) const { return ((bits_ >> 32) * n) >> 32; }
    std::size_t lowBelow(std::size_t n) const { return ((bits_ & 0xffffffffu) * n) >> 32; }

private:
    std::uint64_t bits_;
};

} // namespace

ResourceWalk::ResourceWalk(const ResourceProblem& problem, const RowPricer& pricer,
                           std::span<const double> prices, std::span<const std::int32_t> labels,
                           std::size_t nChoices)
    : problem_(problem), leastWeight_(prices.size()), penalties_(problem.nClusters),
      members_(problem.nClusters), bestCost_(infinity) {
    std::vector<double> highest(problem.nRules());
    std::vector<double> binding;
    for (std::size_t e = 0; e != prices.size(); ++e) {
        const double price = std::abs(prices[e]);
        highest[e % problem.nRules()] = std::max(highest[e % problem.nRules()], price);
        if (price > 0.0)
            binding.push_back(price);
    }
    for (std::size_t e = 0; e != prices.size(); ++e)
        leastWeight_[e] = perOwnPrice * std::abs(prices[e]) + perHighestPrice * highest[e % problem.nRules()];
    weights_ = leastWeight_;
    if (binding.empty())
        return; // nothing binds: nothing to walk for
    warmest_ = firstTemperature * nthOf(binding, binding.size() / 2);
    // A rule that binds nowhere yet may do so on the way.
    for (double& weight : weights_)
        weight = std::max(weight, warmest_);
    leastWeight_ = weights_;
    choose(pricer, labels, nChoices);
    begin(labels);
}

// Puts rows into play that have a choice of little regret.
void ResourceWalk::choose(const RowPricer& pricer, std::span<const std::int32_t> labels,
                          std::size_t nChoices) {
    const std::size_t k = problem_.nClusters;
    const std::size_t n = problem_.nRows();
    std::vector<double> priced(k);
    std::vector<double> regrets;
    regrets.reserve(n * (k - 1));
    for (std::size_t row = 0; row != n; ++row) {
        const LeastTwo least = pricer.priceRow(row, priced.data());
        for (std::size_t j = 0; j != k; ++j)
            if (j != least.best)
                regrets.push_back(priced[j] - least.first);
    }
    const double widest = nChoices < regrets.size() ? nthOf(regrets, nChoices) : infinity;
    for (std::size_t row = 0; row != n; ++row) {
        const LeastTwo least = pricer.priceRow(row, priced.data());
        const auto home = static_cast<std::size_t>(labels[row]);
        if (least.gap() > widest && home == least.best)
            continue;
        Player player{row, choices_.size(), 0, 0, 0};
        for (std::size_t j = 0; j != k; ++j) {
            if (j == home)
                player.now = choices_.size();
            if (j == home || priced[j] - least.first <= widest)
                choices_.push_back({j, problem_.cost(row)[j]});
        }
        player.last = choices_.size();
        players_.push_back(player);
    }
}

void ResourceWalk::begin(std::span<const std::int32_t> labels) {
    const std::size_t nRules = problem_.nRules();
    for (Player& player : players_) {
        for (std::size_t r = 0; r != nRules; ++r)
            held_.push_back(problem_.ruleOf(r, problem_.amount(player.row)));
        std::vector<std::size_t>& members = members_[choices_[player.now].cluster];
        player.place = members.size();
        members.push_back(static_cast<std::size_t>(&player - players_.data()));
        cost_ += choices_[player.now].cost;
    }
    values_.resize(problem_.low.size());
    for (std::size_t row = 0; row != problem_.nRows(); ++row)
        for (std::size_t r = 0; r != nRules; ++r)
            values_[static_cast<std::size_t>(labels[row]) * nRules + r] +=
                problem_.ruleOf(r, problem_.amount(row));
}

bool ResourceWalk::run(std::span<std::int32_t> labels, double warmth, std::size_t nSteps, std::uint64_t seed,
                       TimePoint deadline) {
    if (players_.empty())
        return false;
    Random random(seed);
    const std::size_t nLooks = std::max<std::size_t>(1, nSteps / (stepsPerLook * players_.size()));
    for (std::size_t look = 0; look != nLooks && !isPast(deadline); ++look) {
        const double done = static_cast<double>(look) / static_cast<double>(nLooks);
        const double temperature = warmest_ * warmth * std::pow(falling / warmth, done);
        adapt();
        for (std::size_t step = 0; step != stepsPerLook * players_.size(); ++step) {
            if (tryMove(draw(random), temperature, random) && keepsAll())
                remember();
        }
    }
    if (best_.empty())
        return false;
    for (std::size_t i = 0; i != players_.size(); ++i)
        labels[players_[i].row] = static_cast<std::int32_t>(choices_[best_[i]].cluster);
    return true;
}

// Makes bounds that are missed dearer, and others cheaper.
void ResourceWalk::adapt() {
    const double cheaper = std::pow(dearer, -relief);
    for (std::size_t e = 0; e != values_.size(); ++e)
        weights_[e] = missedBy(e, values_[e]) > 0.0 ? weights_[e] * dearer
                                                    : std::max(leastWeight_[e], weights_[e] * cheaper);
    for (std::size_t j = 0; j != problem_.nClusters; ++j)
        penalties_[j] = penaltyOf(j);
}

ResourceWalk::Move ResourceWalk::draw(Random& random) const {
    const TwoDraws first(random);
    const std::size_t i = first.highBelow(players_.size());
    const Player& player = players_[i];
    std::size_t to = player.first + first.lowBelow(player.last - player.first - 1);
    to += to >= player.now ? 1 : 0;
    const std::vector<std::size_t>& there = members_[choices_[to].cluster];
    const TwoDraws second(random);
    if (there.empty() || second.highBelow(oneExchangeIn) != 0)
        return {i, to, false, 0, 0};
    const std::size_t other = there[second.lowBelow(there.size())];
    for (std::size_t back = players_[other].first; back != players_[other].last; ++back)
        if (choices_[back].cluster == choices_[player.now].cluster)
            return {i, to, true, other, back};
    return {i, to, false, 0, 0};
}

bool ResourceWalk::tryMove(const Move& move, double temperature, Random& random) {
    const std::size_t from = choices_[players_[move.player].now].cluster;
    const std::size_t to = choices_[move.to].cluster;
    const double cost = costOf(move);
    const double gain = penalties_[from] + penalties_[to] - cost;
    if (gain < -farthest * temperature)
        return false; // whatever the bounds say, and by far the most frequent case
    const double left = penaltyAfter(from, move, -1.0);
    const double joined = penaltyAfter(to, move, 1.0);
    const double change = left + joined - gain;
    if (change > 0.0 && std::exp(-change / temperature) <= drawUnit(random))
        return false;
    cost_ += cost;
    go(move.player, move.to);
    if (move.isExchange)
        go(move.other, move.back);
    penalties_[from] = left;
    penalties_[to] = joined;
    return true;
}

double ResourceWalk::costOf(const Move& move) const {
    const double cost = choices_[move.to].cost - choices_[players_[move.player].now].cost;
    return move.isExchange ? cost + choices_[move.back].cost - choices_[players_[move.other].now].cost : cost;
}

double ResourceWalk::missedBy(std::size_t entry, double value) const {
    const double missed = std::max(problem_.low[entry] - value, value - problem_.high[entry]);
    return missed > rounding ? missed : 0.0;
}

double ResourceWalk::penaltyOf(std::size_t cluster) const {
    double total = 0.0;
    for (std::size_t e = cluster * problem_.nRules(); e != (cluster + 1) * problem_.nRules(); ++e)
        total += weights_[e] * missedBy(e, values_[e]);
    return total;
}

// What a cluster pays once the move's rows have come (sign 1) or gone (-1).
double ResourceWalk::penaltyAfter(std::size_t cluster, const Move& move, double sign) const {
    const std::size_t nRules = problem_.nRules();
    const double* coming = held_.data() + move.player * nRules;
    const double* going = held_.data() + move.other * nRules;
    double total = 0.0;
    for (std::size_t r = 0; r != nRules; ++r) {
        const std::size_t e = cluster * nRules + r;
        const double added = move.isExchange ? coming[r] - going[r] : coming[r];
        total += weights_[e] * missedBy(e, values_[e] + sign * added);
    }
    return total;
}

void ResourceWalk::go(std::size_t i, std::size_t to) {
    const std::size_t nRules = problem_.nRules();
    Player& player = players_[i];
    std::vector<std::size_t>& left = members_[choices_[player.now].cluster];
    std::vector<std::size_t>& joined = members_[choices_[to].cluster];
    for (std::size_t r = 0; r != nRules; ++r) {
        values_[choices_[player.now].cluster * nRules + r] -= held_[i * nRules + r];
        values_[choices_[to].cluster * nRules + r] += held_[i * nRules + r];
    }
    players_[left.back()].place = player.place;
    left[player.place] = left.back();
    left.pop_back();
    player.now = to;
    player.place = joined.size();
    joined.push_back(i);
}

bool ResourceWalk::keepsAll() const {
    return std::ranges::all_of(penalties_, [](double penalty) { return penalty == 0.0; });
}

void ResourceWalk::remember() {
    if (cost_ >= bestCost_)
        return;
    bestCost_ = cost_;
    best_.resize(players_.size());
    std::ranges::transform(players_, best_.begin(), [](const Player& player) { return player.now; });
}

} // namespace konstrain
