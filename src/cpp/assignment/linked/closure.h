#pragma once

#include "potts.h"

namespace konstrain::linked {

// The same problem with all colours forbidden that some optimum does without (persistency closure).
//
// Every node starts with its cheapest colour alone. A node has an escape colour e: the one that minimises its
// cost plus the links it could break there, given the colours its neighbours keep. Colours that cost at least
// as much as that are not needed: in any optimum all nodes that use one can move to their escape colours
// together without paying more (an improving mapping, as Shekhovtsov 2014 calls it). Domains grow until
// nothing changes.
Potts keepNeeded(const Potts& potts);

} // namespace konstrain::linked
