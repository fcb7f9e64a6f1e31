#include "transport.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "cluster_graph.h"
#include "fit_sizes.h"
#include "flow_search.h"
#include "infinity.h"
#include "median_gap.h"
#include "priced_bounds.h"
#include "priced_rows.h"

namespace konstrain::transport {

namespace {

struct Params {
    // Rows of the reduced problem per row in excess and per cluster; larger: it is solved more slowly and
    // proves too small less often.
    std::size_t rowsPerExcess = 3;
    std::size_t rowsPerCluster = 16;
    // Cheapest rows stored per arc; larger: more memory, and lists run empty less often.
    std::size_t listLength = 8;
};
constexpr Params params;

// The rows nearest to a change of cluster, copied together so that the search stays in cache.
struct CoreRows {
    bool isEverything = false;
    double margin = 0.0; // rows outside prefer their label by more than this
    std::vector<std::int32_t> rows;
    std::vector<double> costs;
    std::vector<std::int32_t> labels;
};

// The value below which about `nWanted` of the gaps lie, from every n-th of them.
float gapQuantile(std::span<const float> gaps, std::size_t nWanted) {
    const std::size_t step = std::max<std::size_t>(1, nWanted / sampleRows);
    std::vector<float> sample;
    sample.reserve(gaps.size() / step + 1);
    for (std::size_t i = 0; i < gaps.size(); i += step)
        sample.push_back(gaps[i]);
    const auto place =
        sample.begin() + static_cast<std::ptrdiff_t>(std::min(nWanted / step, sample.size() - 1));
    std::nth_element(sample.begin(), place, sample.end());
    return *place;
}

// Takes about `nWanted` rows with the smallest gaps. When that is a good part of all rows, nothing is copied
// and `isEverything` is set.
CoreRows chooseCoreRows(std::span<const double> costs, std::size_t nClusters,
                        std::span<const std::int32_t> labels, std::span<const float> gaps,
                        std::size_t nWanted) {
    CoreRows core;
    const float limit = nWanted < gaps.size() / 2 ? gapQuantile(gaps, nWanted) : 0.0F;
    if (nWanted < gaps.size() / 2)
        for (std::size_t i = 0; i != gaps.size(); ++i)
            if (gaps[i] <= limit)
                core.rows.push_back(static_cast<std::int32_t>(i));
    // With many equal gaps the limit may let in more rows than wanted.
    if (nWanted >= gaps.size() / 2 || core.rows.size() > gaps.size() / 2) {
        core.isEverything = true;
        core.margin = infinity;
        core.rows.clear();
        return core;
    }
    // Gaps were rounded to floats.
    core.margin =
        static_cast<double>(limit) * (1.0 - 2.0 * static_cast<double>(std::numeric_limits<float>::epsilon()));
    core.costs.resize(core.rows.size() * nClusters);
    core.labels.reserve(core.rows.size());
    for (std::size_t n = 0; n != core.rows.size(); ++n) {
        const auto row = static_cast<std::size_t>(core.rows[n]);
        std::copy_n(costs.data() + row * nClusters, nClusters, core.costs.data() + n * nClusters);
        core.labels.push_back(labels[row]);
    }
    return core;
}

// One problem of the nested sequence: all rows, or a sample of them with bounds to scale.
class Level {
public:
    Level(std::span<const double> costs, std::span<const std::int64_t> lower,
          std::span<const std::int64_t> upper, std::span<std::int32_t> labels,
          const TransportOptions& options)
        : costs_(costs), lower_(lower), upper_(upper), labels_(labels), gaps_(labels.size()),
          sizes_(lower.size()), options_(options) {}

    // A level whose rows are in their cheapest clusters already.
    Level(std::span<const double> costs, std::span<const std::int64_t> lower,
          std::span<const std::int64_t> upper, std::span<std::int32_t> labels, PricedRows priced,
          const TransportOptions& options)
        : costs_(costs), lower_(lower), upper_(upper), labels_(labels), gaps_(std::move(priced.gaps)),
          sizes_(std::move(priced.sizes)), sums_(priced.sums), options_(options) {}

    TransportResult solve(std::span<double> duals);
    TransportResult solveLabelled(std::span<double> duals) { return solveFrom(duals, spread(duals)); }

private:
    std::size_t nRows() const { return labels_.size(); }
    std::size_t nClusters() const { return lower_.size(); }

    bool isOutOfTime() const { return isPast(options_.deadline); }
    bool isLargeForSamples() const;
    void priceBySample(std::span<double> duals);
    std::int64_t label(std::span<const double> duals);
    std::int64_t spread(std::span<const double> duals);
    std::size_t coreRows(std::int64_t excess) const;
    std::size_t listLength(std::size_t nCoreRows) const;
    TransportResult solveFrom(std::span<double> duals, std::int64_t excess);
    TransportResult finish(std::span<double> duals, std::int64_t excess);
    FlowSearch::Status balance(const CoreRows& core, std::span<double> duals);
    TransportResult accept(const CoreRows& core, std::span<const std::int32_t> coreLabels,
                           std::span<const double> before, std::span<const double> duals);
    TransportResult giveUp(std::span<const double> duals);

    std::span<const double> costs_;
    std::span<const std::int64_t> lower_;
    std::span<const std::int64_t> upper_;
    std::span<std::int32_t> labels_;
    std::vector<float> gaps_;
    std::vector<std::int64_t> sizes_;
    PricedSums sums_;
    TransportResult result_;
    const TransportOptions& options_;
};

// How much sizes miss their bounds at duals from a good sample: the size of a cluster is a sum of n draws,
// with a standard deviation of about sqrt(n / k), and k clusters add up to sqrt(n k).
double usualExcess(std::size_t nRows, std::size_t nClusters) {
    return std::sqrt(static_cast<double>(nRows) * static_cast<double>(nClusters));
}

std::vector<double> sampleOf(std::span<const double> costs, std::size_t nClusters) {
    const std::size_t nSampled = costs.size() / nClusters / sampleRatio;
    std::vector<double> sample(nSampled * nClusters);
    for (std::size_t n = 0; n != nSampled; ++n) {
        const std::size_t row = sampledRow(n, sampleRatio);
        std::copy_n(costs.data() + row * nClusters, nClusters, sample.data() + n * nClusters);
    }
    return sample;
}

// Moves rows that prefer several clusters equally from those with an excess to those with a shortage (a
// negative one), and returns what that adds to the cost without duals. Equal rows come in thousands where
// data are counts or categories; moving them one path at a time would take as many searches.
double spreadTies(std::span<const double> costs, std::span<const double> duals, std::span<const float> gaps,
                  std::span<std::int64_t> excess, std::span<std::int32_t> labels) {
    const std::size_t nClusters = duals.size();
    double added = 0.0;
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const auto from = static_cast<std::size_t>(labels[row]);
        if (gaps[row] != 0.0F || excess[from] <= 0)
            continue;
        const double* cost = costs.data() + row * nClusters;
        // The gap was rounded to a float; only exact ties are free to move.
        const double least = cost[from] + duals[from];
        for (std::size_t to = 0; to != nClusters; ++to) {
            if (excess[to] >= 0 || cost[to] + duals[to] != least)
                continue;
            --excess[from];
            ++excess[to];
            labels[row] = static_cast<std::int32_t>(to);
            added += cost[to] - cost[from];
            break;
        }
    }
    return added;
}

bool Level::isLargeForSamples() const {
    const std::size_t nSampled = nRows() / sampleRatio;
    if (options_.sampleRows != 0)
        return nSampled >= options_.sampleRows;
    return nSampled >= sampledPerCluster * nClusters();
}

void Level::priceBySample(std::span<double> duals) {
    const std::vector<double> sample = sampleOf(costs_, nClusters());
    const std::size_t nSampled = sample.size() / nClusters();
    const SizeBounds bounds = sampleBounds(lower_, upper_, nRows(), nSampled);
    std::vector<std::int32_t> labels(nSampled);
    TransportOptions options = options_;
    options.trustDuals = false;
    Level(sample, bounds.lower, bounds.upper, labels, options).solve(duals);
}

// Gives each row its cheapest label at these duals and returns by how much the sizes miss their bounds.
std::int64_t Level::label(std::span<const double> duals) {
    sums_ = priceRows(costs_, duals, labels_, gaps_, sizes_);
    return spread(duals);
}

// Lets rows that cost the same elsewhere go to clusters with remaining capacity; returns by how much the
// sizes still miss.
std::int64_t Level::spread(std::span<const double> duals) {
    if (totalExcess(duals, sizes_, lower_, upper_) == 0)
        return 0;
    std::vector<std::int64_t> excess(nClusters());
    for (std::size_t j = 0; j != nClusters(); ++j)
        excess[j] = sizes_[j] - startFlow(duals[j], sizes_[j], lower_[j], upper_[j]);
    const std::vector<std::int64_t> before = excess;
    sums_.cost += spreadTies(costs_, duals, gaps_, excess, labels_);
    for (std::size_t j = 0; j != nClusters(); ++j)
        sizes_[j] += excess[j] - before[j];
    return totalExcess(duals, sizes_, lower_, upper_);
}

std::size_t Level::coreRows(std::int64_t excess) const {
    if (options_.coreRows != 0)
        return options_.coreRows;
    return params.rowsPerExcess * static_cast<std::size_t>(excess) + params.rowsPerCluster * nClusters();
}

std::size_t Level::listLength(std::size_t nCoreRows) const {
    if (options_.listLength != 0)
        return options_.listLength;
    // Longer than what a cluster holds per other cluster, a list would be sorted in vain.
    return std::clamp<std::size_t>(nCoreRows / nClusters() / params.rowsPerCluster, 1, params.listLength);
}

TransportResult Level::solve(std::span<double> duals) {
    dropIdleDuals(duals, lower_, upper_, nRows());
    if (isLargeForSamples() && !options_.trustDuals) {
        priceBySample(duals);
        return finish(duals, label(duals));
    }
    return solveFrom(duals, label(duals));
}

// Takes the duals of a sample where the given ones leave a large excess, then solves the rest by paths.
TransportResult Level::solveFrom(std::span<double> duals, std::int64_t excess) {
    if (isLargeForSamples() && static_cast<double>(excess) > usualExcess(nRows(), nClusters())) {
        priceBySample(duals);
        excess = label(duals);
    }
    return finish(duals, excess);
}

// Moves rows along cheapest paths until the sizes are within bounds. Paths run over a reduced problem, the
// rows nearest to a change of cluster. It ends for certain: each time it proves too small it grows by a
// factor, and the largest one holds all rows.
TransportResult Level::finish(std::span<double> duals, std::int64_t excess) {
    result_ = {sums_.cost, sums_.priced - boundTerm(duals, lower_, upper_), true};
    for (std::size_t growth = 1; excess != 0;) {
        const CoreRows core = chooseCoreRows(costs_, nClusters(), labels_, gaps_, growth * coreRows(excess));
        const FlowSearch::Status status = balance(core, duals);
        if (status == FlowSearch::Status::Balanced)
            break;
        if (status != FlowSearch::Status::LeftTheCore)
            return giveUp(duals);
        excess = label(duals);
        growth *= growthFactor;
        result_ = {sums_.cost, sums_.priced - boundTerm(duals, lower_, upper_), true};
    }
    return result_;
}

FlowSearch::Status Level::balance(const CoreRows& core, std::span<double> duals) {
    const std::vector<double> before(duals.begin(), duals.end());
    const std::span<const double> costs = core.isEverything ? costs_ : std::span<const double>(core.costs);
    const std::span<const std::int32_t> labels = core.isEverything
                                                     ? std::span<const std::int32_t>(labels_)
                                                     : std::span<const std::int32_t>(core.labels);
    ClusterGraph graph({costs, labels, core.margin, before}, nClusters(), listLength(labels.size()));
    FlowSearch search(graph, duals, sizes_, lower_, upper_);
    const FlowSearch::Status status = search.run(options_.deadline);
    const std::vector<double> after = search.duals();
    std::copy(after.begin(), after.end(), duals.begin());
    if (status == FlowSearch::Status::Balanced)
        result_ = accept(core, graph.labels(), before, duals);
    return status;
}

// Takes over the labels of the reduced problem and proves their cost without another pass over the rows
// outside: those keep their label as long as no two duals moved apart by more than its margin.
// The bound at duals p is the sum over rows of min_j (cost + p_j), less what the size bounds take off. For
// rows of the reduced problem it is computed. A row outside with label a preferred a at the old duals by more
// than the margin m; its reduced cost elsewhere fell by at most rise_a - min_j rise_j against that of a. So
// its minimum is at least cost_a + p_a - max(0, rise_a - min_j rise_j - m), which is summed up per cluster.
TransportResult Level::accept(const CoreRows& core, std::span<const std::int32_t> coreLabels,
                              std::span<const double> before, std::span<const double> duals) {
    const std::span<const double> costs = core.isEverything ? costs_ : std::span<const double>(core.costs);
    std::vector<std::int32_t> cheapest(coreLabels.size());
    std::vector<std::int64_t> ignored(nClusters());
    const PricedSums inside = priceRows(costs, duals, cheapest, {}, ignored);

    double costBefore = 0.0;
    double costAfter = 0.0;
    std::vector<std::int64_t> outside(sizes_);
    for (std::size_t n = 0; n != coreLabels.size(); ++n) {
        const std::size_t row = core.isEverything ? n : static_cast<std::size_t>(core.rows[n]);
        const double* cost = costs.data() + n * nClusters();
        costBefore += cost[labels_[row]];
        costAfter += cost[coreLabels[n]];
        --outside[static_cast<std::size_t>(labels_[row])];
        labels_[row] = coreLabels[n];
    }
    const double costOutside = core.isEverything ? 0.0 : sums_.cost - costBefore;
    double bound = costOutside + inside.priced - boundTerm(duals, lower_, upper_);
    double leastRise = duals[0] - before[0];
    for (std::size_t j = 1; j != nClusters(); ++j)
        leastRise = std::min(leastRise, duals[j] - before[j]);
    for (std::size_t j = 0; j != nClusters(); ++j) {
        const double apart = duals[j] - before[j] - leastRise;
        bound += static_cast<double>(outside[j]) * (duals[j] - std::max(0.0, apart - core.margin));
    }
    return {costOutside + costAfter, bound, true};
}

TransportResult Level::giveUp(std::span<const double> duals) {
    label(duals);
    const double bound = sums_.priced - boundTerm(duals, lower_, upper_);
    fitSizes(lower_, upper_, labels_, sizes_, [&](std::size_t row, std::size_t first, const auto& canTake) {
        const double* own = costs_.data() + row * nClusters();
        std::size_t best = first;
        for (std::size_t j = first + 1; j != nClusters(); ++j)
            if (own[j] < own[best] && canTake(j))
                best = j;
        return best;
    });
    double cost = 0.0;
    for (std::size_t row = 0; row != nRows(); ++row)
        cost += costs_[row * nClusters() + static_cast<std::size_t>(labels_[row])];
    return {cost, bound, false};
}

} // namespace

TransportResult solveTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                               std::span<const std::int64_t> upper, std::span<double> duals,
                               std::span<std::int32_t> labels, const TransportOptions& options) {
    assert(!duals.empty() && lower.size() == duals.size() && upper.size() == duals.size());
    assert(costs.size() == labels.size() * duals.size());
    return Level(costs, lower, upper, labels, options).solve(duals);
}

TransportResult solveTransport(std::span<const double> costs, std::span<const std::int64_t> lower,
                               std::span<const std::int64_t> upper, std::span<double> duals,
                               std::span<std::int32_t> labels, PricedRows priced, TransportOptions options) {
    assert(priced.gaps.size() == labels.size() && priced.sizes.size() == duals.size());
    options.trustDuals = true;
    return Level(costs, lower, upper, labels, std::move(priced), options).solveLabelled(duals);
}

} // namespace konstrain::transport
