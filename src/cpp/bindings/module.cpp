#include "bindings.h"

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of konstrain; see src/cpp/README.md.";
    bindAssignment(m);
    bindBaselines(m);
    bindBoxes(m);
    bindConstraints(m);
    bindDils(m);
    bindDistances(m);
    bindLinkMetrics(m);
    bindListedTransport(m);
    bindPricing(m);
    bindPriced(m);
    bindSdp(m);
    bindSearch(m);
    bindSplitting(m);
    bindSuggest(m);
}
