// Compiles the file named by KONSTRAIN_KERNELS once per instruction set, each time in a namespace of its own,
// so that one wheel serves all machines; `KONSTRAIN_PICK(function)` is the best version this machine can run.
// The sums are the same in each version because contraction is off (see CMakeLists.txt).
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hardware.h"
#include "infinity.h"

// Vectors are passed between functions that are always inlined, so how a call would pass them does not
// matter. Stays off to the end of the including file: the compiler complains where the functions are used.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define KONSTRAIN_TARGET baseline
#define KONSTRAIN_VECTOR_BYTES 16
#include "lanes.h"

#include KONSTRAIN_KERNELS
#undef KONSTRAIN_TARGET
#undef KONSTRAIN_VECTOR_BYTES

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(KONSTRAIN_NO_MULTIVERSION)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define KONSTRAIN_TARGET avx2
#define KONSTRAIN_VECTOR_BYTES 32
#include "lanes.h"

#include KONSTRAIN_KERNELS
#undef KONSTRAIN_TARGET
#undef KONSTRAIN_VECTOR_BYTES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#define KONSTRAIN_TARGET avx512
#define KONSTRAIN_VECTOR_BYTES 64
#include "lanes.h"

#include KONSTRAIN_KERNELS
#undef KONSTRAIN_TARGET
#undef KONSTRAIN_VECTOR_BYTES
#pragma GCC pop_options

#define KONSTRAIN_PICK(...)                                                                                  \
    (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ? baseline::__VA_ARGS__               \
     : __builtin_cpu_supports("avx512f")                               ? avx512::__VA_ARGS__                 \
                                                                       : avx2::__VA_ARGS__)
#else
#define KONSTRAIN_PICK(...) baseline::__VA_ARGS__
#endif
