# Two commands on a fresh machine: `make demo` and `make test`. `make help` lists the rest.

PYTHON ?= python3
PORT ?= 8765
HOST ?= 127.0.0.1
JOBS ?= 2
VENV := .venv
BIN := $(VENV)/bin
DEMO_INSTALLED := $(VENV)/.installed-for-demo
INSTALLED := $(VENV)/.installed
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
# Both generators print a notice about MkDocs 2.0 with every command.
export NO_MKDOCS_2_WARNING := 1
export DISABLE_MKDOCS_2_WARNING := true

.PHONY: help setup lock demo test fuzz bench browser lint format screenshots clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(INSTALLED) ## make .venv and install the package with everything for demo, tests and benchmarks

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
			apt-get update -qq && apt-get install -y -qq python3-venv && $(PYTHON) -m venv $(VENV); \
		else echo "No virtual environment could be made: sudo apt-get install python3-venv" >&2; exit 1; fi; }
	@touch $@

# Python compiles what it imports; compiling all of it here takes half of the time.
$(DEMO_INSTALLED): $(VENV)/.made pyproject.toml constraints.txt
	$(PIP) --no-compile -e '.[demo,mcp]'
	@touch $@

# PyTorch by itself first: the pinned version has a CPU build, which the models' requirements do not ask for.
$(INSTALLED): $(DEMO_INSTALLED)
	$(PIP) torch
	$(PIP) -e '.[models,map,mcp,qdrant,dev]'
	@touch $@

LOCK = $(BIN)/uv pip compile - --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate -c constraints.txt

lock: setup ## pin what the Docker image installs, with hashes, after a change of constraints.txt
	$(PIP) uv
	echo hatchling | $(LOCK) -o .docker/build.txt >/dev/null
	$(BIN)/semsearch requirements --extra mcp --extra tokenizers | $(LOCK) -o .docker/image.txt >/dev/null

demo: $(DEMO_INSTALLED) ## build the documentation and serve site and search (PORT=8765)
	cd example-site && ../$(BIN)/mkdocs build --quiet --strict
	cd example-site && ../$(BIN)/semsearch serve --site site --host $(HOST) --port $(PORT)

# Files go to the workers whole and in their order: fixtures are made once, and browser tests stay last.
test: setup browser ## run every test (JOBS=2 side by side)
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

fuzz: setup ## look for inputs that break a parser, a minute together (SECONDS=13 each, SEED=1 repeats, JOBS=2 side by side)
	@$(BIN)/python -c 'import atheris' 2>/dev/null || $(BIN)/python -m pip install --quiet atheris
	printf '%s\n' manifest filters html requests routes index_files mcp tool tokenizer | xargs -P $(JOBS) -I {} \
	  env PYTHONPATH=. $(BIN)/python tests/fuzz/fuzz_parsers.py {} --seconds $(or $(SECONDS),13) --seed $(or $(SEED),0)

bench: setup ## measure speed, size and cost, beside others (QUICK=1: only whether it runs)
	@for peer in $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["bench"])'); do \
		$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "$$peer" || echo "$$peer cannot be installed here: it is left out"; done
	$(BIN)/python benchmarks/run_all.py $(if $(QUICK),--quick) $(if $(SITE),--site $(SITE))

# Debian's Chromium drives the browser tests, and Firefox a few; Playwright's own browsers are not downloaded.
browser:
	@for browser in chromium firefox-esr; do command -v $$browser >/dev/null 2>&1 || { \
		if [ "$$(id -u)" = 0 ]; then apt-get update -qq && apt-get install -y -qq $$browser >/dev/null; \
		elif sudo -n true 2>/dev/null; then sudo apt-get update -qq && sudo apt-get install -y -qq $$browser >/dev/null; \
		fi; } || true; done

lint: setup ## style, formatting and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

screenshots: setup browser ## take the pictures of the search dialog that the documentation shows
	$(BIN)/python example-site/screenshots.py
	$(BIN)/python example-site/insights_pictures.py

clean: ## remove what was built; .venv stays
	rm -rf dist example-site/site example-site/semsearch-index .mypy_cache .ruff_cache .pytest_cache
