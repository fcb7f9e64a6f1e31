"""What the library says, in the words of someone who typed options: `--size-min`, not `size_min`."""

import re

# The names of arguments that stand in messages, and what they are on the command line.
_OPTIONS = {
    "size_min": "--size-min",
    "size_max": "--size-max",
    "share_min": "--share-min",
    "share_max": "--share-max",
    "share_tolerance": "--share-tolerance",
    "n_clusters": "-k",
    "must_link": "must-link",
    "cannot_link": "cannot-link",
    "sample_weight": "--weight",
    "time_limit": "--time-limit",
    "part_size": "--part-size",
    "violation_cost": "--violation-cost",
    "random_state": "--seed",
    "n_init": "--n-init",
}
# What the library advises programmers to do, and what those can do who have options only.
_PHRASES = {
    r"within max_iter=(\d+) iterations; raise max_iter": r"within \1 iterations",
    r" \(n_init, random_state\); on_failure='continue' breaks links instead and counts them;": " (--seed);",
    r"\b(share_\w+) names (.*=.*,.*), but no row of (.*)": (
        r"\1 names \2, but no row of \3; several shares are given one by one: \1 F=0.4 \1 M=0.4"
    ),
    r"\bConstrainedKMeans\b": "--method constrained-kmeans",
    r"\bExactKMeans\b": "'konstrain exact'",
}
_ARGUMENT = re.compile(rf"\b({'|'.join(_OPTIONS)})\b(=(?=\d))?")


def for_the_command_line(words: str) -> str:
    """Return a message of the library with options in place of arguments.

    Examples
    --------
    >>> for_the_command_line("but n_clusters=3; lower size_min or raise n_clusters to at least 4")
    'but -k 3; lower --size-min or raise -k to at least 4'
    """
    for phrase, option in _PHRASES.items():
        words = re.sub(phrase, option, words)
    return _ARGUMENT.sub(lambda found: f"{_OPTIONS[found[1]]}{' ' if found[2] else ''}", words)
