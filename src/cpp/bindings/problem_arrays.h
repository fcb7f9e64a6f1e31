#pragma once

#include "arrays.h"
#include "problem.h"

template <typename T, typename Array> std::vector<T> copied(const Array& array) {
    return {array.data(), array.data() + array.size()};
}

template <typename T> std::vector<T> copiedOrEmpty(const std::optional<Vector<T>>& array) {
    return array ? copied<T>(*array) : std::vector<T>{};
}

// The problem of a search, copied from the arrays that describe it.
inline konstrain::search::Problem problemOf(Matrix<double> means, Vector<double> weight,
                                            Matrix<double> amounts, Matrix<double> low, Matrix<double> high,
                                            Vector<double> unit,
                                            std::optional<Vector<std::int64_t>> linkStart,
                                            std::optional<Vector<std::int32_t>> linkTo,
                                            std::optional<Vector<double>> linkPenalty, bool nonempty) {
    return {means.shape(0),
            means.shape(1),
            low.shape(0),
            low.shape(1),
            copied<double>(means),
            copied<double>(weight),
            copied<double>(amounts),
            copied<double>(low),
            copied<double>(high),
            copiedOrEmpty(linkStart),
            copiedOrEmpty(linkTo),
            copiedOrEmpty(linkPenalty),
            nonempty,
            copied<double>(unit),
            {},
            {}};
}
