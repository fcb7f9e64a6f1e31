"""Every numeric tolerance of the package, named, with its reason."""

# A cost and its bound that differ by less, relative to what the cost exceeds the blocks' least costs by, count as
# equal. Not relative to the cost itself: one far row, whose cost all labels pay, would excuse any labels of the rest.
PROOF_RELATIVE = 1e-9

# Rounding of one operation in double precision, 2^-53, doubled: sums of the same n terms taken in another order
# differ by at most n times that share of the sum of magnitudes.
SUM_RELATIVE = 2.3e-16

# Sums of n real-valued demands are compared with a size bound up to n times this share of that bound (0.1 + 0.2 must
# fit into 0.3): four times what adding them up in another order may change. At least this many terms, for bounds are
# sums themselves.
DEMAND_RELATIVE = 1e-15
DEMAND_TERMS = 10

# Sums over all blocks of what they have of a resource or a share, and products of shares and whole numbers, are off
# by no more than this share of their magnitude, up to millions of rows.
TOTAL_RELATIVE = 1e-9

# Shares that users write as decimals add up to 1 up to this.
SHARE_SUM = 1e-12

# Taken off differences of costs that were rounded to single precision, relatively: a bit is 6e-8 of a number.
SINGLE_GUARD = 1e-6

# HiGHS' own feasibility and integrality tolerance in models scaled to unit costs; its default of 1e-6 would let a
# "proved" result be off in the seventh digit.
HIGHS_FEASIBILITY = 1e-9

# A difference after which less than this complement of a sum remains is computed anew: it has one digit less.
MOST_CANCELLED = 0.9

# Two runs whose objectives differ by less, relatively, found the same clustering: sums taken in another order differ
# by about n * 1e-16, different partitions of real data by far more.
SAME_OBJECTIVE = 1e-10

# An entry of a relaxed assignment this close to 0 or 1 is it: a hundred times what HiGHS' tolerance may leave.
BINARY = 1e-7

# A linear rule on the assignment is kept up to this share of its largest coefficient: HiGHS keeps rows to 1e-9.
RULE_RELATIVE = 1e-8

# Two relaxed assignments whose squared difference is less are the same one, up to what HiGHS' tolerance may leave.
STANDSTILL = 1e-12

# Eigenvalues of a symmetric m x m matrix M and sums over its entries are off by at most about m * 1e-16 * |M|; the
# semidefinite bound gives away ten times that per eigenvalue, so that rounding never lifts it above the optimum.
SDP_ROUNDING = 1e-15

# Violation from which on a relaxed clustering breaks a cut or a soft link, relative to Z_ii, to the least size of a
# cluster, in clusters, or to the largest weight of a link, and distance of its two halves from which on it has not
# converged: less is what iterations leave.
LEAST_VIOLATION = 1e-3

# A column enters the master, and its linear relaxation counts as solved, up to this share of the objective per
# cluster: HiGHS' duals carry 1e-9, and columns that gain less only prolong the tail.
PRICING_RELATIVE = 1e-9

# Taken off a proved reduced cost, relative to the profits of all blocks: the pricer's sums over n blocks are off by
# at most about n * 1e-16 of them.
PRICING_GUARD = 1e-12

# A fractional master value closer than this to 0 or 1 counts as integral; vertices with small fractions have
# denominators far below a million.
INTEGRAL = 1e-6

# Smallest excess of a Farkas certificate, per block, that proves infeasibility: certificates have entries in [0, 1]
# from a linear program solved to 1e-9, and true ones exceed by fractions with small denominators.
FARKAS = 1e-7

# Eigenvalues of a normalised Laplacian lie between 0 and 2; those that are 0 come out as about n * 1e-16.
NULL_EIGENVALUE = 1e-10

# An exchange between mixed groups that gains less, relative to all variance, is rounding.
GAIN_RELATIVE = 1e-12

# A confidence this near to a multiple of a unit, in that unit, is one.
UNIT_ROUNDING = 1e-6

# A price of a link below this share of the whole cost is rounding: it is the difference of two such costs.
PRICE_ROUNDING = 1e-9

# A dual, times the largest amount of a row, below this share of the mean cost of a row is rounding: the
# least price of a bound that does bind was 3e-5 of that cost, among the reports of some 700 random fits.
DUAL_ROUNDING = 1e-6

# Affinities that differ by more than this, relative to the largest, are not symmetric: rounding leaves far less.
SYMMETRIC = 1e-8

# Directions of less variance, as a share of the largest, count as if they had this much: a metric has the inverse.
# Anything from 1e-12 to 1e-2 gave metrics of the same quality on seven data sets.
LEAST_VARIANCE = 1e-4

# Columns that an interior-point solution of the master uses less than this are rounding.
LEAST_USE = 1e-4
# Pairs of blocks that the master puts together, or apart, by less than this are no pairs to branch on.
LEAST_FRACTION = 0.01
