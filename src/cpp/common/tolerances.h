#pragma once

// How far rounding may take results of double precision. Every comparison that has to forgive rounding uses
// one of these, so that two kernels never disagree about what is equal.
namespace konstrain::tolerances {

// Relative rounding of a sum of a few terms: a gain or a step below this share of its terms is none.
inline constexpr double sum = 1e-12;
// Relative rounding of a sum over all rows, taken in any order: totals that differ by less are the same.
inline constexpr double total = 1e-10;
// A bound that is missed by less, in units of what it bounds, is kept; geometric tests widen by this share,
// so that they only ever keep more.
inline constexpr double bound = 1e-9;
// Entries of a matrix that a first-order method found are noise below this share of its diagonal.
inline constexpr double noise = 1e-6;
// Squared length, relative to that of the terms, below which a direction is rounding.
inline constexpr double direction = 1e-14;
// Where less than this share is left of the numbers that a difference is taken of, digits are lost.
inline constexpr double cancellation = 1e-3;
// Added to the diagonal of Newton's equations, relative to its entries: redundant rules, and duals that may
// all shift together, make them singular.
inline constexpr double ridge = 1e-9;
// Excess, in shares of the rows that matter, at which Newton steps at one temperature have converged.
inline constexpr double converged = 1e-3;

} // namespace konstrain::tolerances
