#pragma once

// How arrays cross from Python to the kernels and back. Nothing is checked beyond dtype and layout: Python
// validates, kernels assert. Every array argument is taken as it is (`noconvert`): a wrong dtype or order is
// an error, never a silent copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using NewVector = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
// Arrays that Python hands in to be filled or changed.
template <typename T> using OutMatrix = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <typename T> using OutVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T, typename Array> std::span<const T> view(const Array& array) {
    return {array.data(), array.size()};
}

// A numpy array that owns `size` fresh elements; the kernel fills them through `.data()`.
template <typename T> NewVector<T> makeVector(std::size_t size) {
    auto* data = new T[size]();
    nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return NewVector<T>(data, {size}, owner);
}

template <typename T> std::span<const T> viewOrEmpty(const std::optional<Vector<T>>& array) {
    return array ? view<T>(*array) : std::span<const T>{};
}

template <typename T, typename Range> NewVector<T> copyVector(const Range& values) {
    auto result = makeVector<T>(values.size());
    std::ranges::copy(values, result.data());
    return result;
}

// A numpy array that takes over what a kernel has made, without copying it.
template <typename T> NewVector<T> adoptVector(std::vector<T>&& values) {
    auto* kept = new std::vector<T>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
    return NewVector<T>(kept->data(), {kept->size()}, owner);
}
