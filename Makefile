# make run     install, run the ladder of reference kernels in the simulator, and say what to do next
# make test    install, then run the short suite: all but the tests that tests/slow.txt lists, minutes
# make test-all every test, as CI does; test-times: the same three times, then the list of slow tests
# make hint STEP=5: the TODOs of step 5 in gemm_kernels.py, and a hint for the first one that is open
# make handin  build handin.tar from gemm_kernels.py, check it as the grader will, and print the score to expect
# make lint    ruff and pyright
# make web     build the scripts and the styles of the pages
# make pythons install a part of the packages and run a part of the tests on each other Python from 3.10 that is found
# make docs    build the site of the course into build/site; open build/site/index.html
# make calls   print the sheet of all calls into build/calls.pdf
# make slides  build the slides of the course into build/slides, as HTML and PDF
# make stubs   write the types of the language that editors read
# make reference write the pages of docs/reference from docstrings and tables
# make figures draw the pictures of the documentation, and fill in the figures that its pages quote
# make mutants how many mistakes in the reference kernels the simulator catches (minutes)
# make autograders what Gradescope and Autolab grade with, into build/autograders (RULES=grading.toml: your own rules)
# make fuzz    whether randomly damaged kernels break anything inside the package (minutes); FUZZ=--misuse: wrong calls
# make install what test, lint, docs and slides need; each of them installs its part, too
# make clean   remove the environment and the caches
#
# STEP and TODO say which hint, LEVEL=1, 2 or 3 how much it tells, KERNELS another file than gemm_kernels.py:
#   make hint STEP=5 TODO=2 LEVEL=2
# PYTHON chooses the interpreter (3.10 or newer), VENV the environment's folder; LADDER, PYTEST, MUTANTS and FUZZ add
# arguments, and TIMES names a file for the CPU seconds of each test:
#   make run LADDER='--steps 1-3 --size 1024'
#   make test-all PYTEST='tests/tirx_mini/layout'
#   make mutants MUTANTS='--steps 7 --list caught'
# pip's own settings apply (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS, …).

PYTHON ?= python3
VENV ?= .venv
JOBS ?= 2
LADDER ?=
PYTEST ?=
TIMES ?=
MUTANTS ?=
FUZZ ?=
STEP ?=
TODO ?=
LEVEL ?=
KERNELS ?=
RULES ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install -qq --constraint constraints.txt
REQUIREMENTS := pyproject.toml constraints.txt

# A stamp a set of packages: the second run of any target starts at once.
BASE := $(VENV)/.installed
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs
WEB := $(patsubst %,web/%/node_modules/.installed,timeline play)
DECK := slides/node_modules/.installed

.DEFAULT_GOAL := help
.PHONY: help run test test-all test-times test-drift hint handin lint web pythons mutants docs calls slides stubs reference figures autograders fuzz install clean

help:
	@sed -n 's/^# \{0,1\}//p;/^$$/q' Makefile

run: $(BASE)
	@$(BIN)/python -m tirx_mini ladder $(LADDER)
	@echo
	@echo "Next, activate the environment (in each new terminal), and find the wrong line of the first kernel:"
	@echo "    source $(BIN)/activate"
	@echo "    pytest tests/test_step01.py --kernels first_kernel.py"
	@echo "docs/steps/step01.md goes on from there, and docs/index.md is the way through the course."

# The step tests judge the reference kernels here; a student's `pytest tests/test_step01.py` judges gemm_kernels.py.
RUN_TESTS = $(BIN)/python -m pytest --quiet --numprocesses $(JOBS) --kernels=kernels_ref

test: $(DEV) $(WEB) $(DECK)
	$(RUN_TESTS) --short $(PYTEST)

test-all: $(DEV) $(WEB) $(DECK)
	$(RUN_TESTS) $(TIMES:%=--cpu-times=%) $(PYTEST)

test-times: $(DEV) $(WEB) $(DECK)
	for run in 1 2 3; do $(RUN_TESTS) --cpu-times=build/times/$$run.json || exit; done
	$(BIN)/python -m tools.suites write build/times/1.json build/times/2.json build/times/3.json

test-drift:
	@$(BIN)/python -m tools.suites drift $(TIMES)

hint: $(BASE)
	@$(BIN)/python -m tirx_mini hint $(STEP) $(TODO) $(LEVEL:%=--level %) $(KERNELS:%=--kernels %)

handin: $(BASE)
	@$(BIN)/python -m tirx_mini handin $(KERNELS)

lint: $(DEV)
	$(BIN)/ruff check .
	PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(BIN)/pyright --pythonpath $(BIN)/python

web: $(WEB)
	cd web/timeline && node build.mjs
	cd web/play && node build.mjs

pythons: $(DEV)
	$(BIN)/python -m tools.interpreters --jobs $(JOBS)

mutants: $(BASE)
	$(BIN)/python -m tools.mutants --jobs $(JOBS) $(MUTANTS)

# The banner that the variable hides advertises another tool.
docs: $(DOCS)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict
	@echo "The site is in build/site: open build/site/index.html"

# The PDF is printed by the system's Chromium or Chrome.
calls: $(DOCS)
	$(BIN)/python -m tools.sheet

slides: $(BASE) $(DECK)
	$(BIN)/python -m tools.slides

stubs: $(BASE)
	$(BIN)/python -m tools.stubs

reference: $(BASE)
	$(BIN)/python -m tools.reference

figures: $(BASE)
	$(BIN)/python -m tools.figures

autograders: $(BASE)
	$(BIN)/python -m tools.autograders $(RULES:%=--rules %)

fuzz: $(BASE)
	$(BIN)/python -m tools.fuzz --jobs $(JOBS) $(FUZZ)

install: $(DEV) $(WEB) $(DECK)

clean:
	rm -rf $(VENV) build *.egg-info .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "tirx_mini needs Python 3.10 or newer, and $(PYTHON) is " + sys.version.split()[0] + ": say which with make PYTHON=…")'
	$(PYTHON) -m venv $(VENV)

# setuptools comes first and builds the package itself, so that no build environment of another version is made.
$(BASE): $(BIN)/python $(REQUIREMENTS)
	@echo "Installing tirx_mini into $(VENV)"
	@$(INSTALL) setuptools
	@$(INSTALL) --no-build-isolation --editable '.[course]'
	@touch $@

# What builds the pages and checks them, at the versions of package-lock.json; without npm those tests are skipped.
$(WEB): web/%/node_modules/.installed: web/%/package.json web/%/package-lock.json
	@if command -v npm > /dev/null; then cd web/$* && npm ci --silent --no-fund --no-audit; else mkdir -p $(@D); fi
	@touch $@

$(DECK): slides/package.json slides/package-lock.json
	@if command -v npm > /dev/null; then cd slides && npm ci --silent --no-fund --no-audit; else mkdir -p $(@D); fi
	@touch $@

$(DEV): $(BASE)
	@echo "Installing the development tools into $(VENV)"
	@$(INSTALL) --no-build-isolation --editable '.[dev]'
	@touch $@ $(DOCS) # which are among them

$(DOCS): $(BASE)
	@echo "Installing what builds the documentation into $(VENV)"
	@$(INSTALL) --no-build-isolation --editable '.[docs]'
	@touch $@
