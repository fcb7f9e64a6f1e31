#include "core_rows.h"

#include <algorithm>
#include <limits>

#include "infinity.h"
#include "median_gap.h"

namespace konstrain::transport {

namespace {

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

} // namespace

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

} // namespace konstrain::transport
