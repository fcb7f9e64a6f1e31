#pragma once

#include <nanobind/nanobind.h>

// One function per part of the core, in its namespace; each adds its kernels to the module.
namespace konstrain {
void bindAssignment(nanobind::module_& m);
} // namespace konstrain
namespace konstrain::baselines {
void bindBaselines(nanobind::module_& m);
void bindDils(nanobind::module_& m);
} // namespace konstrain::baselines
namespace konstrain::constraints {
void bindConstraints(nanobind::module_& m);
} // namespace konstrain::constraints
namespace konstrain::exact {
void bindBoxes(nanobind::module_& m);
void bindPricing(nanobind::module_& m);
void bindSdp(nanobind::module_& m);
void bindSplitting(nanobind::module_& m);
} // namespace konstrain::exact
namespace konstrain::kmeans {
void bindDistances(nanobind::module_& m);
} // namespace konstrain::kmeans
namespace konstrain::link_metrics {
void bindLinkMetrics(nanobind::module_& m);
} // namespace konstrain::link_metrics
namespace konstrain::priced {
void bindPriced(nanobind::module_& m);
} // namespace konstrain::priced
namespace konstrain::search {
void bindSearch(nanobind::module_& m);
} // namespace konstrain::search
namespace konstrain::suggest {
void bindSuggest(nanobind::module_& m);
} // namespace konstrain::suggest
namespace konstrain::transport {
void bindListedTransport(nanobind::module_& m);
} // namespace konstrain::transport
