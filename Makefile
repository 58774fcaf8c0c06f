# `make demo` and `make test` do all set-up themselves: they make .venv with pip and need nothing but Python 3.11+.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check
BUILD  ?= build

.PHONY: help reports demo demo-train test test-kit test-slow lint docs dist bench fuzz corpus check-tsa check-gpu clean

help:
	@echo 'make demo        freeze, verify, decide and render a small study and a published one (no torch)'
	@echo 'make test        every test; downloads torch 2.13 (see README)'
	@echo 'make test-kit    every test that needs no torch'
	@echo 'make demo-train  train, evaluate and decide 2 seeds x 2 arms on a CPU (a quarter of an hour)'
	@echo 'make lint        ruff and mypy;  make bench  benchmarks;  make test-slow  the slow checks'
	@echo 'make docs        the documentation site, with the reference of the library;  make dist  the wheel'
	@echo 'make check-tsa   ask every configured timestamping authority (needs a network)'
	@echo 'make check-gpu   kernels, memory, engine and weight push of the full tier (needs one GPU; never run yet)'

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade pip

$(VENV)/.kit: $(BIN)/python pyproject.toml
	$(PIP) --editable .
	touch $@

$(VENV)/.dev: $(VENV)/.kit
	$(PIP) --editable '.[dev]'
	touch $@

# torch first and alone, so that its exact pin chooses the wheel before anything else asks for it
$(VENV)/.study: $(VENV)/.dev
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[study,dev]'
	touch $@

demo: $(VENV)/.kit
	PATH="$(CURDIR)/$(BIN):$$PATH" BUILD="$(BUILD)/demo" sh examples/demo.sh

demo-train: $(VENV)/.study
	PATH="$(CURDIR)/$(BIN):$$PATH" BUILD="$(BUILD)/demo-train" sh examples/train_demo/run.sh

test: $(VENV)/.study
	$(BIN)/python -m pytest -n 2 --dist loadfile

test-kit: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile -m 'not torch and not slow'

test-slow: $(VENV)/.study
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# a warning of Sphinx is an error: a page that is in no table of contents, a docstring that does not parse
docs: $(VENV)/.dev
	$(PIP) --editable '.[docs]'
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs $(BUILD)/docs
	@echo '$(BUILD)/docs/index.html'

dist: $(BIN)/python  # the wheel and the source archive, as a package index gets them
	$(PIP) build
	$(BIN)/python -m build --outdir $(BUILD)/dist

# the published study's outcomes as they stand in the repository; a test holds them to the registers
reports: $(VENV)/.kit
	rm -rf reports/paired-rollouts
	$(BIN)/prereg decide --register registers/runs.parquet --out reports/paired-rollouts >/dev/null
	for form in md html csv; do \
	  $(BIN)/prereg render reports/paired-rollouts/verdicts.json --format $$form --out reports/paired-rollouts/outcomes.$$form; \
	done

bench: $(VENV)/.study
	for script in benchmarks/*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

fuzz: $(VENV)/.dev  # coverage-guided where atheris is installed (the `fuzz` extra), else structured mutations alone
	$(BIN)/python tests/fuzz/fuzz_token.py --seconds 600

corpus: $(VENV)/.dev  # small repositories with planted manipulations, and honest ones: how many the audit tells apart
	$(BIN)/python -m tests.corpus.measure

check-tsa: $(VENV)/.kit
	$(BIN)/prereg trust check

check-gpu: $(VENV)/.study
	$(PIP) --editable '.[study,gpu]'
	$(BIN)/python -m study.training.gpu_check

clean:
	rm -rf $(BUILD) .pytest_cache .mypy_cache .ruff_cache .hypothesis
