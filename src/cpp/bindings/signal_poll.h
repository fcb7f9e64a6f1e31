#pragma once

#include <nanobind/nanobind.h>

#include <chrono>

// Lets Ctrl-C through a long run without the GIL; asks Python only every now and then.
inline auto signalPoll() {
    return [last = std::chrono::steady_clock::now()]() mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - last < std::chrono::milliseconds(50))
            return;
        last = now;
        nanobind::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0)
            throw nanobind::python_error();
    };
}
