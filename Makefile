# What is done often, one line a target: `make help`. GNU make.
PYTHON_VENV := .venv/bin/python
KM_TEST_SEED ?=
WHAT ?=
PYTEST := $(PYTHON_VENV) -m pytest -n auto --maxprocesses 8 $(if $(KM_TEST_SEED),--slow-seed $(KM_TEST_SEED)) $(if $(WHAT),--what $(WHAT))

.DEFAULT_GOAL := help
.PHONY: help setup setup-guests setup-test run test test-all test-distribution test-elsewhere studies campaign campaign-trio campaign-probe campaign-reader campaign-power campaign-faults lint format lock clean distclean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

setup: ## installs what is missing for measuring: system packages, then .venv from the locked requirements
	@scripts/setup run

setup-guests: ## installs what guests need in addition: QEMU, zstd, busybox, tools for their disks
	@scripts/setup guests

setup-test: ## the same, and what the tests need in addition
	@scripts/setup test

run: setup ## measures this machine, then Linux and Trio by path: tables, an answer, build/report.html
	@.venv/bin/kernometer run --profile quick --report build/report.html --beside-last; measured=$$?; \
	[ $$measured -le 1 ] || exit $$measured; \
	scripts/setup guests || [ $$? -ne 130 ] || exit 130; \
	.venv/bin/kernometer structures --also @last --report build/report.html || [ $$? -ne 130 ] || exit 130; \
	exit $$measured

test: setup-test ## every test that is not slow, and a 150th of the slow ones, by the commit's day (KM_TEST_SEED=N: that one; WHAT=FOLDER: what concerns this folder of the sources)
	@$(PYTEST) --slow-share 150

test-all: setup-test ## every test
	@$(PYTEST) --slow-share 1

test-distribution: setup-test ## the tests that touch the distribution: its compilers, libraries, QEMU, Python, packages
	@$(PYTEST) -m distribution

test-elsewhere: setup-test ## make run, and those tests, in a bare root of the other Debian (WORDS=--help: its options)
	@scripts/elsewhere $(WORDS)

studies: setup-test ## the studies' tables and pages, from their stored sessions; pages go to build/studies
	@$(PYTHON_VENV) -m studies

campaign: campaign-trio campaign-probe campaign-reader campaign-power campaign-faults ## all campaigns (WORDS=--write: puts their results into pages)

campaign-trio: setup-test ## ten million random calls against Trio, and sequences of them (WORDS=--help: its options)
	@PYTHONPATH=.:trio/tools $(PYTHON_VENV) -m tests.campaigns.trio $(WORDS)

campaign-probe: setup-test ## a million faults in the calls of the probe, on this machine and on Trio (the same)
	@PYTHONPATH=. $(PYTHON_VENV) -m tests.campaigns.probe $(WORDS)

campaign-reader: setup-test ## ten million broken results for those who read them (the same)
	@PYTHONPATH=. $(PYTHON_VENV) -m tests.campaigns.reader $(WORDS)

campaign-power: setup-test ## a thousand power cuts of a disk in each structure of Trio (the same)
	@PYTHONPATH=.:trio/tools $(PYTHON_VENV) -m tests.campaigns.powercuts $(WORDS)

campaign-faults: setup-test ## a thousand faults in services of Trio's structures and of Linux
	@.venv/bin/kernometer guest add trio
	@.venv/bin/kernometer guest add linux 6.1
	@.venv/bin/kernometer faults --on qemu:trio-mono,qemu:trio-hybrid,qemu:trio-micro -n 1000
	@.venv/bin/kernometer faults --on qemu:linux-6.1 -n 1000

lint: setup-test ## style, types and static analysis; any finding is an error
	@scripts/lint

format: setup-test ## rewrites Python and C in the project's style
	@scripts/lint --format

lock: setup-test ## writes packaging/requirements/*.txt anew from pyproject.toml, with hashes
	@scripts/lock

clean: ## removes what was built; keeps .venv
	@rm -rf build probe/build trio/build trio/user/build .mypy_cache .pytest_cache .ruff_cache .hypothesis

distclean: clean ## removes .venv too
	@rm -rf .venv
