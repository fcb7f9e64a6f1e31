// Compiles the file named by KONSTRAIN_KERNELS once per instruction set, as for_each_target.h does, for
// kernels that live from multiply-and-add and have vectors of their own. Fused sums round once where others
// round twice, so results of machines with and without it differ in the last bits.
#define KONSTRAIN_WITHOUT_LANES
#include "for_each_target.h"
