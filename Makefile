# `make help` lists the targets. Each does all the set-up it needs.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip install --quiet --disable-pip-version-check --constraint constraints.txt

# Debian's pip knows no dependency groups
GROUP := $(PIP) pip && $(PIP) --group

RUST_SOURCES := $(shell find crates -name '*.rs') $(shell find crates -name Cargo.toml) Cargo.toml Cargo.lock

# The page's program, made of web/ by npm where Node is.
BUNDLE := python/heatsoak/report/page/bundle/page.js
WEB_SOURCES := $(shell find web -type d \( -name node_modules -o -name '.*' \) -prune -o -type f -print 2>/dev/null) python/heatsoak/report/page/palette.json

# Tests start hundreds of processes, each of which would compile all of heatsoak anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help build demo reproduce test test-fast verify soak test-vm fuzz lint format docs bench wheel calibrate weights validation container clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: $(VENV)/.built $(BUNDLE) ## Build the program into .venv; .venv/bin/heatsoak is it

demo: build ## Run the Puget matrix on the simulated 950 PRO; its table and report.html
	$(BIN)/heatsoak demo

reproduce: build ## Hold the simulated drives against every published figure
	$(BIN)/heatsoak lab reproduce

# many tests wait for fio, for heat or for what a drive does: four processes on two cores; sizes and names of sources
# are no behaviour: make lint looks at them
test: build $(VENV)/.tested $(VENV)/.tools ## Run the tests: all that is deterministic
	cargo test --workspace --tests --quiet
	$(BIN)/python build_backend/page_bundle.py test
	$(BIN)/pytest -n 4 --dist worksteal -m "not long and not soak" --ignore=tests/test_tidy.py

test-fast: build $(VENV)/.tested $(VENV)/.tools ## Run the tests of the inner loop, under a minute
	cargo test --workspace --tests --quiet
	$(BIN)/pytest -n 2 --dist worksteal -m "not slow and not long and not soak" --hypothesis-profile inner-loop

# with DEMO=target/wheel-demo, the wheel's demo is looked at, and no other is made
verify: build $(VENV)/.tested $(VENV)/.tools ## Run fuzzing, faults, statistics and real time, with fixed seeds
	$(BIN)/pytest -n 4 --dist worksteal -m "long and not soak" $(if $(DEMO),--demo="$(DEMO)")

SOAK ?= 1h
soak: build $(VENV)/.tested $(VENV)/.tools ## Run the same and more with fresh seeds, for as long as SOAK=2h says
	$(BIN)/python scripts/soak.py $(SOAK)

test-vm: build $(VENV)/.tested $(VENV)/.tools ## Run heatsoak on an emulated NVMe drive, under Debian's kernel: minutes
	scripts/vm-tools target/vm-kernel
	$(BIN)/pytest vm

fuzz: build ## Feed the importer's readers a million damaged files each: an hour or more
	$(GROUP) fuzz
	$(BIN)/python tests/importer/fuzz.py all --runs 1000000

lint: build $(VENV)/.tested ## Check format, style, types, unused names, sizes, and which room imports which
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- --deny warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/stubtest heatsoak._core
	PYTHONPATH=benches $(BIN)/lint-imports
	$(BIN)/python scripts/unused.py
	$(BIN)/pytest -n 0 tests/test_tidy.py
	$(BIN)/python build_backend/page_bundle.py lint

format: $(VENV)/.tested ## Format all sources
	cargo fmt --all
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

docs: $(VENV)/.documented ## Build the documentation as a site, target/site/index.html; a broken link is an error
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet -c docs . target/site
	@echo "target/site/index.html"

bench: build $(VENV)/.tested $(VENV)/.tools ## Print speeds as ratios in one run
	$(BIN)/python benches/run.py

wheel: $(BUNDLE) $(VENV)/.tools ## Make wheel and source archive in dist/, and try them where neither Rust nor Node is
	$(GROUP) wheel
	@# the manual pages are made of heatsoak's help, for which it is imported
	$(PIP) $$($(BIN)/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'])")
	$(BIN)/python scripts/wheel.py

calibrate: build ## Fit the simulated 950 PRO to the published figures again, and write it down
	$(BIN)/heatsoak calibrate --write python/heatsoak/catalog

weights: build $(VENV)/.tested ## Fit what evidence is worth to the labelled corpus again, and write it down
	$(BIN)/python benches/weights.py

validation: build $(VENV)/.tested ## Leave cells out, and write benches/validation.md with its pictures again: minutes
	$(BIN)/python benches/validation.py

container: ## Build the container image from the wheel in dist/: docs/installing.md
	scripts/container

clean: ## Remove what was built
	rm -rf $(VENV) target dist web/node_modules $(dir $(BUNDLE)) python/heatsoak/nbd/*.so

$(BIN)/python:
	@scripts/require "$(PYTHON)" cargo
	"$(PYTHON)" -m venv $(VENV)

# with WHEEL=dist/heatsoak-... the compiled parts are that wheel's: CI builds them once
$(VENV)/.built: $(BIN)/python pyproject.toml constraints.txt $(RUST_SOURCES)
	@echo "building heatsoak (the first time takes a minute or two)"
	$(PIP) $(if $(WHEEL),--config-settings "wheel=$(WHEEL)") --editable .
	$(BIN)/python build_backend/man_pages.py $(VENV)/share/man/man1
	@# where Python may not write bytecode, every start would compile all that it imports
	$(BIN)/python -m compileall -q python
	@touch $@

# without Node this only warns, each time
$(BUNDLE): $(WEB_SOURCES) | $(BIN)/python
	$(BIN)/python build_backend/page_bundle.py

$(VENV)/.tested: pyproject.toml constraints.txt | $(BIN)/python
	$(GROUP) dev
	@touch $@

$(VENV)/.documented: pyproject.toml constraints.txt | $(VENV)/.built
	$(GROUP) docs
	@touch $@

$(VENV)/.tools: scripts/debian-tools
	scripts/debian-tools
	@touch $@
