"""Measures of the source tree stay within limits, so that what was made simple stays simple.

A limit may be lowered, never raised: ``python tests/structure.py PART`` lists what a measure is made of.
"""

import pytest

import structure

# Tunable numbers in `src`; each one is a decision that a reader has to understand.
MOST_CONSTANTS = 150
# Names that more than one class has.
MOST_NAMES_TWICE = 0
# Modules of fewer than 80 lines that one other module imports.
MOST_SMALL_MODULES = 3
# Lines of `src` with words of our own for which the field has others.
MOST_LINES_WITH_HOME_MADE_WORDS = 0
MOST_LINES = 61_420


def test_tunable_constants_are_few():
    constants = structure.tunable_constants()
    assert sum(map(len, constants.values())) <= MOST_CONSTANTS, constants


def test_a_class_name_means_one_class():
    twice = structure.class_names_used_twice()
    assert len(twice) <= MOST_NAMES_TWICE, twice


def test_small_modules_have_several_importers():
    small = structure.small_modules_with_one_importer()
    assert len(small) <= MOST_SMALL_MODULES, small


def test_source_uses_the_words_of_the_field():
    words = {name: lines for name, lines in structure.home_made_words().items() if name.startswith("src/")}
    assert sum(map(len, words.values())) <= MOST_LINES_WITH_HOME_MADE_WORDS, words


def test_the_source_does_not_grow():
    assert structure.lines_of([*structure.python_files(), *structure.cpp_files()]) <= MOST_LINES


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("ROUNDS = 3", ["ROUNDS"]),
        ("RATE: float = -2 * 0.5", ["RATE"]),
        ("BYTES: Final = 8", []),
        ("NAME = 'a'\nFLAG = True", []),
        ("class SearchParams:\n    work: float = 3e3\n    name: str = ''", ["SearchParams.work"]),
        ("def f():\n    local = 3", []),
    ],
)
def test_constants_of_a_module_are_its_numbers_that_are_no_facts(source, names):
    assert list(structure._constants_of_module(source)) == names


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("the room left", True),
        ("mushroom", False),
        ("So many rows", True),
        ("hasRoomAfter", True),
        ("rowsWithRoom", True),
        ("lookUp_", True),
        ("mushroomRows", False),
    ],
)
def test_home_made_words_are_whole_words_in_any_case(text, is_found):
    assert bool(structure.home_made_words_of(text)) == is_found


@pytest.mark.parametrize(
    ("module", "is_found"), [("kmeans/steps.py", True), ("links.py", True), ("cli/app.py", False)]
)
def test_modules_of_the_core_do_not_talk(module, is_found):
    is_core = structure.is_core(structure.PACKAGE / module)
    assert bool(structure.home_made_words_of("# The solver says so.", is_core=is_core)) == is_found
