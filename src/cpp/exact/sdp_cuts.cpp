#include "sdp_cuts.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "hardware.h"
#include "multiversion.h"
#include "tolerances.h"

namespace konstrain::exact {

namespace {

std::int32_t positionOf(std::int32_t i, std::int32_t j, std::size_t size) {
    return std::max(i, j) * static_cast<std::int32_t>(size) + std::min(i, j);
}

std::size_t index(std::int32_t value) {
    assert(value >= 0);
    return static_cast<std::size_t>(value);
}

std::size_t membersOf(const Star& star) {
    return static_cast<std::size_t>(std::ranges::find(star, -1) - star.begin());
}

// Star cuts hold for every clustering. There Z_ij is 1 / W for two blocks of one cluster of weight W and 0
// otherwise. If t members of T share the cluster of the center, the left side is at most (t - t (t - 1) / 2)
// / W, as pairs of T in other clusters only lower it, and t - t (t - 1) / 2 <= 1 for all whole t. With one
// member these are the pair inequalities of Peng and Wei (2007), with two their triangles.

// Appends entries of rows one after the other. Y = D Z D, so an entry of Z is that of Y over
// sqrt(weight_i weight_j). Positions that are zero in every clustering drop out of a row and leave it valid.
class RowWriter {
public:
    RowWriter(OwnedCutRows& rows, std::span<const double> weight, std::span<const std::int32_t> forbidden)
        : rows_(rows), weight_(weight), isForbidden_(weight.size() * weight.size(), false) {
        for (const std::int32_t position : forbidden)
            isForbidden_[index(position)] = true;
    }

    void write(const Star& star) {
        first_ = rows_.position.size();
        squared_ = 0.0;
        add(star[0], star[0], -1.0);
        const std::size_t members = membersOf(star);
        for (std::size_t a = 1; a != members; ++a) {
            add(star[0], star[a], 1.0);
            for (std::size_t b = 1; b != a; ++b)
                add(star[a], star[b], -1.0);
        }
        finish();
    }

private:
    void add(std::int32_t i, std::int32_t j, double value) {
        const std::int32_t position = positionOf(i, j, weight_.size());
        if (isForbidden_[index(position)])
            return;
        const double scaled = value / std::sqrt(weight_[index(i)] * weight_[index(j)]);
        // Off the diagonal, a coefficient stands for two entries of half its size: 2 (s / 2)^2 = s^2 / 2.
        squared_ += i == j ? scaled * scaled : 0.5 * scaled * scaled;
        rows_.position.push_back(position);
        rows_.coefficient.push_back(scaled);
    }

    void finish() {
        const double norm = std::sqrt(squared_);
        for (std::size_t e = first_; e != rows_.coefficient.size(); ++e)
            rows_.coefficient[e] /= norm;
        rows_.norm.push_back(norm);
        rows_.start.push_back(static_cast<std::int64_t>(rows_.position.size()));
    }

    OwnedCutRows& rows_;
    std::span<const double> weight_;
    std::vector<bool> isForbidden_;
    std::size_t first_ = 0;
    double squared_ = 0.0;
};

inline constexpr std::size_t noneExcluded = std::numeric_limits<std::size_t>::max();

// out = from - row, except -infinity at `excluded`; returns the largest. May work in place. One running
// maximum per lane lets the compiler use vectors; a maximum is exact, so lanes do not change it.
KONSTRAIN_MULTIVERSION double subtractRows(std::size_t count, const double* from, const double* row,
                                           double* out, std::size_t excluded) {
    double most[laneCount];
    std::ranges::fill(most, -HUGE_VAL);
    for (std::size_t j = 0; j != count; ++j)
        out[j] = from[j] - row[j];
    if (excluded < count)
        out[excluded] = -HUGE_VAL;
    std::size_t j = 0;
    for (; j + laneCount <= count; j += laneCount)
        for (std::size_t lane = 0; lane != laneCount; ++lane)
            most[lane] = out[j + lane] > most[lane] ? out[j + lane] : most[lane];
    for (; j != count; ++j)
        most[0] = out[j] > most[0] ? out[j] : most[0];
    return *std::ranges::max_element(most);
}

struct StarHash {
    std::size_t operator()(const Star& star) const {
        std::uint64_t hash = 1469598103934665603ULL;
        for (const std::int32_t member : star)
            hash = (hash ^ static_cast<std::uint32_t>(member)) * 1099511628211ULL;
        return static_cast<std::size_t>(hash ^ (hash >> 32U));
    }
};

using StarSet = std::unordered_set<Star, StarHash>;

// The most violated cuts of one kind: a list twice as long as wanted, halved in linear time whenever it is
// full, so that an offer costs constant time on average. The least violation kept then is what later offers
// have to exceed: most are refused by one comparison. Ties are broken by the order of offers, always the
// same.
class Violated {
public:
    Violated(std::size_t most, double least, const StarSet& known)
        : most_(most), least_(least), known_(known) {}

    double least() const { return least_; }

    void offer(double violation, const Star& star) {
        if (violation <= least_ || known_.contains(star))
            return;
        found_.push_back({violation, star});
        if (found_.size() >= 2 * most_)
            halve();
    }

    void appendTo(std::vector<Star>& stars) {
        if (found_.size() > most_)
            halve();
        std::ranges::sort(found_, before);
        for (const Found& found : found_)
            stars.push_back(found.star);
    }

private:
    struct Found {
        double violation;
        Star star;
    };

    static bool before(const Found& a, const Found& b) {
        return a.violation != b.violation ? a.violation > b.violation : a.star < b.star;
    }

    void halve() {
        const auto middle = found_.begin() + static_cast<std::ptrdiff_t>(most_);
        std::ranges::nth_element(found_, middle, before);
        found_.erase(middle, found_.end());
        least_ = std::ranges::max_element(found_, before)->violation;
    }

    std::size_t most_;
    double least_;
    const StarSet& known_;
    std::vector<Found> found_;
};

// Z in full, and for the center at hand the blocks that share its cluster to some degree, most first.
class Separator {
public:
    Separator(LowerMatrix y, std::span<const double> weight, const StarSet& known,
              const SeparationOptions& options)
        : size_(y.size), options_(options), z_(size_ * size_), known_(known),
          pairs_(options.mostOfAKind, options.leastViolation, known),
          triangles_(options.mostOfAKind, options.leastViolation, known),
          larger_(options.mostOfAKind, options.leastStarViolation, known) {
        for (std::size_t i = 0; i != size_; ++i)
            for (std::size_t j = 0; j <= i; ++j)
                z_[i * size_ + j] = z_[j * size_ + i] =
                    std::max(y.values[i * size_ + j], 0.0) / std::sqrt(weight[i] * weight[j]);
    }

    Separation run() {
        for (std::size_t i = 0; i != size_; ++i) {
            gather(i);
            findPairs(i);
            findTriangles(i);
        }
        if (worstTriangle_ < options_.starsBelow)
            findLargerStars();
        Separation result{{}, worstTriangle_};
        pairs_.appendTo(result.stars);
        triangles_.appendTo(result.stars);
        larger_.appendTo(result.stars);
        return result;
    }

private:
    const double* row(std::size_t i) const { return z_.data() + i * size_; }

    // The rows of the near blocks side by side: they are read many times, in their own order. A member j adds
    // at most Z_ij to the violation of the star without it, as Z >= 0: blocks that are left out here as too
    // far cost each cut no more than the violation below which none counts.
    void gather(std::size_t i) {
        const double* z = row(i);
        own_ = z[i];
        near_.clear();
        for (std::size_t j = 0; j != size_; ++j)
            if (j != i && z[j] > options_.leastViolation * own_)
                near_.push_back(static_cast<std::int32_t>(j));
        std::ranges::sort(near_,
                          [z](std::int32_t a, std::int32_t b) { return z[a] != z[b] ? z[a] > z[b] : a < b; });
        const std::size_t count = near_.size();
        nearZ_.resize(count);
        between_.resize(count * count);
        for (std::size_t a = 0; a != count; ++a) {
            nearZ_[a] = z[near_[a]];
            const double* other = row(index(near_[a]));
            for (std::size_t b = 0; b != count; ++b)
                between_[a * count + b] = other[near_[b]];
        }
    }

    static Star makeStar(std::size_t center, std::span<const std::int32_t> members) {
        Star star;
        star.fill(-1);
        star[0] = static_cast<std::int32_t>(center);
        // Insertion keeps the members ascending: they are five at most.
        for (std::size_t count = 0; count != members.size(); ++count) {
            std::size_t at = count + 1;
            for (; at != 1 && star[at - 1] > members[count]; --at)
                star[at] = star[at - 1];
            star[at] = members[count];
        }
        return star;
    }

    void findPairs(std::size_t i) {
        for (std::size_t a = 0; a != near_.size(); ++a) {
            const double violation = (nearZ_[a] - own_) / own_;
            if (violation <= pairs_.least())
                break;
            pairs_.offer(violation, makeStar(i, {{near_[a]}}));
        }
    }

    // O(near^2) per center in the worst case; as Z_ij descend and Z_jl >= 0, both loops end at the first
    // block from which on Z_ij + Z_il - Z_ii is too small.
    void findTriangles(std::size_t i) {
        gain_.resize(near_.size());
        for (std::size_t a = 0; a != near_.size(); ++a) {
            const double spare = nearZ_[a] - own_;
            // Descending order: from some block on, none can be violated.
            const auto end = std::ranges::partition_point(
                nearZ_, [&](double z) { return spare + z > triangles_.least() * own_; });
            const auto last = static_cast<std::size_t>(end - nearZ_.begin());
            if (last <= a + 1)
                break;
            const std::size_t first = a + 1;
            const double most =
                subtractRows(last - first, &nearZ_[first], &between_[a * near_.size() + first], &gain_[first],
                             noneExcluded);
            worstTriangle_ = std::max(worstTriangle_, (spare + most) / own_);
            if ((spare + most) / own_ > triangles_.least())
                offerTriangles(i, a, first, last);
        }
    }

    void offerTriangles(std::size_t i, std::size_t a, std::size_t first, std::size_t last) {
        for (std::size_t b = first; b != last; ++b) {
            const double violation = (nearZ_[a] - own_ + gain_[b]) / own_;
            if (violation > triangles_.least())
                triangles_.offer(violation, makeStar(i, {{near_[a], near_[b]}}));
        }
    }

    void findLargerStars() {
        for (std::size_t i = 0; i != size_; ++i) {
            gather(i);
            for (std::size_t a = 0; a != near_.size(); ++a)
                grow(i, a);
        }
    }

    // Adds the member that gains most while one gains; the last star is then the most violated one. Gains
    // only fall as members come in, which bounds what the places left can bring.
    void grow(std::size_t i, std::size_t first) {
        members_.assign(1, near_[first]);
        gain_ = nearZ_;
        double score = nearZ_[first];
        std::size_t newest = first;
        while (members_.size() + 1 != starWidth) {
            const double most = subtractRows(near_.size(), gain_.data(), &between_[newest * near_.size()],
                                             gain_.data(), newest);
            const auto places = static_cast<double>(starWidth - 1 - members_.size());
            if (most <= tolerances::noise * own_ || score + places * most - own_ <= larger_.least() * own_)
                break;
            newest = static_cast<std::size_t>(std::ranges::find(gain_, most) - gain_.begin());
            score += most;
            members_.push_back(near_[newest]);
        }
        if (members_.size() >= 3)
            larger_.offer((score - own_) / own_, makeStar(i, members_));
    }

    std::size_t size_;
    const SeparationOptions& options_;
    std::vector<double> z_;
    const StarSet& known_;
    Violated pairs_;
    Violated triangles_;
    Violated larger_;
    double own_ = 0.0;               // Z_ii of the center i at hand,
    std::vector<std::int32_t> near_; // the blocks near it, most first,
    std::vector<double> nearZ_;      // their Z_ij,
    std::vector<double> between_;    // and Z among them
    std::vector<std::int32_t> members_;
    std::vector<double> gain_;
    double worstTriangle_ = 0.0;
};

} // namespace

OwnedCutRows buildCutRows(std::span<const Star> stars, std::span<const double> weight,
                          std::span<const std::int32_t> forbidden) {
    OwnedCutRows rows;
    rows.start.push_back(0);
    RowWriter writer(rows, weight, forbidden);
    for (const Star& star : stars)
        writer.write(star);
    return rows;
}

Separation separateCuts(LowerMatrix y, std::span<const double> weight, std::span<const Star> known,
                        const SeparationOptions& options) {
    const StarSet set(known.begin(), known.end());
    return Separator(y, weight, set, options).run();
}

} // namespace konstrain::exact
