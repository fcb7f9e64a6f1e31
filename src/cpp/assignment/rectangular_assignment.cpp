#include "rectangular_assignment.h"

#include <cassert>
#include <cstddef>
#include <vector>

#include "infinity.h"

namespace konstrain {

namespace {

constexpr std::size_t free = static_cast<std::size_t>(-1); // in place of a row or a column

// Successive shortest augmenting paths (the Hungarian method with Dijkstra's search; Jonker and Volgenant
// 1987), O(rows x rows x columns).
//
// Invariant: cost - rowDual - columnDual >= 0 everywhere, with equality on matched pairs, and columnDual <= 0
// with equality on free columns. These are the conditions of complementary slackness, so the matched rows are
// matched at least cost after every call of `augment`. Reduced costs that are never negative are also what
// lets Dijkstra's search close a column for good.
class Matching {
public:
    Matching(std::span<const double> costs, std::size_t nRows, std::size_t nColumns)
        : costs_(costs), nColumns_(nColumns), rowDual_(nRows, 0.0), columnDual_(nColumns, 0.0),
          rowOf_(nColumns, free), columnOf_(nRows, free), distance_(nColumns), previous_(nColumns),
          closed_(nColumns) {}

    // Matches one more row along the cheapest path to a free column; false when no path has finite cost.
    bool augment(std::size_t row) {
        distance_.assign(nColumns_, infinity);
        closed_.assign(nColumns_, false);
        double reached = 0.0;
        std::size_t current = row;
        std::size_t end = free;
        while (end == free) {
            const std::size_t column = relaxFrom(current, reached);
            if (column == free)
                return false;
            reached = distance_[column];
            closed_[column] = true;
            if (rowOf_[column] == free)
                end = column;
            else
                current = rowOf_[column];
        }
        updateDuals(row, reached);
        flip(row, end);
        return true;
    }

    std::size_t columnOf(std::size_t row) const { return columnOf_[row]; }

private:
    // Relaxes all open columns from `row`, reached at distance `reached`; returns the nearest open one.
    std::size_t relaxFrom(std::size_t row, double reached) {
        std::size_t nearest = free;
        for (std::size_t column = 0; column != nColumns_; ++column) {
            if (closed_[column])
                continue;
            const double length =
                reached + costs_[row * nColumns_ + column] - rowDual_[row] - columnDual_[column];
            if (length < distance_[column]) {
                distance_[column] = length;
                previous_[column] = row;
            }
            if (distance_[column] < (nearest == free ? infinity : distance_[nearest]))
                nearest = column;
        }
        return nearest;
    }

    // Moves the duals of all closed nodes by what they are nearer than the free column. Reduced costs between
    // closed nodes stay the same, those out of them fall by no more than their slack, and those along the
    // path become zero: the invariant holds for the longer matching.
    void updateDuals(std::size_t start, double reached) {
        rowDual_[start] += reached;
        for (std::size_t column = 0; column != nColumns_; ++column) {
            if (!closed_[column])
                continue;
            const double slack = reached - distance_[column];
            columnDual_[column] -= slack;
            if (rowOf_[column] != free)
                rowDual_[rowOf_[column]] += slack;
        }
    }

    // Swaps matched and unmatched edges on the path: every row of it gets the column after it.
    void flip(std::size_t start, std::size_t column) {
        std::size_t row = free;
        while (row != start) {
            row = previous_[column];
            rowOf_[column] = row;
            std::swap(columnOf_[row], column);
        }
    }

    std::span<const double> costs_;
    std::size_t nColumns_;
    std::vector<double> rowDual_;
    std::vector<double> columnDual_;
    std::vector<std::size_t> rowOf_;
    std::vector<std::size_t> columnOf_;
    std::vector<double> distance_;
    std::vector<std::size_t> previous_;
    std::vector<bool> closed_;
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
