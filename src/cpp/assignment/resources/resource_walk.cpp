#include "resource_walk.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "infinity.h"

namespace konstrain {

namespace {

// The first temperature, in a high price of the rules that bind (above this part of them), and how far it
// falls: prices differ by orders of magnitude, and each has its time on the way.
constexpr double firstTemperature = 0.3;
constexpr double highPrice = 0.8;
constexpr double falling = 1.0 / 30.0;
// What missing a bound costs at least: its own price so many times, and parts of its rule's highest price and
// of a high price of all.
constexpr double perOwnPrice = 2.0;
constexpr double perHighestPrice = 0.2;
constexpr double perHighPrice = 0.3;
// How much dearer a bound becomes that is missed at a look, and the power of that by which a kept one becomes
// cheaper; looks come after so many steps per row in play.
constexpr double dearer = 1.1;
constexpr double relief = 0.2;
constexpr std::size_t stepsPerLook = 1;
// A sum misses its bound by more than this in mean amounts: less is rounding of many small changes.
constexpr double rounding = 1e-9;

// How many temperatures dearer a move may be, by chance: the logarithms of so many even draws.
constexpr std::size_t nChances = 4096;
const std::array<double, nChances>& chances() {
    static const auto table = [] {
        std::array<double, nChances> all{};
        for (std::size_t i = 0; i != nChances; ++i)
            all[i] = -std::log((static_cast<double>(i) + 0.5) / static_cast<double>(nChances));
        return all;
    }();
    return table;
}

// A part of the bits of one draw as a number below n: a walk draws millions, and a division for each would
// take most of its time.
template <int first, int count> std::size_t below(std::size_t n, std::uint64_t bits) {
    return (((bits >> first) & ((1u << count) - 1u)) * n) >> count;
}

} // namespace

ResourceWalk::ResourceWalk(const ResourceProblem& problem, const RowPricer& pricer,
                           std::span<const double> prices, std::span<const std::int32_t> labels,
                           std::size_t nChoices)
    : problem_(problem), moving_(problem.nRules()), penalties_(problem.nClusters), bestCost_(infinity) {
    std::vector<double> highest(problem.nRules());
    std::vector<double> binding;
    for (std::size_t e = 0; e != prices.size(); ++e) {
        const double price = std::abs(prices[e]);
        highest[e % problem.nRules()] = std::max(highest[e % problem.nRules()], price);
        if (price > 0.0)
            binding.push_back(price);
    }
    if (binding.empty())
        return; // nothing binds: nothing to walk for
    const double high =
        nthOf(binding, static_cast<std::size_t>(highPrice * static_cast<double>(binding.size())));
    warmest_ = firstTemperature * high;
    // A rule that binds nowhere yet may do so on the way.
    for (std::size_t e = 0; e != prices.size(); ++e)
        weights_.push_back(
            std::max(perOwnPrice * std::abs(prices[e]) + perHighestPrice * highest[e % problem.nRules()],
                     perHighPrice * high));
    leastWeight_ = weights_;
    choose(pricer, labels, nChoices);
    numberArcs();
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
        const auto first = static_cast<std::uint32_t>(choices_.size());
        Player player{row, first, first, first, 0};
        for (std::size_t j = 0; j != k; ++j) {
            if (j != home && priced[j] - least.first > widest)
                continue;
            if (j == home)
                player.now = player.last;
            choices_.push_back({static_cast<std::uint32_t>(players_.size()), static_cast<std::uint32_t>(j),
                                problem_.cost(row)[j], 0, 0});
            ++player.last;
        }
        players_.push_back(player);
    }
}

// Numbers the pairs of clusters between which some player may go.
void ResourceWalk::numberArcs() {
    std::vector<std::uint64_t> pairs;
    const auto pairOf = [&](std::uint32_t from, std::uint32_t to) {
        return static_cast<std::uint64_t>(choices_[from].cluster) << 32 | choices_[to].cluster;
    };
    for (Player& player : players_) {
        player.arcs = pairs.size();
        for (std::uint32_t from = player.first; from != player.last; ++from)
            for (std::uint32_t to = player.first; to != player.last; ++to)
                pairs.push_back(pairOf(from, to));
    }
    std::vector<std::uint64_t> known = pairs;
    std::ranges::sort(known);
    known.erase(std::ranges::unique(known).begin(), known.end());
    const auto numberOf = [&](std::uint64_t pair) {
        return static_cast<std::uint32_t>(std::ranges::lower_bound(known, pair) - known.begin());
    };
    std::ranges::transform(pairs, std::back_inserter(arcOf_), numberOf);
    std::ranges::transform(known, std::back_inserter(reverse_),
                           [&](std::uint64_t pair) { return numberOf(pair << 32 | pair >> 32); });
    arcs_.resize(known.size());
}

void ResourceWalk::begin(std::span<const std::int32_t> labels) {
    const std::size_t nRules = problem_.nRules();
    for (const Player& player : players_) {
        for (std::size_t r = 0; r != nRules; ++r)
            held_.push_back(problem_.ruleOf(r, problem_.amount(player.row)));
        for (std::uint32_t c = player.first; c != player.last; ++c)
            if (c != player.now) {
                choices_[c].placeAmongOthers = static_cast<std::uint32_t>(others_.size());
                others_.push_back(c);
            }
        enterArcs(player);
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
    if (others_.empty())
        return false;
    Random random(seed);
    const std::size_t perLook = stepsPerLook * players_.size();
    const std::size_t nLooks = std::max<std::size_t>(1, nSteps / perLook);
    for (std::size_t look = 0; look != nLooks && !isPast(deadline); ++look) {
        const double done = static_cast<double>(look) / static_cast<double>(nLooks);
        const double temperature = warmest_ * warmth * std::pow(falling / warmth, done);
        adapt();
        for (std::size_t step = 0; step != perLook; ++step) {
            const std::uint64_t bits = random();
            const double chance = chances()[bits % nChances];
            if (tryMove(draw(bits), chance * temperature) && nMissing_ == 0)
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
    nMissing_ = 0;
    for (std::size_t j = 0; j != problem_.nClusters; ++j) {
        penalties_[j] = penaltyWith(j, 0.0);
        nMissing_ += penalties_[j] > 0.0;
    }
}

// The lowest bits are the chance's.
ResourceWalk::Move ResourceWalk::draw(std::uint64_t bits) const {
    const std::uint32_t to = others_[below<40, 24>(others_.size(), bits)];
    const Player& player = players_[choices_[to].player];
    const std::vector<std::uint32_t>& back = arcs_[reverse_[arcOf(player, player.now, to)]];
    if (back.empty() || (bits >> 12 & 1) != 0)
        return {to, false, 0};
    return {to, true, back[below<16, 24>(back.size(), bits)]};
}

double ResourceWalk::costOf(std::uint32_t to) const {
    return choices_[to].cost - choices_[players_[choices_[to].player].now].cost;
}

// Takes a move that makes all no dearer than by this.
bool ResourceWalk::tryMove(const Move& move, double most) {
    const std::size_t nRules = problem_.nRules();
    const std::size_t player = choices_[move.to].player;
    const std::size_t from = choices_[players_[player].now].cluster;
    const std::size_t to = choices_[move.to].cluster;
    const double cost = costOf(move.to) + (move.isExchange ? costOf(move.back) : 0.0);
    const double before = cost - penalties_[from] - penalties_[to];
    if (before > most)
        return false; // whatever the bounds say, and by far the most frequent case
    std::copy_n(held_.data() + player * nRules, nRules, moving_.data());
    if (move.isExchange)
        for (std::size_t r = 0; r != nRules; ++r)
            moving_[r] -= held_[choices_[move.back].player * nRules + r];
    const double left = penaltyWith(from, -1.0);
    if (before + left > most)
        return false;
    const double joined = penaltyWith(to, 1.0);
    if (before + left + joined > most)
        return false;
    for (const auto& [cluster, penalty] : {std::pair{from, left}, std::pair{to, joined}}) {
        nMissing_ -= penalties_[cluster] > 0.0;
        nMissing_ += penalty > 0.0;
        penalties_[cluster] = penalty;
    }
    cost_ += cost;
    go(move.to);
    if (move.isExchange)
        go(move.back);
    return true;
}

double ResourceWalk::missedBy(std::size_t entry, double value) const {
    const double missed = std::max(problem_.low[entry] - value, value - problem_.high[entry]);
    return missed > rounding ? missed : 0.0;
}

// What a cluster pays once what moves has come (sign 1) or gone (-1).
double ResourceWalk::penaltyWith(std::size_t cluster, double sign) const {
    double total = 0.0;
    for (std::size_t r = 0; r != moving_.size(); ++r) {
        const std::size_t e = cluster * moving_.size() + r;
        total += weights_[e] * missedBy(e, values_[e] + sign * moving_[r]);
    }
    return total;
}

void ResourceWalk::enterArcs(const Player& player) {
    for (std::uint32_t c = player.first; c != player.last; ++c)
        if (c != player.now) {
            std::vector<std::uint32_t>& arc = arcs_[arcOf(player, player.now, c)];
            choices_[c].placeInArc = static_cast<std::uint32_t>(arc.size());
            arc.push_back(c);
        }
}

void ResourceWalk::leaveArcs(const Player& player) {
    for (std::uint32_t c = player.first; c != player.last; ++c)
        if (c != player.now) {
            std::vector<std::uint32_t>& arc = arcs_[arcOf(player, player.now, c)];
            arc[choices_[c].placeInArc] = arc.back();
            choices_[arc.back()].placeInArc = choices_[c].placeInArc;
            arc.pop_back();
        }
}

void ResourceWalk::go(std::uint32_t to) {
    const std::size_t nRules = problem_.nRules();
    Player& player = players_[choices_[to].player];
    const std::uint32_t from = player.now;
    const double* held = held_.data() + choices_[to].player * nRules;
    for (std::size_t r = 0; r != nRules; ++r) {
        values_[choices_[from].cluster * nRules + r] -= held[r];
        values_[choices_[to].cluster * nRules + r] += held[r];
    }
    leaveArcs(player);
    player.now = to;
    enterArcs(player);
    choices_[from].placeAmongOthers = choices_[to].placeAmongOthers;
    others_[choices_[from].placeAmongOthers] = from;
}

void ResourceWalk::remember() {
    if (cost_ >= bestCost_)
        return;
    bestCost_ = cost_;
    best_.resize(players_.size());
    std::ranges::transform(players_, best_.begin(), [](const Player& player) { return player.now; });
}

} // namespace konstrain
