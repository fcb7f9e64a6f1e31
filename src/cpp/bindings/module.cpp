#include <nanobind/nanobind.h>

// One function per part of the core, in its namespace; each adds its kernels to the module, in this order.
#define KONSTRAIN_FOR_EACH_PART(DO)                                                                          \
    DO(konstrain, bindAssignment)                                                                            \
    DO(konstrain::baselines, bindBaselines)                                                                  \
    DO(konstrain::exact, bindBoxes)                                                                          \
    DO(konstrain::constraints, bindConstraints)                                                              \
    DO(konstrain::baselines, bindDils)                                                                       \
    DO(konstrain::kmeans, bindDistances)                                                                     \
    DO(konstrain::link_metrics, bindLinkMetrics)                                                             \
    DO(konstrain::transport, bindListedTransport)                                                            \
    DO(konstrain::exact, bindPricing)                                                                        \
    DO(konstrain::priced, bindPriced)                                                                        \
    DO(konstrain::exact, bindSdp)                                                                            \
    DO(konstrain::search, bindSearch)                                                                        \
    DO(konstrain::exact, bindSplitting)                                                                      \
    DO(konstrain::suggest, bindSuggest)

#define KONSTRAIN_DECLARE(space, bind)                                                                       \
    namespace space {                                                                                        \
    void bind(nanobind::module_& m);                                                                         \
    }
KONSTRAIN_FOR_EACH_PART(KONSTRAIN_DECLARE)

NB_MODULE(_core, m) {
    m.doc() = "Compiled kernels of konstrain; see src/cpp/README.md.";
#define KONSTRAIN_CALL(space, bind) space::bind(m);
    KONSTRAIN_FOR_EACH_PART(KONSTRAIN_CALL)
}
