#include "regions.h"

#include "arrays.h"
#include "bindings.h"
#include "problem_arrays.h"
#include "signal_poll.h"

namespace {

using konstrain::regions::Regions;

} // namespace

void bindRegions(nb::module_& m) {
    nb::class_<Regions>(m, "Regions", "Annealing of clusters that are each in one piece of a graph.")
        .def(
            "__init__",
            [](Regions* self, Matrix<double> means, Vector<double> weight, Matrix<double> amounts,
               Matrix<double> low, Matrix<double> high, Vector<double> unit,
               std::optional<Vector<std::int64_t>> linkStart, std::optional<Vector<std::int32_t>> linkTo,
               std::optional<Vector<double>> linkPenalty, bool nonempty, std::uint64_t seed,
               Vector<std::int64_t> start, Vector<std::int32_t> to, Vector<std::int64_t> firstPart,
               Vector<std::int32_t> blockOf) {
                new (self) Regions(problemOf(means, weight, amounts, low, high, unit, linkStart, linkTo,
                                             linkPenalty, nonempty),
                                   {copied<std::int64_t>(start), copied<std::int32_t>(to),
                                    copied<std::int64_t>(firstPart), copied<std::int32_t>(blockOf)},
                                   seed);
            },
            "means"_a.noconvert(), "weight"_a.noconvert(), "amounts"_a.noconvert(), "low"_a.noconvert(),
            "high"_a.noconvert(), "unit"_a.noconvert(), "link_start"_a.noconvert().none(),
            "link_to"_a.noconvert().none(), "link_penalty"_a.noconvert().none(), "nonempty"_a, "seed"_a,
            "start"_a.noconvert(), "to"_a.noconvert(), "first_part"_a.noconvert(), "block_of"_a.noconvert())
        .def(
            "run",
            [](Regions& self, Vector<std::int32_t> labels, std::int64_t nSteps, double timeLimit) {
                const konstrain::regions::AnnealLimits limits{nSteps, konstrain::deadlineIn(timeLimit),
                                                              signalPoll()};
                nb::gil_scoped_release release;
                self.run(view<std::int32_t>(labels), limits);
            },
            "labels"_a.noconvert(), "n_steps"_a, "time_limit"_a,
            "Make these labels contiguous and anneal them.")
        .def_prop_ro(
            "labels", [](const Regions& self) { return copyVector<std::int32_t>(self.labels()); },
            nb::rv_policy::move)
        .def_prop_ro("cost", &Regions::cost)
        .def_prop_ro("violation", &Regions::violation);
}
