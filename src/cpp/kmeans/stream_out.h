#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hardware.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace konstrain::kmeans {

// Copies doubles to memory that will not be read soon: past the caches where the machine can, which spares
// reading the old contents first. Call `finishStreams` before another thread may read them.
inline void streamOut(const double* from, std::size_t size, double* to) {
#if defined(__SSE2__)
    // Only whole cache lines gain; the ends are shared with what was written before and comes next.
    const std::size_t past = reinterpret_cast<std::uintptr_t>(to) % cacheLine;
    const std::size_t head = std::min(size, past == 0 ? 0 : (cacheLine - past) / sizeof(double));
    const std::size_t body = (size - head) / laneCount * laneCount;
    std::copy_n(from, head, to);
    for (std::size_t i = head; i != head + body; i += 2)
        _mm_stream_pd(to + i, _mm_loadu_pd(from + i));
    std::copy_n(from + head + body, size - head - body, to + head + body);
#else
    std::copy_n(from, size, to);
#endif
}

inline void finishStreams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

} // namespace konstrain::kmeans
