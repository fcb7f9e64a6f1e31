// Tries kernels without Python: results against enumeration and against the duals that prove them, and every
// sum printed to its last bit. `.ci/windows` runs it natively and under wine and wants the same text from
// both.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <vector>

#include "cliques.h"
#include "deadline.h"
#include "dils_fitness.h"
#include "distances.h"
#include "infinity.h"
#include "nearest.h"
#include "random.h"
#include "rectangular_assignment.h"
#include "transport.h"

namespace {

using namespace konstrain;
using namespace konstrain::kmeans;
using namespace konstrain::transport;

std::vector<double> drawCosts(std::size_t size, Random& random) {
    std::vector<double> costs(size);
    for (double& cost : costs)
        cost = drawUnit(random);
    return costs;
}

double costOf(const std::vector<double>& costs, std::size_t k, const std::vector<std::int32_t>& labels) {
    double sum = 0.0;
    for (std::size_t i = 0; i != labels.size(); ++i)
        sum += costs[i * k + static_cast<std::size_t>(labels[i])];
    return sum;
}

// Each row a column of its own: all orders of the columns.
void tryRectangular(Random& random) {
    constexpr std::size_t n = 5;
    const std::vector<double> costs = drawCosts(n * n, random);
    std::vector<std::int32_t> columns(n), order(n);
    const double found = assignRows(costs, n, columns);
    std::iota(order.begin(), order.end(), 0);
    double best = infinity;
    do
        best = std::min(best, costOf(costs, n, order));
    while (std::next_permutation(order.begin(), order.end()));
    assert(std::abs(found - best) < 1e-12);
    std::printf("rectangular %a\n", found);
}

// Sizes kept, and the cost is what the duals prove. `rows` beyond a few thousand reach samples and lists.
void tryTransport(std::size_t rows, std::size_t k, Random& random) {
    const std::vector<double> costs = drawCosts(rows * k, random);
    const auto share = static_cast<std::int64_t>(rows / k);
    const std::vector<std::int64_t> lower(k, share - 1), upper(k, share + 1);
    std::vector<double> duals(k, 0.0);
    std::vector<std::int32_t> labels(rows);
    const TransportResult result = solveTransport(costs, lower, upper, duals, labels, {});
    std::vector<std::int64_t> sizes(k, 0);
    for (const std::int32_t label : labels)
        ++sizes[static_cast<std::size_t>(label)];
    for (std::size_t j = 0; j != k; ++j)
        assert(lower[j] <= sizes[j] && sizes[j] <= upper[j]);
    assert(result.finished && result.cost - result.bound <= 1e-9 * result.cost);
    assert(std::abs(result.cost - costOf(costs, k, labels)) < 1e-9);
    std::printf("transport %zu x %zu %a\n", rows, k, result.cost);
}

// A clique of three among free blocks: distinct clusters for its members, the cheapest one for the others.
void tryCliques(Random& random) {
    constexpr std::size_t n = 6, k = 4;
    const std::vector<double> costs = drawCosts(n * k, random);
    const std::vector<std::int64_t> indptr{0, 2, 4, 6, 6, 6, 6};
    const std::vector<std::int32_t> indices{1, 2, 0, 2, 0, 1};
    assert(isDisjointCliques(indptr, indices));
    std::vector<std::int32_t> labels(n);
    double cost = 0.0;
    assert(matchCliques(costs, k, indptr, indices, labels, cost).empty());
    assert(labels[0] != labels[1] && labels[0] != labels[2] && labels[1] != labels[2]);
    std::printf("cliques %a\n", cost);
}

// Nearest centers by the fused pass, in one thread and in three, against plain loops.
void tryDistances(Random& random) {
    constexpr std::size_t n = 999, d = 7, k = 5;
    const std::vector<double> rows = drawCosts(n * d, random), centers = drawCosts(k * d, random);
    std::vector<double> costs(n * k);
    for (std::size_t threads : {std::size_t{1}, std::size_t{3}}) {
        blockCosts(Points{rows.data(), n, d}, nullptr, Points{centers.data(), k, d}, threads, costs.data());
        for (std::size_t i = 0; i != n; ++i)
            for (std::size_t j = 0; j != k; ++j) {
                double sum = 0.0;
                for (std::size_t f = 0; f != d; ++f)
                    sum += (rows[i * d + f] - centers[j * d + f]) * (rows[i * d + f] - centers[j * d + f]);
                assert(std::abs(costs[i * k + j] - sum) < 1e-12);
            }
    }
    std::vector<std::int32_t> labels(n);
    const double total = nearest(costs, k, labels);
    // Fused sums differ in their last bits where the vector unit does; labels do not.
    std::printf("distances %.9f", total);
    for (std::size_t i = 0; i < n; i += 100)
        std::printf(" %d", labels[i]);
    std::printf("\n");
}

// The fitness of DILS foretold for a move is the one reached, and after ten thousand moves it is, to the last
// bit, that of a state that has never been anything else.
void tryFitness(std::size_t n, Random& random) {
    constexpr std::size_t k = 5;
    const std::vector<double> rows = drawCosts(n * 3, random);
    const baselines::PairDistances distances({rows.data(), n, 3});
    std::vector<std::int32_t> mustLink, cannotLink, labels(n);
    for (std::size_t i = 0; i + 3 < n; i += 4) {
        mustLink.insert(mustLink.end(), {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 1)});
        cannotLink.insert(cannotLink.end(), {static_cast<std::int32_t>(i), static_cast<std::int32_t>(i + 3)});
    }
    const baselines::SignedLinks links(n, mustLink, cannotLink);
    baselines::DilsFitness fitness(distances, links, k, labels);
    for (int move = 0; move != 10'000; ++move) {
        const std::size_t row = drawBelow(n, random), cluster = drawBelow(k, random);
        const double expected = fitness.valueAfter(row, cluster);
        fitness.move(row, cluster);
        assert(fitness.value() == expected);
        labels[row] = static_cast<std::int32_t>(cluster);
    }
    assert(baselines::DilsFitness(distances, links, k, labels).value() == fitness.value());
    std::printf("fitness %a\n", fitness.value());
}

} // namespace

int main() {
    Random random(7);
    for (int round = 0; round != 20; ++round) {
        tryRectangular(random);
        tryCliques(random);
    }
    tryTransport(60, 4, random);
    tryTransport(4000, 10, random);
    tryTransport(3000, 250, random);
    tryDistances(random);
    tryFitness(40, random);
}
