# make demo and make test do all the set-up themselves: Python 3.11 or newer with venv and pip is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check format lint types bench ladder clean

# Trains all models of the embedded suite, two at a time, and sets them beside the baselines; started again it trains none twice.
demo: $(RUNTIME)
	$(BIN)/python benchmarks/demo.py

test: $(STAMP)
	$(BIN)/python -m pytest -q

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(STAMP)
	$(BIN)/mypy

bench: $(STAMP)
	for script in $(filter-out benchmarks/corpus.py benchmarks/demo.py benchmarks/signs.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script || exit 1; done

# Trains a ladder of small GPTs on the embedded mini_lm, about a quarter of an hour on two free cores, and with TEXT=FILE another one on
# that text; started again it goes on.
ladder: $(STAMP)
	$(BIN)/evalkit scaling ladder --preset cpu --report reports/ladder.md
	$(if $(TEXT),$(BIN)/evalkit scaling ladder --preset cpu --text '$(TEXT)' --folder checkpoints/ladder-text --report reports/ladder-text.md)

# torch goes first and pinned: a range would take a build with several GB of CUDA libraries.
$(RUNTIME): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $(RUNTIME)

# What tests, checks and figures need besides.
$(STAMP): $(RUNTIME)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
