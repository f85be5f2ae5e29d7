# `make demo`, `make test` and `make docs` do all of their own set-up: a Python 3.11 is enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test stress lint docs linkcheck bench clean
.NOTPARALLEL:

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,bench,docs]'
	touch $@

demo: .venv/installed
	$(BIN)/python examples/demo.py

test: .venv/installed
	$(BIN)/python -m pytest -n auto

# What is drawn at random, for long: an hour and a half on one core. The suite has a short run of each.
stress: .venv/installed
	$(BIN)/python benchmarks/fuzz.py --anew
	NUMBA_BOUNDSCHECK=1 $(BIN)/python benchmarks/fuzz.py --anew --cases 50000
	$(BIN)/python benchmarks/chaos.py

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/installed
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html

linkcheck: .venv/installed
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/linkcheck

# Every script with a function `main`, one after the other. `make bench-startup` runs one; `make -k bench` goes on after a failure.
# What comes neither with structune nor with its data: RFAM_SEED, a file that rna_alignments needs, and ETERNAFOLD, one that
# rna_accuracy takes.
BENCHMARKS := $(filter-out fuzz_atheris tables $(if $(RFAM_SEED),,rna_alignments), \
    $(patsubst benchmarks/%.py,%,$(shell grep -l '^def main' benchmarks/*.py)))
BENCH_flat_tables = && $(BIN)/python benchmarks/flat_tables.py --sensitivity
BENCH_multiple_alignment = build/alignments
BENCH_rna_accuracy = $(ETERNAFOLD)
BENCH_rna_alignments = $(RFAM_SEED)
BENCH_tuning_regret = && $(BIN)/python benchmarks/tuning_regret.py --starts

bench: $(BENCHMARKS:%=bench-%)
	$(BIN)/python benchmarks/tables.py

bench-%: .venv/installed
	$(BIN)/python benchmarks/$*.py $(BENCH_$*)

clean:
	rm -rf .venv demo_output docs/_build docs/generated
