# Each target does its own set-up in .venv.  A fresh Debian or Ubuntu needs gcc, libc6-dev, make, python3 and python3-venv
# (3.11 or later) for `demo` and `test`, which say in their first second what is missing.
#   make demo      build, verify, execute and analyse 30 layouts of the built-in example (about a minute)
#   make test      the tests, without the slow ones; those for tools that are not installed are skipped, with the reason
#   make lint      style, types and import contracts, for those who change layoutrand
#   make merge     those that build programs again and again, and of the slow tests those that CI executes
#   make coverage  `make test` and what builds programs, and the lines and branches that it never executes: .venv/coverage/html (half an hour)
#   make slow      all that takes long, `fresh` and `versions` included (some hours; a sixth of its tests: PART=2/6)
#   make fresh     both commands in bare systems of other releases ($(RELEASES)), as an ordinary user; needs root
#   make versions  the tests with the oldest and with the newest versions of the libraries ($(VERSIONS))
#   make installs  install the wheel with pip, pipx and uvx in bare systems ($(INSTALLS_ON)), and use it; needs root
#   make container do what Containerfile says in a bare system, and use it; needs root
#   make release   build sdist and wheel twice, compare and check them, write SBOM and notes to dist/, upload nothing
#                  (of what is not committed: DRAFT=1)
#   make lock      choose anew the versions in .ci/constraints.txt and .ci/constraints-lowest.txt
#   make docs      the documentation as a site in .venv/site; fails for a link that leads nowhere
#   make manual    write anew what is made of commands and keys: parts of docs/reference, manual pages, the JSON Schema of
#                  layoutrand.toml, output that pages show
#   make perf      measure and print the figures of docs/project/figures.md
#   make hotspot-check  fetch, build and lay out HotSpot in $(HOTSPOT), and try every JVM (an hour and a half)
#   make matrix    build every program of docs/project/verified.md with every toolchain and factor, and write the table (some hours;
#                  cells that nobody has tried: MATRIX=fill)
#   make packages  build Debian's source packages under `layoutrand exec` in bare systems ($(RELEASES)), and write
#                  docs/packages.md (some hours; some of them: PACKAGES="zlib bzip2"); needs root
#   make rates     simulate how often what the commands print is true, and write docs/rates.md (hours; fewer
#                  experiments: SETS=100)
#   make inert     make hundreds of changes that change nothing, and some that do, judge them by one build, by a t test and by
#                  `layoutrand check`, and write docs/inert.md (many hours, 20 GB; some of them: INERT_ONLY=lua)
#   make faults    disturb every command: kill -9, signals, full, failing, slow and read-only disks, few open files, changed
#                  files of cache, staging and results; print how often (three quarters of an hour; fewer:
#                  FAULTS="--kills 50")
#   make clean     remove what was made here

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: help demo test merge coverage slow fresh versions lock perf matrix packages rates inert faults docs manual hotspot-check lint clean \
  needs installs container release

PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
  if "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$p"; break; fi; done)
PIP := .venv/bin/python -m pip --quiet --disable-pip-version-check
# The versions that everything here is tested with; a user's `pip install` takes the ranges of pyproject.toml.
LOCKED := --constraint .ci/constraints.txt
SOURCES := src tests
# Where `make hotspot-check` works: 1.5 GB.
HOTSPOT ?= $(HOME)/layoutrand-hotspot
# Not every shell expands the tilde of HOTSPOT=~/hotspot.
override HOTSPOT := $(patsubst ~/%,$(HOME)/%,$(HOTSPOT))
# What `make packages` builds, how many at once, and where: 10 GB.
PACKAGES ?=
JOBS ?= $(shell nproc)
PACKAGES_IN ?= /var/tmp/layoutrand-packages
# Simulated experiments in each cell of `make rates`, and where cells are kept: a run that was stopped goes on.
SETS ?= 1000
RATES_IN ?= .venv/rates
# Where `make inert` works, and a regular expression for the names of changes: a run that was stopped goes on.
INERT_IN ?= /var/tmp/layoutrand-inert
INERT_ONLY ?=
INERT_ANEW ?=
# What `make matrix` builds: all (write), or what nobody has tried (fill).
MATRIX ?= write
# Options of `make faults`: how many kills, signals and mutations.
FAULTS ?=
# Options for pytest, such as PYTEST="-k cache -x".
PYTEST ?=
# Which tests `make test` executes, where not those that pyproject.toml says: an expression of its markers.
MARKS ?=
# Which part of `make slow`, such as 2/6.
PART ?=
# Tests wait for much that they start: half as many at once again as there are CPUs.
WORKERS ?= $(shell echo $$(($$(nproc) * 3 / 2)))
# The tests start Python some thousand times: let none compile what another has.
unexport PYTHONDONTWRITEBYTECODE

help:
	@sed -n 's/^#   //p' Makefile

needs:
	@tests/tools/needs.sh "$(PYTHON)"

.venv/bin/python: | needs
	@echo "setting up .venv with $(PYTHON)"
	@"$(PYTHON)" -m venv .venv

# The stamps depend on what they install: a changed version is installed, an unchanged one costs nothing.
.venv/demo.stamp: pyproject.toml .ci/constraints.txt | .venv/bin/python
	@$(PIP) install $(LOCKED) -e . && touch $@

.venv/test.stamp: pyproject.toml .ci/constraints.txt | .venv/bin/python
	@echo "installing what the tests need"
	@$(PIP) install $(LOCKED) -e '.[test]' && touch $@ .venv/demo.stamp

.venv/lint.stamp: .venv/test.stamp
	@$(PIP) install $(LOCKED) -e '.[lint]' && touch $@

.venv/docs.stamp: pyproject.toml .ci/constraints.txt | .venv/bin/python
	@$(PIP) install $(LOCKED) -e '.[docs]' && touch $@ .venv/demo.stamp

.venv/release.stamp: pyproject.toml .ci/constraints.txt | .venv/bin/python
	@$(PIP) install $(LOCKED) -e '.[release]' && touch $@

demo: .venv/demo.stamp | needs
	@.venv/bin/layoutrand demo

lint: .venv/lint.stamp
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/ruff format --check --quiet $(SOURCES)
	@.venv/bin/mypy
	@.venv/bin/lint-imports > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }
	@shellcheck -x tests/tools/*.sh .ci/run

test: .venv/test.stamp | needs
	@tests/tools/in_memory.sh .venv/bin/pytest -n $(WORKERS) --dist worksteal $(if $(MARKS),-m "$(MARKS)") $(PYTEST)

# What CI executes beside `make test`: what builds programs, and slow tests, but for real programs, simulation studies, and seven of eight of many cases.
merge: .venv/test.stamp
	@tests/tools/in_memory.sh .venv/bin/pytest -n $(WORKERS) --dist worksteal -m "(slow or builds) and not perf and not hour" $(PYTEST)

# A failed test is no reason not to say what was executed.
coverage: .venv/lint.stamp
	@rm -rf .venv/coverage && mkdir -p .venv/coverage
	@status=0; tests/tools/in_memory.sh .venv/bin/coverage run -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not perf" $(PYTEST) || status=$$?; \
	  .venv/bin/coverage combine --quiet; .venv/bin/coverage html --quiet; .venv/bin/coverage report; exit $$status

slow: .venv/test.stamp
	@LAYOUTRAND_EXAMPLES=full LAYOUTRAND_TEST_PART=$(PART) tests/tools/in_memory.sh .venv/bin/pytest -n $(WORKERS) --dist worksteal -m "(slow or builds) and not perf" $(PYTEST)
ifneq ($(PART),)
	@echo "make slow: PART=$(PART) is of its tests alone; left out: make fresh, make installs, make container, make versions" >&2
else
	@if [ "$$(id -u)" -eq 0 ]; then $(MAKE) --no-print-directory fresh RELEASES="bookworm trixie sid noble resolute" && \
	  $(MAKE) --no-print-directory installs container; \
	  else echo "make slow: left out, for want of root: make fresh RELEASES='bookworm trixie sid noble resolute', make installs, make container" >&2; fi
	@$(MAKE) --no-print-directory versions
endif

# Both commands in bare systems, with the packages that README names and no others; with what `make test` leaves to
# `make merge` for the sake of time, since compilers and linkers differ.
RELEASES ?= bookworm trixie
fresh:
	@set -e; for release in $(RELEASES); do tests/tools/fresh.sh "$$release" 'MARKS=not slow and not perf' $(if $(PYTEST),'PYTEST=$(PYTEST)'); done

# Python 3.11, 3.12, 3.13 and 3.14.
INSTALLS_ON ?= bookworm noble trixie resolute
installs:
	@tests/tools/installs.sh $(INSTALLS_ON)

container:
	@tests/tools/containerfile.sh "layoutrand --version" "layoutrand demo"

release: .venv/release.stamp
	@tests/tools/release.sh .venv/bin/python $(if $(DRAFT),--draft)

# The tests where the libraries are the oldest that pyproject.toml allows, and where they are today's.
VERSIONS ?= lowest newest
versions: | needs
	@set -e; for which in $(VERSIONS); do tests/tools/versions.sh "$(PYTHON)" "$$which" $(PYTEST); done

lock: | .venv/bin/python
	@$(PIP) install uv
	@.venv/bin/uv pip compile --quiet --universal --python-version 3.11 --fork-strategy fewest --all-extras \
	  --upgrade --custom-compile-command 'make lock' --output-file .ci/constraints.txt pyproject.toml
	@.venv/bin/uv pip compile --quiet --python-version 3.11 --python-platform linux --resolution lowest-direct \
	  --upgrade --custom-compile-command 'make lock' --output-file .ci/constraints-lowest.txt pyproject.toml

docs: .venv/docs.stamp
	@NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict --quiet --site-dir .venv/site
	@echo "the site: .venv/site/index.html"

manual: .venv/demo.stamp
	@PYTHONPATH=tests .venv/bin/python -m manual.write

perf: .venv/test.stamp
	@.venv/bin/pytest -m perf -s $(PYTEST)

matrix: .venv/test.stamp
	@LAYOUTRAND_MATRIX=$(MATRIX) .venv/bin/pytest -m slow tests/real/test_matrix.py $(PYTEST)

packages: .venv/test.stamp
	@PYTHONPATH=tests .venv/bin/python -m packages.drive --directory "$(PACKAGES_IN)" --releases "$(RELEASES)" \
	  --packages "$(PACKAGES)" --jobs $(JOBS)

rates: .venv/test.stamp
	@PYTHONPATH=tests .venv/bin/python -m rates.drive --directory "$(RATES_IN)" --sets $(SETS) --jobs $(JOBS) \
	  --through-cli 20 --page

inert: .venv/test.stamp
	@PYTHONPATH=tests .venv/bin/python -m inert.drive --directory "$(INERT_IN)" --jobs $(JOBS) --only "$(INERT_ONLY)" \
	  --private-lists --page $(if $(INERT_ANEW),--anew)

faults: .venv/test.stamp
	@PYTHONPATH=tests .venv/bin/python -m faults.drive --jobs $(JOBS) $(FAULTS)

hotspot-check: .venv/demo.stamp
	@LAYOUTRAND=$(CURDIR)/.venv/bin/layoutrand examples/hotspot/check "$(HOTSPOT)"

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist layoutrand-demo
