#pragma once

#include <algorithm>
#include <chrono>

namespace konstrain {

using TimePoint = std::chrono::steady_clock::time_point;

// The moment so many seconds from now. A limit of a year or more is none: the clock's counter would overflow.
inline TimePoint deadlineIn(double seconds) {
    using Clock = std::chrono::steady_clock;
    if (!(seconds < 3.0e7))
        return TimePoint::max();
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(0.0, seconds)));
}

} // namespace konstrain
