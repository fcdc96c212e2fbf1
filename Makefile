# Every target a person or CI needs; `make` alone lists them.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help eval crosscheck check-cases redteam engine oracle doctor check audit test soak bench bench-compare bench-metrics bench-sandbox bench-images mutants docs lock clean

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
UV ?= $(BIN)/uv
WORKERS ?= 3

# What `make eval` runs. Empty variables leave the pack's or the program's own default in charge.
DIALECT ?= sqlite
PACK ?= demo
ENGINE ?= auto

# What `make crosscheck` holds against what: one engine, and one or several others.
FROM ?= sqlite
TO ?= postgres,mysql

# How many generated texts `make soak` throws at the guard.
TEXTS ?= 100000

# How many random statements of each engine `make soak` holds the guard's tables against.
STATEMENTS ?= 20000

# How many running evaluations `make soak` kills and resumes. OWN_ENGINE=1 lets it restart the container engine, too.
KILLS ?= 200

# Pure code whose branches must be covered; the rest is proven on real servers.
CORE := */harness/compare/*,*/harness/guard/*,*/harness/metrics/*,*/harness/aggregate.py,*/cases/*

# A variable that no target reads is a mistake, as an option that no command has.
KNOWN := AGENT ATTACKS BENIGN DIALECT DIALECTS ENGINE FAIL_ON FROM IMAGES_LOCK ISOLATION JOBS KILLS LAYERS MIRROR \
	OUT OWN_ENGINE PACK PAIRS POOL PREDICT PREDICTIONS PULL PYTHON ROW_LIMIT RUNTIME SAMPLE SANDBOX SEED SNAPSHOT \
	STATEMENTS TEXTS TIMEOUT TO TRIALS UV VENV WORKERS
GIVEN := $(foreach name,$(filter-out -%,$(.VARIABLES)),$(if $(filter command,$(origin $(name))),$(name)))
UNKNOWN := $(firstword $(filter-out $(KNOWN) MAKEFLAGS SHELL,$(GIVEN)))
NEAR = $(shell $(PYTHON) -c 'import sys, difflib; print(*difflib.get_close_matches(sys.argv[1], sys.argv[2:], 1))' \
	'$(UNKNOWN)' $(KNOWN))
ifneq ($(UNKNOWN),)
$(error $(UNKNOWN) is a variable of no target$(if $(NEAR),; did you mean $(NEAR)?,.) `make` lists them)
endif

option = $(if $($(1)),$(2) '$($(1))')
# Where base images come from, for every command that makes images.
BASES = $(call option,PULL,--pull) $(call option,MIRROR,--mirror) $(call option,IMAGES_LOCK,--images-lock)
EVAL_OPTIONS = --dialect '$(DIALECT)' --engine '$(ENGINE)' \
	$(call option,PREDICTIONS,--predictions) $(call option,AGENT,--agent) $(call option,OUT,--out) \
	$(call option,JOBS,--jobs) $(call option,ISOLATION,--isolation) $(call option,POOL,--pool) \
	$(call option,SANDBOX,--sandbox) $(call option,TRIALS,--trials) \
	$(call option,TIMEOUT,--timeout) $(call option,ROW_LIMIT,--row-limit) $(call option,RUNTIME,--runtime) $(BASES)
CROSS_OPTIONS = --dialects '$(FROM),$(TO)' --engine '$(ENGINE)' \
	$(call option,PREDICTIONS,--predictions) $(call option,AGENT,--agent) $(call option,PREDICT,--predict) \
	$(call option,OUT,--out) $(call option,JOBS,--jobs) $(call option,SANDBOX,--sandbox) \
	$(call option,TIMEOUT,--timeout) $(call option,ROW_LIMIT,--row-limit) $(BASES)
REDTEAM_OPTIONS = --dialect '$(DIALECT)' --engine '$(ENGINE)' \
	$(call option,ATTACKS,--attacks) $(call option,BENIGN,--benign) $(call option,SNAPSHOT,--snapshot) \
	$(call option,LAYERS,--layers) $(call option,SAMPLE,--sample) $(call option,SEED,--seed) \
	$(call option,TIMEOUT,--timeout) $(call option,OUT,--out) $(call option,JOBS,--jobs) $(call option,SANDBOX,--sandbox) \
	$(call option,RUNTIME,--runtime) $(BASES)

PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
PROJECT := $(PIP) --no-deps --no-build-isolation --editable .
LOCKS := $(wildcard requirements/*.txt)
LOCK := $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade \
	--no-emit-index-url --no-emit-find-links --no-header --no-annotate

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# What an engine named on the command line needs besides: DuckDB is a Python package of an extra.
EXTRAS = $(addprefix $(VENV)/.,$(filter duckdb,$(subst $(comma), ,$(DIALECT),$(FROM),$(TO),$(DIALECTS))))
comma := ,

eval: $(VENV)/.runtime $(EXTRAS) ## Judge predictions: DIALECT PACK PREDICTIONS AGENT OUT JOBS ISOLATION POOL SANDBOX TRIALS TIMEOUT ROW_LIMIT ENGINE RUNTIME PULL MIRROR IMAGES_LOCK
	@$(BIN)/sqlassay run '$(PACK)' $(EVAL_OPTIONS)

crosscheck: $(VENV)/.runtime $(EXTRAS) ## Cross engines: FROM TO PACK PREDICTIONS AGENT PREDICT OUT JOBS SANDBOX TIMEOUT ROW_LIMIT ENGINE PULL MIRROR IMAGES_LOCK
	@$(BIN)/sqlassay crosscheck '$(PACK)' $(CROSS_OPTIONS)

check-cases: $(VENV)/.runtime $(EXTRAS) ## Examine a pack's own gold: PACK DIALECTS FAIL_ON OUT JOBS SANDBOX TIMEOUT ROW_LIMIT ENGINE RUNTIME PULL MIRROR IMAGES_LOCK
	@$(BIN)/sqlassay check-cases '$(PACK)' --engine '$(ENGINE)' $(call option,DIALECTS,--dialects) \
		$(call option,FAIL_ON,--fail-on) $(call option,OUT,--out) $(call option,JOBS,--jobs) \
		$(call option,SANDBOX,--sandbox) $(call option,TIMEOUT,--timeout) $(call option,ROW_LIMIT,--row-limit) \
		$(call option,RUNTIME,--runtime) $(BASES)

redteam: $(VENV)/.runtime $(EXTRAS) ## Attack every layer: DIALECT ATTACKS BENIGN SNAPSHOT LAYERS SAMPLE SEED TIMEOUT OUT JOBS SANDBOX ENGINE RUNTIME PULL MIRROR IMAGES_LOCK
	@$(BIN)/sqlassay redteam $(REDTEAM_OPTIONS)

engine: $(VENV)/.runtime ## Bring up a container engine where none answers: ENGINE=auto|ask|none
	@$(BIN)/python -m sqlassay.sandboxes.engine '$(ENGINE)'

doctor: $(VENV)/.runtime ## Say what works on this machine and what fixes the rest
	@$(BIN)/sqlassay doctor

check: $(VENV)/.dev $(VENV)-peers/.ready ## Format, lint, types, import rules, unit tests and the coverage of the pure core
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -m "not docker and not jail and not slow" -n $(WORKERS) --dist loadfile --cov --cov-branch --cov-report=
	$(BIN)/coverage report --include='$(CORE)' --show-missing --skip-covered --fail-under=95

audit: $(VENV)/.created ## Look the locked packages up among known vulnerabilities, where that service is reached
	@$(BIN)/python tests/tools/audit.py '$(VENV)-audit' $(LOCKS)

test: check audit engine ## Everything CI runs: check, audit, then every test in jails and on real servers
	$(BIN)/python -m pytest -q -m "docker or jail or slow" -n $(WORKERS) --dist loadfile

oracle: $(VENV)/.dev ## Judge every handed prediction (5 x 575) and hold each verdict against the handed oracle's
	ORACLE=all $(BIN)/python -m pytest -q -rP tests/e2e/test_handed.py -k oracle

soak: $(VENV)/.dev engine ## The long runs whose samples are in test: TEXTS=100000 at the guard, STATEMENTS=20000 an engine, PAIRS=200000 compared, KILLS=200 of runs, every attack, SEED
	$(BIN)/python tests/guard/soak.py $(TEXTS) $(SEED)
	$(BIN)/python tests/guard/table_soak.py $(STATEMENTS) $(SEED)
	$(if $(OWN_ENGINE),SQLASSAY_CHAOS_ENGINE=1) $(BIN)/python tests/chaos/chaos_soak.py $(KILLS) $(SEED)
	$(if $(OWN_ENGINE),SQLASSAY_CHAOS_ENGINE=1 $(BIN)/python -m pytest -q tests/chaos/test_engine_faults.py)
	SPELLINGS=all $(BIN)/pytest -q tests/e2e/test_change_spellings.py
	ORACLE_PAIRS=$(or $(PAIRS),200000) ORACLE_SEED=$(or $(SEED),0) $(BIN)/pytest -q tests/compare/test_comparison_oracle.py
	for dialect in sqlite postgres mysql mariadb duckdb; do \
		$(BIN)/sqlassay redteam --dialect $$dialect --engine '$(ENGINE)' $(call option,SEED,--seed) || exit; done

bench: bench-compare bench-metrics bench-sandbox bench-images ## Measure what is promised to be fast, and write docs/benchmarks.md

bench-compare: $(VENV)-bench/.ready engine ## The comparator beside its peers, in an environment of its own
	$(VENV)-bench/bin/python tests/bench/compare_bench.py

bench-metrics: $(VENV)/.dev ## Every metric that no judge decides, on the pack's and the handed predictions: about a minute
	$(BIN)/python tests/bench/metrics_bench.py

bench-sandbox: $(VENV)/.dev engine ## Sandboxes, pools and whole runs beside testcontainers: at most eight minutes
	$(BIN)/python tests/bench/sandbox_bench.py

bench-images: $(VENV)/.dev engine ## Bakes of twenty databases, bundles and base images: about four minutes
	$(BIN)/python tests/bench/image_bench.py

.PHONY: bench-runs
bench: bench-runs
bench-runs: $(VENV)/.dev engine ## 575 questions over twenty databases on three engines, of the handed data: about three minutes
	$(BIN)/python tests/bench/run_bench.py

mutants: $(VENV)/.dev ## Change the comparator in small ways: a test must fail on each, or docs/mutants.md says why not
	$(BIN)/python tests/mutation/run.py

docs: $(VENV)/.dev ## Write docs/reference.md and docs/demo.svg anew from the program
	@$(BIN)/python tests/docs/reference.py
	@$(BIN)/python tests/docs/metrics_page.py
	@$(BIN)/python tests/docs/api_page.py
	@$(BIN)/python tests/docs/picture.py

lock: $(VENV)/.dev ## Resolve the dependencies anew and write requirements/*.txt with hashes
	@test -x '$(UV)' || $(PIP) uv
	echo 'setuptools>=77' | $(LOCK) - --output-file requirements/build.txt
	$(LOCK) pyproject.toml --output-file requirements/runtime.txt
	$(LOCK) pyproject.toml --extra dev --constraint requirements/runtime.txt --output-file requirements/dev.txt
	echo 'pip-audit>=2.9' | $(LOCK) - --output-file requirements/audit.txt
	printf 'datacompy>=1.1\npolars>=1.44\n' | $(LOCK) - --constraint requirements/runtime.txt --output-file requirements/bench.txt
	echo 'google-evalbench>=1.20' | $(LOCK) - --no-deps --output-file requirements/bench-bare.txt
	printf 'sqlas==2.8.0\ngoogle-evalbench==1.20.0\nsqlglot\n' | $(LOCK) - --no-deps --constraint requirements/runtime.txt --output-file requirements/peers.txt

clean: ## Remove leftover sandboxes, caches and the virtual environment (runs/ stays)
	@test ! -x $(BIN)/sqlassay || $(BIN)/sqlassay clean
	@rm -rf $(VENV) $(VENV)-audit $(VENV)-bench $(VENV)-peers build dist .coverage .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache *.egg-info

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo 'Python 3.11 or later is needed; name one with PYTHON=python3.x' >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
		|| { echo 'python3-venv is missing: apt-get install python3-venv' >&2; exit 2; }
	@echo 'creating $(VENV), about 5 s'
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: $(VENV)/.created requirements/build.txt requirements/runtime.txt pyproject.toml
	@echo 'installing sqlassay into $(VENV), about 20 s'
	@$(PIP) --require-hashes -r requirements/build.txt
	@$(PIP) --require-hashes -r requirements/runtime.txt
	@$(PROJECT)
	@touch $@

$(VENV)/.duckdb: $(VENV)/.runtime requirements/dev.txt
	@echo 'installing duckdb into $(VENV), about 5 s'
	@sed -n '/^duckdb==/,/[^\\]$$/p' requirements/dev.txt > $@.txt
	@$(PIP) --require-hashes --no-deps -r $@.txt
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements/dev.txt
	@echo 'installing what the tests need, about 30 s'
	@$(PIP) --require-hashes -r requirements/dev.txt
	@touch $@

# bench-bare.txt goes in without what it depends on (cloud clients, services): the comparison alone needs none of it.
$(VENV)-bench/.ready: $(VENV)/.created requirements/build.txt requirements/runtime.txt requirements/bench.txt requirements/bench-bare.txt pyproject.toml
	@echo 'installing the peers into $(VENV)-bench, about 60 s'
	@$(PYTHON) -m venv $(VENV)-bench
	@for lock in build runtime bench; do \
		$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
			-r requirements/$$lock.txt || exit 1; done
	@$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps \
		-r requirements/bench-bare.txt
	@$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

# The wheels our metrics stand beside (tests/metrics/test_side_by_side.py), without the cloud clients one of them depends
# on. Where they cannot be fetched their tests say so and are skipped; a wheel of another hash stops here.
$(VENV)-peers/.ready: $(VENV)/.created requirements/peers.txt
	@echo 'installing the wheels that metrics are held beside into $(VENV)-peers, about 10 s'
	@$(PYTHON) -m venv $(VENV)-peers
	@said=$$($(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 20 \
		--require-hashes --no-deps -r requirements/peers.txt 2>&1) && touch $@ || { echo "$$said" >&2; ! grep -q 'DO NOT MATCH' <<<"$$said"; }
