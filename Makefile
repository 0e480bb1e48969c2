# Every target does its own set-up. `make help` lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
NATIVE := $(shell find native -name '*.[ch]' -o -name CMakeLists.txt)

.PHONY: help audit test check-long demo lint types new-rule generate generated wheel native \
	native-check fuzz bench-sampler bench-lint bench-probe bench-audit \
	bench-advice bench-sim bench-record bench-k8s bench-startup bench-watch clean

help: ## list the targets
	@awk -F ':.*## ' '/^##@ /{printf "\n%s\n", substr($$0, 5)} \
		/^[a-z0-9-]+:.*## /{printf "  %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): pyproject.toml CMakeLists.txt tools/bootstrap $(NATIVE)
	@tools/bootstrap $(VENV)
	@touch $@

##@ See what it does

audit: $(READY) ## audit this machine
	@$(BIN)/quota-advisor audit host || test $$? -eq 1

demo: $(READY) ## two busy threads under a 50 % quota, audited
	@$(BIN)/python tools/demo.py

##@ Change it

new-rule: $(READY) ## start a rule: make new-rule ID=my-rule SUBJECT=PodCase
	@$(BIN)/python -m tools.new_rule "$(ID)" "$(SUBJECT)"

generate: $(READY) ## write the generated files
	@$(BIN)/python -m tools.generate

##@ Check it

test: $(READY) native ## run every test that this machine can run
	@$(BIN)/python -m pytest --durations=25

check-long: $(READY) ## what takes too long for each change: the newest Python, 10^6 inputs a reader
	@tools/newest-python
	@FUZZ_SECONDS=600 native/fuzz build/fuzz
	@$(BIN)/python tools/fuzz.py --inputs 1000000
	@KILLS=200 GLOB_PATTERNS=20000 FIXED_FILES=5000 MUTATED_RUNS=200 SHORT_LIVES=100000 \
		$(BIN)/python -m pytest -q tests/files tests/checkout/test_globs.py tests/fix/test_many_files.py \
		tests/lint/test_vanishing.py tests/cli/test_changing_host.py \
		tests/native/test_cgroup_native.py

native: $(READY) ## build the native library and run its unit tests
	@tools/native-tests build/native

lint: $(READY) ## style of Python, shell and C
	@tools/check-style $(BIN)

types: $(READY) ## strict types
	@$(BIN)/mypy

generated: $(READY) ## fail if a generated file is not current
	@$(BIN)/python -m tools.generate --check

wheel: ## build the wheel, install it elsewhere, run every command there
	@tools/wheel-outside-checkout

fuzz: $(READY) ## all readers against made-up files, in C for FUZZ_SECONDS (60), in Python as long
	@native/fuzz build/fuzz
	@$(BIN)/python tools/fuzz.py --seconds $${FUZZ_SECONDS:-60}

native-check: ## gcc and clang, warnings as errors, sanitizers
	@native/check

##@ Measure it

bench-sampler: $(READY) ## what sampling 300 cgroups costs
	@$(BIN)/python tools/bench_sampler.py

bench-lint: $(READY) ## lint of ten thousand documents against the YAML parser alone
	@$(BIN)/python tools/bench_lint.py

bench-probe: $(READY) ## three quotas measured on this machine, and the shape of the result
	@$(BIN)/python tools/bench_probe.py

bench-audit: $(READY) ## one look at hosts of 1 000 and 5 000 units
	@$(BIN)/python tools/bench_audit.py

bench-advice: $(READY) ## follow the advice on ten shapes of load; SHAPES="1x30/97 2x60/3030" selects
	@$(BIN)/python tools/bench_advice.py $(if $(SHAPES),--shapes $(SHAPES))

bench-sim: $(READY) ## the simulator: its speed, and how near it is to the kernel; SHAPES="steady poisson" selects
	@$(BIN)/python -m tools.bench_sim $(if $(SHAPES),--shapes $(SHAPES))

bench-record: $(READY) ## what recording costs, and how large a day is
	@$(BIN)/python -m tools.bench_record

bench-k8s: $(READY) ## a cluster of 10 000 pods on a real API server, against kubectl
	@$(BIN)/python tools/bench_k8s.py

bench-startup: $(READY) ## how long the program takes to start
	@$(BIN)/python tools/bench_startup.py

bench-watch: $(READY) ## what watching 300 groups costs on a terminal
	@$(BIN)/python tools/bench_watch.py

##@ Tidy up

clean: ## remove what the targets made
	@rm -rf $(VENV) build dist lab-result .mypy_cache .ruff_cache .pytest_cache .hypothesis
