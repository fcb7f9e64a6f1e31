# `make demo` and `make test` work from a bare checkout: Python 3.11 or later and a C++20 compiler are all they need.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# As many processes as there are cores, four at most: some tests start processes of their own.
PYTEST := $(BIN)/python -m pytest -n auto --maxprocesses=4 --dist worksteal
# Tests start many processes; without bytecode each of them would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
SOURCES := $(shell find src/cpp tests/kernels CMakeLists.txt pyproject.toml -type f)

.PHONY: demo test test-quick test-slow coverage lint format sanitize odr perf docs examples pictures clean

demo: $(VENV)/.installed
	$(BIN)/konstrain demo

test: $(VENV)/.installed
	$(PYTEST) -m "not slow"

# For the inner loop, what fits are made of: constraints, assignment, kmeans, estimators, files. No cluster, no browser, no
# pages, no papers, no proofs, few examples of each property.
NOT_QUICK := dask studio experiments cli published mixing exact baselines datasets suggest plotting tables choosing \
	test_snippets.py test_public_api.py test_switches.py test_threads.py constraints/test_size_words.py \
	estimators/test_link_metric.py estimators/test_paper_methods.py estimators/test_soft_prices.py
test-quick: $(VENV)/.installed
	KONSTRAIN_EXAMPLES=4 $(PYTEST) -q -m "not slow and not published" $(NOT_QUICK:%=--ignore=tests/%) tests

# Everything, with all examples of each property (tests/effort.py); other tests take a quarter of them.
test-slow: $(VENV)/.installed
	KONSTRAIN_EXAMPLES=200 $(PYTEST)

# Lines and branches of the package that the tests run.
coverage: $(VENV)/.installed
	$(PYTEST) -m "not slow" --cov --cov-report=term --cov-report=html:build/coverage

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror $(filter %.h %.cpp,$(SOURCES))

format: $(VENV)/.installed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(filter %.h %.cpp,$(SOURCES))

# The engine tests against kernels built with asserts, address and undefined-behaviour checks.
sanitize: $(VENV)/.installed
	.ci/sanitize

# The kernels linked with all their types at hand: a name that two files define differently is an error.
odr: $(VENV)/.installed
	.ci/odr

# Without network: nothing is fetched, and a warning is an error.
docs: $(VENV)/.installed
	$(BIN)/sphinx-build -q -W --keep-going -b html docs build/docs
	@echo "open build/docs/index.html"

examples: $(VENV)/.installed
	$(BIN)/python examples/_draw.py build/examples

# The examples' pictures that pages show, anew; the gallery draws its own.
pictures: examples
	set -e; for picture in docs/pictures/*.png; do new=build/examples/$$(basename $$picture); if [ -f $$new ]; then cp $$new $$picture; fi; done

perf: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet -e ".[perf]" --no-build-isolation
	$(BIN)/python perf/assignment.py
	$(BIN)/python perf/kmeans.py

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.tools: $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet "scikit-build-core>=0.11" "nanobind>=2.9" cmake ninja
	@touch $@

# Editable: Python files are used in place, the compiled core is rebuilt when a source of it changed.
$(VENV)/.installed: $(VENV)/.tools $(SOURCES)
	$(BIN)/python -m pip install --quiet --no-build-isolation -e ".[dev]"
	@cp $(VENV)/lib/python3*/site-packages/konstrain/_core.pyi src/konstrain/  # for type checkers and editors
	@touch $@
