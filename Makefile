# Each target does its own set-up in .venv; a fresh Debian or Ubuntu needs gcc, make and Python 3.11 with venv.
#   make demo    build, verify, execute and analyse 30 layouts of the built-in example (about a minute)
#   make test    lint, types, import contracts and the tests (slow and perf ones left out)
#   make slow    the tests that take long          make perf    measure and print the figures of the README
#   make lint    the checks without the tests      make clean   remove what was made here
#   make hotspot-check  fetch, build and lay out HotSpot in $(HOTSPOT), and try every JVM (an hour and a half)
#   make matrix  build every program of the README's table with every toolchain and factor, and write the table (an hour)

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: help demo test slow perf matrix hotspot-check lint clean

PYTHON := $(shell for p in python3.11 python3.12 python3.13 python3.14 python3; do \
  if "$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo "$$p"; break; fi; done)
PIP := .venv/bin/python -m pip --quiet --disable-pip-version-check
SOURCES := src tests
# Where `make hotspot-check` works: 1.5 GB.
HOTSPOT ?= $(HOME)/layoutrand-hotspot
# Options for pytest, such as PYTEST="-k cache -x".
PYTEST ?=

help:
	@sed -n 's/^#   //p' Makefile

.venv/bin/python:
	@if [ -z "$(PYTHON)" ]; then \
	  echo "layoutrand needs Python 3.11 or later with venv: sudo apt-get install python3 python3-venv" >&2; exit 1; fi
	@echo "setting up .venv with $(PYTHON)"
	@"$(PYTHON)" -m venv .venv

# The stamps depend on pyproject.toml: a changed dependency is installed, an unchanged one costs nothing.
.venv/demo.stamp: pyproject.toml | .venv/bin/python
	@$(PIP) install -e . && touch $@

.venv/test.stamp: pyproject.toml | .venv/bin/python
	@echo "installing what the tests need"
	@$(PIP) install -e '.[test]' && touch $@ .venv/demo.stamp

demo: .venv/demo.stamp
	@.venv/bin/layoutrand demo

lint: .venv/test.stamp
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/ruff format --check --quiet $(SOURCES)
	@.venv/bin/mypy
	@.venv/bin/lint-imports > .venv/lint-imports.log || { cat .venv/lint-imports.log; exit 1; }

test: lint
	@.venv/bin/pytest -n auto --dist worksteal $(PYTEST)

slow: .venv/test.stamp
	@.venv/bin/pytest -n auto --dist worksteal -m "slow and not perf" $(PYTEST)

perf: .venv/test.stamp
	@.venv/bin/pytest -m perf -s $(PYTEST)

matrix: .venv/test.stamp
	@LAYOUTRAND_MATRIX=write .venv/bin/pytest -m slow tests/real/test_matrix.py $(PYTEST)

hotspot-check: .venv/demo.stamp
	@LAYOUTRAND=$(CURDIR)/.venv/bin/layoutrand examples/hotspot/check "$(HOTSPOT)"

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist layoutrand-demo
