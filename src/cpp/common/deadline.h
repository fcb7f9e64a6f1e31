#pragma once

#include <algorithm>
#include <chrono>

namespace konstrain {

using TimePoint = std::chrono::steady_clock::time_point;

// The moment `seconds` from now. A limit of a year or more is none: the clock's counter would overflow.
inline TimePoint deadlineIn(double seconds) {
    using Clock = std::chrono::steady_clock;
    if (!(seconds < 3.0e7))
        return TimePoint::max();
    return Clock::now() +
           std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(0.0, seconds)));
}

// Whether the moment has come. Without a limit the clock is not read.
inline bool isPast(TimePoint end) {
    return end != TimePoint::max() && std::chrono::steady_clock::now() >= end;
}

// Short steps of a loop between two readings of the clock, which take about as long as such a step; larger:
// fewer readings, and an end that is later by more steps.
inline constexpr unsigned callsPerReading = 16;

// A deadline for loops of short steps.
class PolledDeadline {
public:
    explicit PolledDeadline(TimePoint end) : end_(end) {}
    bool isPast() { return nCalls_++ % callsPerReading == 0 && konstrain::isPast(end_); }

private:
    TimePoint end_;
    unsigned nCalls_ = 0;
};

// The moment at which half of the time left will be over.
inline TimePoint halfwayTo(TimePoint end) {
    const TimePoint now = std::chrono::steady_clock::now();
    return end == TimePoint::max() ? end : now + (end - now) / 2;
}

} // namespace konstrain
