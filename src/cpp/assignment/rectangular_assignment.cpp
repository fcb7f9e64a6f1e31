#include "rectangular_assignment.h"

#include <cassert>
#include <cstddef>
#include <vector>

#include "infinity.h"

namespace konstrain {

namespace {

constexpr std::size_t none = static_cast<std::size_t>(-1);

class Matching {
public:
    Matching(std::span<const double> costs, std::size_t nRows, std::size_t nColumns)
        : costs_(costs), nColumns_(nColumns), rowPrice_(nRows, 0.0), columnPrice_(nColumns, 0.0),
          rowOf_(nColumns, none), columnOf_(nRows, none), distance_(nColumns), previous_(nColumns),
          settled_(nColumns) {}

    // Matches one more row along the cheapest path to a free column; false when no path has finite cost.
    bool augment(std::size_t row) {
        distance_.assign(nColumns_, infinity);
        settled_.assign(nColumns_, false);
        double reached = 0.0;
        std::size_t current = row;
        std::size_t free = none;
        while (free == none) {
            const std::size_t column = relaxFrom(current, reached);
            if (column == none)
                return false;
            reached = distance_[column];
            settled_[column] = true;
            if (rowOf_[column] == none)
                free = column;
            else
                current = rowOf_[column];
        }
        updatePrices(row, reached);
        flip(row, free);
        return true;
    }

    std::size_t columnOf(std::size_t row) const { return columnOf_[row]; }

private:
    // Relaxes all open columns from `row`, reached at distance `reached`; returns the nearest open one.
    std::size_t relaxFrom(std::size_t row, double reached) {
        std::size_t nearest = none;
        for (std::size_t column = 0; column != nColumns_; ++column) {
            if (settled_[column])
                continue;
            const double length =
                reached + costs_[row * nColumns_ + column] - rowPrice_[row] - columnPrice_[column];
            if (length < distance_[column]) {
                distance_[column] = length;
                previous_[column] = row;
            }
            if (distance_[column] < (nearest == none ? infinity : distance_[nearest]))
                nearest = column;
        }
        return nearest;
    }

    void updatePrices(std::size_t start, double reached) {
        rowPrice_[start] += reached;
        for (std::size_t column = 0; column != nColumns_; ++column) {
            if (!settled_[column])
                continue;
            const double slack = reached - distance_[column];
            columnPrice_[column] -= slack;
            if (rowOf_[column] != none)
                rowPrice_[rowOf_[column]] += slack;
        }
    }

    void flip(std::size_t start, std::size_t column) {
        std::size_t row = none;
        while (row != start) {
            row = previous_[column];
            rowOf_[column] = row;
            std::swap(columnOf_[row], column);
        }
    }

    std::span<const double> costs_;
    std::size_t nColumns_;
    std::vector<double> rowPrice_;
    std::vector<double> columnPrice_;
    std::vector<std::size_t> rowOf_;
    std::vector<std::size_t> columnOf_;
    std::vector<double> distance_;
    std::vector<std::size_t> previous_;
    std::vector<bool> settled_;
};

} // namespace

double assignRows(std::span<const double> costs, std::size_t nColumns, std::span<std::int32_t> columns) {
    assert(costs.size() == columns.size() * nColumns && columns.size() <= nColumns);
    Matching matching(costs, columns.size(), nColumns);
    for (std::size_t row = 0; row != columns.size(); ++row)
        if (!matching.augment(row))
            return infinity;
    double total = 0.0;
    for (std::size_t row = 0; row != columns.size(); ++row) {
        columns[row] = static_cast<std::int32_t>(matching.columnOf(row));
        total += costs[row * nColumns + matching.columnOf(row)];
    }
    return total;
}

} // namespace konstrain
