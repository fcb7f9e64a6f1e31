#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <system_error>
#include <thread>
#include <vector>

#include "row_views.h"

namespace konstrain::kmeans {

// Lets the chunks of one sweep pass one after the other, so that sums over chunks are added in the same order
// whatever the number of threads.
class Turns {
public:
    void await(std::size_t chunk) const {
        for (std::size_t now = turn_.load(); now != chunk; now = turn_.load())
            turn_.wait(now);
    }
    void pass() {
        turn_.fetch_add(1);
        turn_.notify_all();
    }

private:
    std::atomic<std::size_t> turn_{0};
};

// Rows of a chunk; larger: less to hand over between threads, and less even shares for them.
inline constexpr std::size_t rowsPerChunk = 2048;

// Rows cut into chunks of a size that must not depend on the number of threads.
struct Chunks {
    std::size_t nRows;
    std::size_t chunkRows = rowsPerChunk;

    std::size_t count() const { return (nRows + chunkRows - 1) / chunkRows; }
    RowRange rows(std::size_t chunk) const {
        return {chunk * chunkRows, std::min(nRows, (chunk + 1) * chunkRows)};
    }
    // No more workers than chunks: the others would only cost their start.
    std::size_t workers(std::size_t nThreads) const {
        return std::max<std::size_t>(1, std::min(nThreads, count()));
    }
};

// Calls `work(worker, chunk)` once per chunk. Chunks start in order, so a worker that awaits the turn of its
// chunk waits for running work only. `work` must not throw: allocate before.
template <typename Work> void forEachChunk(const Chunks& chunks, std::size_t nWorkers, const Work& work) {
    std::atomic<std::size_t> next{0};
    const auto run = [&](std::size_t worker) {
        for (std::size_t chunk = next++; chunk < chunks.count(); chunk = next++)
            work(worker, chunk);
    };
    std::vector<std::thread> others;
    others.reserve(nWorkers);
    try {
        for (std::size_t worker = 1; worker < nWorkers; ++worker)
            others.emplace_back(run, worker);
    } catch (const std::system_error&) {
        // The system has no more threads to give: those that started share the chunks.
    }
    run(0);
    for (auto& thread : others)
        thread.join();
}

} // namespace konstrain::kmeans
