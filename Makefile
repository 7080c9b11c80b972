# Everything runs in .venv, which is made at first use and left alone until pyproject.toml changes.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip -qq --disable-pip-version-check

.PHONY: demo test check lint types format cover bench docs fuzz soak interop conformance dist clean

demo: .venv/project
	@$(BIN)/python examples/demo.py

test: .venv/dev interop
	@$(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

check: lint types test

lint: .venv/dev
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check

types: .venv/dev
	@$(BIN)/mypy
	@$(BIN)/pyright --pythonpath $(BIN)/python

format: .venv/dev
	@$(BIN)/ruff check --fix-only
	@$(BIN)/ruff format

cover: .venv/dev
	@$(BIN)/python -m tests.own_coverage

bench: .venv/dev
	@$(BIN)/python -m benchmarks

docs: .venv/docs
	@$(BIN)/zensical build --clean --strict

# Hostile input for a minute each; `make fuzz FUZZ="codec sse --seconds 3600"` for longer, `--help` for more.
fuzz: .venv/dev .venv/fuzz
	@$(BIN)/python -m tests.fuzz $(FUZZ)

# A million calls, and storms beside good clients: half an hour and more; `python -m tests.soak NAME` for one of them.
soak: .venv/dev
	@$(BIN)/python -m tests.soak

# Other people's clients, servers and suites, for tests/interop and tests/conformance; outside the repository.
interop: .venv/dev
	@$(BIN)/python tests/interop/install.py

# The official suite against our server and our client, and how many of its scenarios pass.
conformance: .venv/dev interop
	@$(BIN)/python -m pytest -q -m interop tests/conformance

dist: .venv/dev
	@$(BIN)/python -m build --no-isolation

clean:
	rm -rf .venv build dist site .cache .coverage .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +

# Dependency groups need pip 25.1; the pip that Python brings may be older.
.venv/pip:
	@$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "Python 3.11 or newer is needed: make PYTHON=..."'
	@echo "Setting up .venv (once)..."
	@$(PYTHON) -m venv .venv
	@$(PIP) install --upgrade "pip>=25.1"
	@touch $@

.venv/project: .venv/pip pyproject.toml dedalus_mcp_names.pth
	@$(PIP) install --editable .
	@touch $@

# Where atheris has no wheel, fuzzing goes on without: the compiler that it would need is not demanded.
.venv/fuzz: .venv/project
	@$(PIP) install --only-binary :all: --group fuzz || echo "Fuzzing without atheris."
	@touch $@

.venv/dev: .venv/project
	@$(PIP) install --group dev
	@touch $@

.venv/docs: .venv/project
	@$(PIP) install --group docs
	@touch $@
