#pragma once

// Marks a function that pays for a wide vector unit: the compiler builds it once per instruction set and the
// loader picks the best one this machine has, so one wheel serves all machines. The sums are the same in each
// version because contraction is off (see CMakeLists.txt).
#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__) &&                 \
    !defined(KONSTRAIN_NO_MULTIVERSION)
#define KONSTRAIN_MULTIVERSION __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define KONSTRAIN_MULTIVERSION
#endif
