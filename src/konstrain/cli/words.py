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


# A name of a column or a cell, which may hold anything; the beginning of an option; something in brackets.
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""", re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--?(?=[a-z])")
_IN_BRACKETS = re.compile(r" \([^()]*\)")


def without_options(words: str) -> str:
    """Return a note without what could be typed: advice that names an option is left out, names stay as words.

    Examples
    --------
    >>> without_options("column 'a; --b' has no values: left out; --columns takes it as a feature")
    "column 'a; --b' has no values: left out"
    >>> without_options("each number gets mean 0 (--no-standardize leaves them)")
    'each number gets mean 0'
    >>> without_options("not seen by the bound: --size-min")
    'not seen by the bound: size-min'
    """
    quoted: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        quoted.append(found[0])
        return f"\0{len(quoted) - 1}\0"

    first, *others = _QUOTED.sub(set_aside, words).split("; ")
    plain = "; ".join([first, *(clause for clause in others if not _OPTION.search(clause))])
    plain = _IN_BRACKETS.sub(lambda found: "" if _OPTION.search(found[0]) else found[0], plain)
    return re.sub("\0([0-9]+)\0", lambda found: quoted[int(found[1])], _OPTION.sub("", plain))
