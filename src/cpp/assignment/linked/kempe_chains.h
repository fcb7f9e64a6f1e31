#pragma once

#include <cstdint>
#include <span>

#include "potts.h"

namespace konstrain::linked {

// Improves colours that keep all links, which must be hard: exchanges two colours within one of the parts
// that the nodes of these two colours fall into (Kempe chains), as long as some exchange gains more than
// `least` of the total.
void improveByChains(const Potts& potts, std::span<std::int32_t> colours, double least);

} // namespace konstrain::linked
