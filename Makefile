# The two commands are `make run` and `make test`; each does all the set-up it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
TESTABLE := $(VENV)/.testable

.PHONY: run test check format bench fuzz soak otlp audit stand-in-clients conformance release-check docs scale bench-inspector clean

run: $(INSTALLED)
	$(BIN)/mcp-loupe serve demo:flat demo:progressive

# Hundreds of processes start from this tree: compiled once, also where PYTHONDONTWRITEBYTECODE is set.
test: $(TESTABLE) check
	tests/chromium.sh
	$(BIN)/python -m compileall -q inspector tests benchmarks
	$(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -q

check: $(TESTABLE)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/djlint --lint --quiet templates
	$(BIN)/codespell

format: $(TESTABLE)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(TESTABLE)
	$(BIN)/python -m benchmarks

$(VENV)/bin/pip:
	$(PYTHON) -c 'import sys; sys.exit("Loupe needs Python 3.11 or newer; set PYTHON=…") if sys.version_info < (3, 11) else 0'
	$(PYTHON) -m venv $(VENV)

$(INSTALLED): pyproject.toml hatch_build.py | $(VENV)/bin/pip
	$(BIN)/pip install --quiet -e .
	touch $@

$(TESTABLE): pyproject.toml hatch_build.py | $(VENV)/bin/pip
	$(BIN)/pip install --quiet -e '.[test]'
	touch $@ $(INSTALLED)

clean:
	rm -rf $(VENV) static/vendor build dist

# 500 generated schemas, each way between a form and its arguments; a minute or so.
fuzz: $(TESTABLE)
	LOUPE_FUZZ=500 $(BIN)/pytest -q --hypothesis-show-statistics tests/catalog/test_form_property.py

otlp: $(TESTABLE)
	$(BIN)/python -m benchmarks.receiver

soak: $(TESTABLE)
	$(BIN)/python -m benchmarks.soak

# Needs npm: brings the official Inspector's CLI, then lets it and the SDK's client talk to a stand-in.
stand-in-clients: $(TESTABLE)
	tests/inspector_cli.sh
	$(BIN)/pytest -q tests/replay/test_stand_in_clients.py

conformance: $(TESTABLE)
	tests/conformance.sh

# Needs the network: asks PyPI's advisory database about every installed package; what cannot be asked about fails, too.
audit: $(TESTABLE)
	$(PYTHON) -m venv .venvs/audit
	.venvs/audit/bin/pip install --quiet pip-audit
	$(BIN)/pip freeze --exclude-editable >.venvs/audit/installed.txt
	.venvs/audit/bin/pip-audit --strict --no-deps --disable-pip --progress-spinner off -r .venvs/audit/installed.txt

# Needs the network: sdist and wheel as released, in a fresh environment, through uvx and through pipx.
release-check: $(VENV)/bin/pip
	tests/release_check.sh

# Needs npm: the commands of docs/ once more, those that bring a server from npm too. Pictures: python docs/make_pictures.py.
docs: $(TESTABLE)
	LOUPE_NPM=1 $(BIN)/pytest -q tests/cli/test_docs_commands.py

# Some minutes: a million events, 200 sessions, 10,000 tools, 24 connections, 5,000 frames a second, watched in Chromium.
scale: $(TESTABLE)
	tests/chromium.sh
	$(BIN)/python -m benchmarks.scale

# Needs npm: the official Inspector beside us, one table.
bench-inspector: $(TESTABLE)
	tests/chromium.sh
	tests/inspector_cli.sh
	$(BIN)/python -m benchmarks.beside
