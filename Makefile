# `make book` on a fresh machine is all it takes; `make` alone lists the rest.
PYTHON      ?= python3
HOST        ?= 127.0.0.1
PORT        ?= 8000
# One more than two cores, since each waits a third of its time: for a browser, a kernel, a clock.
WORKERS     ?= 3
# DEV= leaves out what only the tests need.
DEV         ?= requirements-dev.txt
LAB_OPTIONS ?=
VENV        := .venv
BIN         := $(VENV)/bin
PIP         := $(BIN)/python -m pip install --disable-pip-version-check --quiet
SITE        := _build/html
READY       := $(VENV)/.installed
PYTEST       = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup --no-loadscope-reorder

.DEFAULT_GOAL := help
.PHONY: help install book test check lint lab lab-settings serve fetch clean

help:     ## list these verbs
	@sed -n 's/^\([a-z]*\): *[^#]*## /  make \1\t/p' $(MAKEFILE_LIST) | expand -t 16

install: $(READY)    ## create .venv and install everything, the embedded checkpoint included

$(READY): requirements.txt requirements-dev.txt requirements-embedded.txt pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"vitbook needs Python 3.11 or newer and {sys.executable} is {sys.version.split()[0]}: make PYTHON=/path/to/python3.11")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing into $(VENV): some minutes and 2 GB the first time"
	@$(PIP) -r requirements.txt $(addprefix -r ,$(DEV))
	@$(PIP) --no-deps --require-hashes -r requirements-embedded.txt
	@touch $@
	@echo "Installed. Next: make book, then make serve; or make lab"

book: $(READY)       ## build the book, strictly: every chapter runs afresh, errors and warnings fail
	@$(BIN)/python -m vitbook fetch --optional
	@mkdir -p $(SITE) && test -w $(SITE) || { echo "The book is built in $(CURDIR)/_build, where nothing can be written: copy it to a folder of yours, and build there." >&2; exit 1; }
	@$(BIN)/python -m bookbuild

test: lint           ## lint, the strict build, then all tests: every unit, and every page in a real browser
	$(MAKE) book
	VITBOOK_SITE=$(SITE) $(PYTEST)

# The fast units wait for nobody.
check: WORKERS = 2
check: lint          ## for daily work, in less than a minute: lint, and the unit tests that are fast
	$(PYTEST) -m "not book and not browser and not lab and not slow"

lint: $(READY)       ## ruff, and the vendored files against their table
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python tools/vendor.py --check

lab: $(READY) lab-settings    ## open JupyterLab, where the chapters open as notebooks
	$(BIN)/jupyter lab --ip=$(HOST) $(LAB_OPTIONS) --notebook-dir=. --LabApp.default_url=/lab/tree/book/intro.md

lab-settings:         # how JupyterLab opens and shows the chapters, in this environment alone
	@mkdir -p $(VENV)/etc/jupyter && cp -R lab-settings/. $(VENV)/etc/jupyter/

serve:               ## serve the built book on http://127.0.0.1:8000 (HOST=... and PORT=... say otherwise)
	$(PYTHON) tools/serve.py $(SITE) --host $(HOST) --port $(PORT)

fetch: $(READY)      ## download the reference checkpoint and the picture of two cats (needs a network)
	@$(BIN)/python -m vitbook fetch && echo "Next: make book runs every chapter afresh; it uses what is here now"

clean:               ## remove what the build made; .venv and downloads stay
	@rm -rf _build .pytest_cache .ruff_cache && echo "Clean. Next: make book"
