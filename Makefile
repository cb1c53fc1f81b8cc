# make demo and make test do all the set-up themselves: Python 3.11 or newer with venv and pip is enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test check format lint types bench ladder clean

# Models of the embedded suite that a laptop trains in minutes, each with the tasks that it is for.
DEMO := bert-mini-cws:mini_cws bert-mini-ner:mini_ner gpt-mini-lm:mini_lm t5-mini-mt:mini_mt_en_zh

demo: $(STAMP)
	for pair in $(DEMO); do $(BIN)/evalkit train --recipe $${pair%%:*} || exit 1; done
	$(BIN)/evalkit run --task 'mini_*' --model baseline:all --out runs/demo
	for pair in $(DEMO); do \
	  $(BIN)/evalkit run --task $${pair##*:} --model checkpoints/$${pair%%:*} --out runs/demo || exit 1; \
	done
	$(BIN)/evalkit report runs/demo --out runs/demo.html

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
	for script in $(filter-out benchmarks/corpus.py,$(wildcard benchmarks/*.py)); do $(BIN)/python $$script || exit 1; done

# Trains a ladder of small GPTs on the embedded mini_lm, about a quarter of an hour on two free cores, and with TEXT=FILE another one on
# that text; started again it goes on.
ladder: $(STAMP)
	$(BIN)/evalkit scaling ladder --preset cpu --report reports/ladder.md
	$(if $(TEXT),$(BIN)/evalkit scaling ladder --preset cpu --text '$(TEXT)' --folder checkpoints/ladder-text --report reports/ladder-text.md)

# torch goes first and pinned: a range would take a build with several GB of CUDA libraries.
$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt torch
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
