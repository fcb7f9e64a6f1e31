#pragma once

// How arrays cross from Python to the kernels and back. Nothing is checked beyond dtype, dimensions, order
// and that out-arrays are writable: Python validates, kernels assert. An array is never converted: a wrong
// dtype or order is an error, never a silent copy, so a view reads and writes the memory of the caller.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace nb = nanobind;
using namespace nb::literals;

// A view of a row-major matrix; kernels take it as the span of its values. None, where an argument allows it
// by `.none()`, is an empty view without data.
template <typename T> struct MatrixView {
    T* values = nullptr;
    std::size_t nRows = 0;
    std::size_t nColumns = 0;

    std::size_t size() const { return nRows * nColumns; }
    operator std::span<T>() const { return {values, size()}; }
    operator std::span<const T>() const
        requires(!std::is_const_v<T>)
    {
        return {values, size()};
    }
};

template <typename T> using Vector = std::span<const T>;
template <typename T> using Matrix = MatrixView<const T>;
// Arrays that Python hands in to be filled or changed.
template <typename T> using OutVector = std::span<T>;
template <typename T> using OutMatrix = MatrixView<T>;

// A result that Python receives as a numpy array, without copying it.
template <typename T> struct Array : std::vector<T> {
    using std::vector<T>::vector;
    Array(std::vector<T>&& values) : std::vector<T>(std::move(values)) {}
    Array(std::span<const T> values) : std::vector<T>(values.begin(), values.end()) {}
};

// For kernels that touch no Python object: arguments are read before it and results are made after it.
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

namespace nanobind::detail {

// Takes an array of exactly this kind: conversion is refused whatever the annotation of the argument allows.
// A view does not own its memory; the array is kept until the call has returned.
template <typename View, typename Kind> struct ViewCaster {
    NB_TYPE_CASTER(View, make_caster<Kind>::Name)

    template <typename Flags> bool from_python(handle source, Flags flags, cleanup_list* cleanup) noexcept {
        const auto strict = static_cast<Flags>(flags & ~static_cast<Flags>(cast_flags::convert));
        if (!array_.from_python(source, strict, cleanup))
            return false;
        const Kind& array = array_.value;
        if (!array.is_valid())
            return true;
        if constexpr (requires { value.nColumns; })
            value = {array.data(), array.shape(0), array.shape(1)};
        else
            value = {reinterpret_cast<typename View::pointer>(array.data()), array.shape(0)};
        return true;
    }

private:
    make_caster<Kind> array_;
};

template <typename T>
struct type_caster<std::span<T>> : ViewCaster<std::span<T>, ndarray<T, nb::ndim<1>, c_contig, device::cpu>> {
};

template <typename T>
struct type_caster<MatrixView<T>>
    : ViewCaster<MatrixView<T>, ndarray<T, nb::ndim<2>, c_contig, device::cpu>> {};

template <typename T> struct type_caster<Array<T>> {
    using Numpy = ndarray<numpy, T, nb::ndim<1>>;
    NB_TYPE_CASTER(Array<T>, make_caster<Numpy>::Name)

    static handle from_cpp(Array<T>&& values, rv_policy, cleanup_list* cleanup) {
        auto* kept = new Array<T>(std::move(values));
        capsule owner(kept, [](void* p) noexcept { delete static_cast<Array<T>*>(p); });
        return make_caster<Numpy>::from_cpp(Numpy(kept->data(), {kept->size()}, owner), rv_policy::automatic,
                                            cleanup);
    }
};

} // namespace nanobind::detail
