#include "team.h"

#include <system_error>

namespace konstrain::kmeans {

Team::Team(std::size_t nThreads) {
    others_.reserve(nThreads);
    try {
        for (std::size_t worker = 1; worker < nThreads; ++worker)
            others_.emplace_back(&Team::serve, this, worker);
    } catch (const std::system_error&) {
        // The system has no more threads to give: those that started share the chunks.
    }
}

Team::~Team() {
    isOver_ = true;
    ++sweep_;
    sweep_.notify_all();
    for (std::thread& other : others_)
        other.join();
}

// The first worker is the caller, who waits for the others: they read what lies on its stack.
void Team::shareOut() {
    nBusy_ = others_.size();
    ++sweep_;
    sweep_.notify_all();
    call_(task_, 0);
    for (std::size_t busy = nBusy_; busy != 0; busy = nBusy_)
        nBusy_.wait(busy);
}

void Team::serve(std::size_t worker) {
    for (std::size_t seen = 0;; ++seen) {
        sweep_.wait(seen);
        if (isOver_)
            return;
        call_(task_, worker);
        if (--nBusy_ == 0)
            nBusy_.notify_one();
    }
}

} // namespace konstrain::kmeans
