#include "arrays.h"
#include "bindings.h"
#include "choice_program.h"
#include "deadline.h"
#include "resource_prices.h"
#include "resource_repair.h"
#include "resource_walk.h"

namespace {

konstrain::ResourceProblem problemOf(const Matrix<double>& costs, const Matrix<double>& amounts,
                                     const Matrix<double>& rules, const Matrix<double>& low,
                                     const Matrix<double>& high) {
    return {view<double>(costs), costs.shape(1),    view<double>(amounts), amounts.shape(1),
            view<double>(rules), view<double>(low), view<double>(high)};
}

auto kindsOfRows(Matrix<double> amounts) {
    const konstrain::RowKinds kinds(view<double>(amounts), amounts.shape(1));
    auto ofRow = makeVector<std::uint8_t>(kinds.areFew() ? amounts.shape(0) : 0);
    auto examples = makeVector<std::int64_t>(kinds.count());
    for (std::size_t row = 0; row != ofRow.size(); ++row)
        ofRow.data()[row] = static_cast<std::uint8_t>(kinds.of(row));
    for (std::size_t kind = 0; kind != kinds.count(); ++kind)
        examples.data()[kind] = static_cast<std::int64_t>(kinds.example(kind));
    return std::make_tuple(ofRow, examples);
}

auto placeByResources(Matrix<double> costs, Matrix<double> amounts, Matrix<double> rules, Matrix<double> low,
                      Matrix<double> high, Matrix<double> start, bool isWarm, bool withRepair,
                      double timeLimit) {
    const konstrain::ResourceProblem problem = problemOf(costs, amounts, rules, low, high);
    auto prices = copyVector<double>(view<double>(start));
    auto labels = makeVector<std::int32_t>(costs.shape(0));
    const auto deadline = konstrain::deadlineIn(timeLimit);
    double least = 0.0;
    bool isKept = false;
    {
        nb::gil_scoped_release release;
        const konstrain::RowKinds kinds(problem.amounts, problem.nAmounts);
        const konstrain::PricedRows rows =
            konstrain::ResourcePrices(problem, kinds, deadline).find({prices.data(), prices.size()}, isWarm);
        least = rows.least;
        std::ranges::copy(rows.labels, labels.data());
        if (withRepair) {
            konstrain::RowPricer pricer(problem, kinds);
            pricer.take({prices.data(), prices.size()});
            isKept = konstrain::ResourceRepair(problem, kinds, pricer, rows, {labels.data(), labels.size()})
                         .run(deadline);
        }
    }
    return std::make_tuple(labels, prices, least, isKept);
}

auto walkByResources(Matrix<double> costs, Matrix<double> amounts, Matrix<double> rules, Matrix<double> low,
                     Matrix<double> high, Matrix<double> prices, Vector<std::int32_t> start, double warmth,
                     std::size_t nChoices, std::size_t nSteps, std::uint64_t seed, double timeLimit) {
    const konstrain::ResourceProblem problem = problemOf(costs, amounts, rules, low, high);
    auto labels = copyVector<std::int32_t>(view<std::int32_t>(start));
    bool isKept = false;
    {
        nb::gil_scoped_release release;
        const konstrain::RowKinds kinds(problem.amounts, problem.nAmounts);
        konstrain::RowPricer pricer(problem, kinds);
        pricer.take(view<double>(prices));
        konstrain::ResourceWalk walk(problem, pricer, view<double>(prices), view<std::int32_t>(start),
                                     nChoices);
        isKept =
            walk.run({labels.data(), labels.size()}, warmth, nSteps, seed, konstrain::deadlineIn(timeLimit));
    }
    return std::make_tuple(labels, isKept);
}

auto solveChoices(Vector<std::int32_t> first, Vector<std::int32_t> cluster, Vector<double> cost,
                  Matrix<double> held, Matrix<double> low, Matrix<double> high, Matrix<double> start,
                  double dearest, double enough, double timeLimit) {
    const konstrain::ChoiceProgram program{
        held.shape(1),      view<std::int32_t>(first), view<std::int32_t>(cluster), view<double>(cost),
        view<double>(held), view<double>(low),         view<double>(high)};
    auto prices = copyVector<double>(view<double>(start));
    auto shares = makeVector<double>(cost.size());
    double value = 0.0;
    {
        nb::gil_scoped_release release;
        konstrain::InteriorPoint inside(program, view<double>(start), dearest);
        value = inside.solve(enough, konstrain::deadlineIn(timeLimit), {prices.data(), prices.size()});
        for (std::size_t c = 0; c != shares.size(); ++c)
            shares.data()[c] = inside.shareOf(c);
    }
    return std::make_tuple(prices, shares, value);
}

} // namespace

void bindResources(nb::module_& m) {
    m.def("kinds_of_rows", &kindsOfRows, "amounts"_a.noconvert(),
          "The kind of each row, rows with the same amounts being of one, and a row of each kind; both empty "
          "where there are too many kinds.");
    m.def(
        "place_by_resources", &placeByResources, "costs"_a.noconvert(), "amounts"_a.noconvert(),
        "rules"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "start"_a.noconvert(), "is_warm"_a,
        "with_repair"_a, "time_limit"_a,
        "Labels, prices (flat, clusters x rules), what rows pay in their cheapest clusters at these prices, "
        "and whether the labels keep all bounds.");
    m.def("walk_by_resources", &walkByResources, "costs"_a.noconvert(), "amounts"_a.noconvert(),
          "rules"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "prices"_a.noconvert(),
          "start"_a.noconvert(), "warmth"_a, "n_choices"_a, "n_steps"_a, "seed"_a, "time_limit"_a,
          "Labels found by annealing from these on among so many choices of least regret at these prices, "
          "and whether they "
          "keep all bounds.");
    m.def(
        "solve_choices", &solveChoices, "first"_a.noconvert(), "cluster"_a.noconvert(), "cost"_a.noconvert(),
        "held"_a.noconvert(), "low"_a.noconvert(), "high"_a.noconvert(), "start"_a.noconvert(), "dearest"_a,
        "enough"_a, "time_limit"_a,
        "Prices (flat, clusters x rules), shares of choices within the bounds, and their cost, which is the "
        "least up to `enough`.");
}
