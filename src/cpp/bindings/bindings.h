#pragma once

#include <nanobind/nanobind.h>

// One function per part of the core; each adds its kernels to the module.
void bindAssignment(nanobind::module_& m);
void bindBaselines(nanobind::module_& m);
void bindBoxes(nanobind::module_& m);
void bindConstraints(nanobind::module_& m);
void bindDils(nanobind::module_& m);
void bindDistances(nanobind::module_& m);
void bindLinkMetrics(nanobind::module_& m);
void bindListedTransport(nanobind::module_& m);
void bindSdp(nanobind::module_& m);
void bindSearch(nanobind::module_& m);
void bindSplitting(nanobind::module_& m);
void bindPricing(nanobind::module_& m);
void bindSuggest(nanobind::module_& m);
void bindPriced(nanobind::module_& m);
