# Daily words. `make run` and `make test` do all the set-up on a machine with python3 >= 3.11.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DEV_READY := $(VENV)/.ready-dev
# One more than two cores: many tests wait for processes and terminals.
WORKERS ?= 3

.DEFAULT_GOAL := help

help: ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "xun needs Python 3.11 or newer; set PYTHON=/path/to/it")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(READY): $(VENV)/bin/python pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(DEV_READY): $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

run: $(READY) ## start xun in this folder (the offline demo model when none is configured); ARGS="..." for flags
	@$(BIN)/xun $(ARGS)

test: $(DEV_READY) check ## run every check and every test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -m "not slow" $(ARGS)

check: $(DEV_READY) ## formatting, lint, types, layers
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/check_sizes.py
	$(BIN)/python scripts/builtin_tools_page.py --check

soak: $(DEV_READY) ## the longer sizes of the tests
	$(BIN)/python -m pytest -n $(WORKERS) --timeout=3600 -m "slow" $(ARGS)
	XUN_TEST_SIZE=10 $(BIN)/python -m pytest -n $(WORKERS) --timeout=3600 -m "not slow" tests/property $(ARGS)

fmt: $(DEV_READY) ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(DEV_READY) ## write docs/builtin-tools.md anew, from the tools
	$(BIN)/python scripts/builtin_tools_page.py

snap: $(DEV_READY) ## write the snapshots anew; look at the difference before you commit it
	XUN_UPDATE_SNAPSHOTS=1 $(BIN)/python -m pytest -q tests -k snapshot

bench: $(DEV_READY) ## benchmarks, as ratios against a floor of the same run
	@for file in benchmarks/bench_*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build

.PHONY: help run test check soak fmt docs snap bench clean
