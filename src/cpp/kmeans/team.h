#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "chunks.h"

namespace konstrain::kmeans {

// Threads for many short sweeps: `forEachChunk` starts them for each sweep, which takes as long as a sweep
// over a few thousand rows, and leaves them where the first one runs. Here they are started once and wait
// between sweeps. Not to be shared between callers.
class Team {
public:
    explicit Team(std::size_t nThreads);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    // Workers there are: no more than were asked for, fewer where the system has none to give.
    std::size_t size() const { return others_.size() + 1; }

    // Calls `work(worker, chunk)` once per chunk. `work` must not throw: allocate before.
    template <typename Work> void forEachChunk(const Chunks& chunks, const Work& work) {
        const auto run = [&](std::size_t worker) {
            for (std::size_t chunk = next_++; chunk < chunks.count(); chunk = next_++)
                work(worker, chunk);
        };
        next_ = 0;
        if (chunks.workers(size()) == 1) {
            run(0);
            return;
        }
        call_ = [](const void* task, std::size_t worker) {
            (*static_cast<const decltype(run)*>(task))(worker);
        };
        task_ = &run;
        shareOut();
    }

private:
    void shareOut();
    void serve(std::size_t worker);

    std::vector<std::thread> others_;
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> sweep_{0}; // changes when there is something to do
    std::atomic<std::size_t> nBusy_{0};
    bool isOver_ = false;
    void (*call_)(const void* task, std::size_t worker) = nullptr;
    const void* task_ = nullptr;
};

} // namespace konstrain::kmeans
