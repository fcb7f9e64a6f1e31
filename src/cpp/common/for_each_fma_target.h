// Compiles the file named by KONSTRAIN_KERNELS once per instruction set, as for_each_target.h does, for
// kernels that live from multiply-and-add: vectors are as wide as the registers, and the instruction sets
// have the fused form. `KONSTRAIN_PICK(function)` is the best version this machine can run. Fused sums round
// once where others round twice, so results of machines with and without it differ in the last bits.
#include <cstddef>
#include <cstdint>
#include <cstring>

// Vectors are passed between functions that are always inlined, so how a call would pass them does not
// matter. Stays off to the end of the including file: the compiler complains where the functions are used.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#define KONSTRAIN_TARGET baseline
#define KONSTRAIN_VECTOR_BYTES 16
#include KONSTRAIN_KERNELS
#undef KONSTRAIN_TARGET
#undef KONSTRAIN_VECTOR_BYTES

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(KONSTRAIN_NO_MULTIVERSION)

#pragma GCC push_options
#pragma GCC target("avx2,fma")
#define KONSTRAIN_TARGET avx2
#define KONSTRAIN_VECTOR_BYTES 32
#include KONSTRAIN_KERNELS
#undef KONSTRAIN_TARGET
#undef KONSTRAIN_VECTOR_BYTES
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx2,fma")
#define KONSTRAIN_TARGET avx512
#define KONSTRAIN_VECTOR_BYTES 64
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
