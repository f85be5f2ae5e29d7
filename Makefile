# `make demo`, `make test` and `make docs` do all of their own set-up: a Python 3.11 is enough.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test lint docs linkcheck bench clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,bench,docs]'
	touch $@

demo: .venv/installed
	$(BIN)/python examples/folding.py
	$(BIN)/python examples/demo.py

test: .venv/installed
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: .venv/installed
	$(BIN)/sphinx-build -W --keep-going -n -q -b html docs docs/_build/html

linkcheck: .venv/installed
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/linkcheck

bench: .venv/installed
	$(BIN)/python benchmarks/hmm_simulation.py
	$(BIN)/python benchmarks/conll2000.py
	$(BIN)/python benchmarks/sparse_taggers.py
	$(BIN)/python benchmarks/tuning_convergence.py
	$(BIN)/python benchmarks/ocr_letters.py
	$(BIN)/python benchmarks/orders.py
	$(BIN)/python benchmarks/segments.py
	$(BIN)/python benchmarks/tagging_input.py
	$(BIN)/python benchmarks/rna_speed.py
	$(BIN)/python benchmarks/alignment_speed.py
	$(BIN)/python benchmarks/alignment_accuracy.py
	$(BIN)/python benchmarks/alignment_center.py
	$(BIN)/python benchmarks/rna_accuracy.py
	$(BIN)/python benchmarks/rna_left_out.py
	$(BIN)/python benchmarks/rna_generalization.py
	$(BIN)/python benchmarks/rna_hyperparameters.py
	$(BIN)/python benchmarks/flat_tables.py
	$(BIN)/python benchmarks/flat_tables.py --sensitivity
	$(BIN)/python benchmarks/wide_tables.py
	$(BIN)/python benchmarks/flat_groups.py
	$(BIN)/python benchmarks/ohsumed.py
	$(BIN)/python benchmarks/noisy_classes.py
	$(BIN)/python benchmarks/solvers.py
	$(BIN)/python benchmarks/rna_ramp.py
	$(BIN)/python benchmarks/tightness.py
	$(BIN)/python benchmarks/stock_direction.py
	$(BIN)/python benchmarks/constraint_gradients.py
	$(BIN)/python benchmarks/gene_speed.py
	$(BIN)/python benchmarks/gene_prediction.py
	$(BIN)/python benchmarks/prokaryotic_genes.py
	$(BIN)/python benchmarks/new_genomes.py
	$(BIN)/python benchmarks/multitask_genes.py
	$(BIN)/python benchmarks/fuzz.py
	$(BIN)/python benchmarks/chaos.py
	$(BIN)/python benchmarks/scaling.py
	$(BIN)/python benchmarks/large_tagging.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/shards.py
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/vectors.py
	$(BIN)/python benchmarks/report_picture.py
	$(BIN)/python benchmarks/front_picture.py
	$(BIN)/python benchmarks/tables.py

clean:
	rm -rf .venv demo_output docs/_build docs/generated
