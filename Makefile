# `make demo` and `make test` set up all that they need in .venv on a machine with Python 3.11 or newer.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready

.PHONY: demo test check docs benchmark clean

demo: $(READY)
	@PATH="$(CURDIR)/$(BIN):$$PATH" bash scripts/demo

test: check
	$(BIN)/python -m pytest

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(READY)
	$(BIN)/python scripts/make_reference.py

benchmark: $(READY)
	$(BIN)/python benchmarks/lint.py

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("assay needs Python 3.11 or newer, this is " + sys.version.split()[0]) if sys.version_info < (3, 11) else None'
	@echo 'Setting up $(VENV) with assay and its development tools: half a minute to a minute, once.'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --editable . --group dev
	@touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
