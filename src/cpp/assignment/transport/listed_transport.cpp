#include "listed_transport.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "candidate_lists.h"
#include "listed_paths.h"
#include "share_prices.h"

namespace konstrain {

namespace {

bool verbose() { static const bool v = std::getenv("KV") != nullptr; return v; }
double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double boundTerm(std::span<const double> prices, std::span<const std::int64_t> lower,
                 std::span<const std::int64_t> upper) {
    double sum = 0.0;
    for (std::size_t j = 0; j != prices.size(); ++j)
        sum += prices[j] * static_cast<double>(prices[j] > 0.0 ? upper[j] : lower[j]);
    return sum;
}

} // namespace

TransportResult solveListedTransport(CostSource& source, std::span<const std::int64_t> lower,
                                     std::span<const std::int64_t> upper, std::span<double> prices,
                                     std::span<std::int32_t> labels, const ListedOptions& options) {
    double t0 = now();
    const auto lap = [&](const char* what) { if (verbose()) std::printf("  %-12s %.1f ms\n", what, 1e3*(now()-t0)); t0 = now(); };
    CandidateLists lists(source, options.listLength, options.nThreads);
    lists.makeAll(prices, options.deadline);
    lap("lists");
    SharePrices shares(lists, lower, upper);
    const double gap = shares.medianGap(prices);
    const char* sched = std::getenv("KS");
    double tau = gap * (options.isWarm ? 0.5 : 1.0);
    const int cold[] = {8,4,3,8}, warm[] = {3,3,3,4};
    for (int level = 0; gap > 0 && level != 4; ++level, tau /= 4) {
        int n = options.isWarm ? warm[level] : cold[level];
        if (sched) n = sched[level]-'0';
        for (int s = 0; s != n; ++s) {
            shares.measure(prices, tau);
            if (verbose()) std::printf("    tau %.3g excess %ld\n", tau, (long)shares.excess());
            shares.step(prices);
        }
        if (level == 0) { lap("newton"); const auto m = lists.nMade(); lists.rebase(prices, options.deadline); if (verbose()) std::printf("   remade %zu\n", lists.nMade()-m); lap("rebase"); }
    }
    lap("newton");
    { const auto m = lists.nMade(); lists.rebase(prices, options.deadline); if (verbose()) std::printf("   remade %zu\n", lists.nMade()-m); lap("rebase"); }
    for (std::size_t row = 0; row != labels.size(); ++row) {
        const auto [c, j, len] = lists[row];
        double least = infinity;
        for (std::size_t e = 0; e != len; ++e)
            if (const double v = c[e] + prices[static_cast<std::size_t>(j[e])]; v < least) { least = v; labels[row] = j[e]; }
    }
    lap("labels");
    const auto m = lists.nMade();
    ListedPaths paths(lists, prices, labels, lower, upper);
    const auto status = paths.run(options.deadline);
    if (verbose()) std::printf("   paths %zu remade %zu wide %zu\n", paths.nPaths(), lists.nMade()-m, lists.nWide());
    lap("paths");
    double cost = 0.0, priced = 0.0;
    for (std::size_t row = 0; row != labels.size(); ++row) {
        cost += paths.ownCosts()[row];
        priced += std::min(lists.leastOnList(row, prices), paths.ownCosts()[row] + prices[static_cast<std::size_t>(labels[row])]);
    }
    lap("proof");
    return {cost, priced - boundTerm(prices, lower, upper), status == ListedPaths::Status::Balanced};
}

} // namespace konstrain
