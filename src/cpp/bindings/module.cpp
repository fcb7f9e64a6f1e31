#include "bindings.h"

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of konstrain; see src/cpp/README.md.";
    konstrain::bindAssignment(m);
    konstrain::baselines::bindBaselines(m);
    konstrain::exact::bindBoxes(m);
    konstrain::constraints::bindConstraints(m);
    konstrain::baselines::bindDils(m);
    konstrain::kmeans::bindDistances(m);
    konstrain::link_metrics::bindLinkMetrics(m);
    konstrain::transport::bindListedTransport(m);
    konstrain::exact::bindPricing(m);
    konstrain::priced::bindPriced(m);
    konstrain::exact::bindSdp(m);
    konstrain::search::bindSearch(m);
    konstrain::exact::bindSplitting(m);
    konstrain::suggest::bindSuggest(m);
}
