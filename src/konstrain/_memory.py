"""Memory: how much of a large array is computed at a time, and what is too large to be written out."""

from collections.abc import Iterator

# Numbers computed at a time, 8 MB of doubles; larger: fewer calls, and more memory.
CELLS = 1 << 20
# Numbers of one array that is kept, 64 MB, so that several fit into a worker of 1 GB.
KEPT_NUMBERS = 8 * CELLS
# Numbers beyond which an array that a user may request unknowingly is refused: half a gigabyte or a few; larger:
# larger problems, and more machines that run out of memory.
MOST_NUMBERS = 50_000_000
# Rows that suffice to estimate what holds for all of them; larger: surer estimates, in quadratic time and memory.
SAMPLE_ROWS = 2_000
# Rows of a sample in which a search over all rows begins; larger: better results, later.
SEARCHED_ROWS = 20_000


def chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Yield the rows of a table of this shape, as many at a time as make up `CELLS` numbers, and at least one."""
    step = max(1, CELLS // max(1, n_columns))
    return (slice(begin, begin + step) for begin in range(0, n_rows, step))
