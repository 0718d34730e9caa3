# One command each: `make demo` shows it, `make test` proves it, `make check` is what CI runs.
# CARGO_TARGET_DIR is honoured where it is set.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

BIN := $(or $(CARGO_TARGET_DIR),target)/debug
FAST := $(or $(CARGO_TARGET_DIR),target)/release
SETUP := scripts/setup.sh
step = @printf '\n== %s\n' "$(1)"

.PHONY: help setup demo model model-deep chaos evaluate evaluate-deep bench bench-growth bench-core soak test check lint advisories mutants fmt

help:
	@echo 'make demo        workers race, crash and lose answers over 500 invoices: first without Deed, then with it'
	@echo 'make chaos       kills, pauses and cuts off servers, workers and Postgres under load; ends with one table'
	@echo 'make model       explores small worlds of the protocol whole, with each rule and without; ends with one table'
	@echo 'make model-deep  the same worlds, larger: takes as long as it takes'
	@echo 'make test        all tests, against a Postgres that they start themselves'
	@echo 'make check       formatting, lints, docs, licences and all tests: what CI runs'
	@echo 'make evaluate    the published experiment: blind retry, verify-then-retry and Deed; writes docs/evaluation.md'
	@echo 'make evaluate-deep  the same with 1,000 seeds'
	@echo 'make bench       speed, cost and latency of Deed beside what is written by hand; writes docs/performance.md'
	@echo 'make bench-growth  the same load on 1 and 10 million actions, and by two servers; minutes, and 30 GB of disk'
	@echo 'make bench-core  the decision and the batch path alone, without a database'
	@echo 'make soak        a steady load for SOAK_MINUTES (10): what drifts?'
	@echo 'make fmt         formats the sources'
	@echo 'make mutants     changes deed-core at random places and counts the changes that no test notices'
	@echo 'make advisories  asks the advisory database about the dependencies (needs the network)'
	@echo 'make setup       installs what is missing on this machine; the others call it as they need it'

setup:
	@$(SETUP) base pooler faketime nextest deny

# DEMO_ARGS are the demo's options, e.g. make demo DEMO_ARGS='--seed 7'; --help lists them.
demo:
	@$(SETUP) base
	$(call step,build)
	cargo build --workspace --bins
	$(call step,demo)
	$(BIN)/demo $(DEMO_ARGS)

# MODEL_ARGS are the checker's options, e.g. make model MODEL_ARGS='--only C5 --ways'; --help lists them.
model model-deep:
	@$(SETUP) base
	$(call step,build)
	cargo build --package deed-model
	$(call step,$@)
	$(BIN)/model $(if $(filter %-deep,$@),--size deep) $(MODEL_ARGS)

# EVALUATE_ARGS are the experiment's options; --help lists them.
evaluate evaluate-deep:
	@$(SETUP) base
	$(call step,build)
	cargo build --workspace --bins
	$(call step,$@)
	$(BIN)/evaluate $(if $(filter %-deep,$@),--deep) $(EVALUATE_ARGS)

# BENCH_SECONDS (2) and BENCH_ROUNDS (3) say how long each cell runs and how often, BENCH_ONLY (parts of names, separated by
# commas) which do; BENCH_SIZES (0,1000000,10000000) how full; SOAK_MINUTES (10) how long.
bench bench-growth soak:
	@$(SETUP) base redis
	$(call step,build)
	cargo build --release --package deed-server --bin deed-server --package deed-tests --bin bench
	$(call step,$@)
	$(FAST)/bench $(if $(filter bench,$@),run,$(@:bench-%=%)) $(BENCH_ARGS)

bench-core:
	@$(SETUP) base
	cargo bench --package deed-core --package deed-server --bench decide --bench batches $(BENCH_ARGS)

# CHAOS_SECONDS (60) and CHAOS_SEED (random) say how long and which, CHAOS_DATA keeps logs and databases in a directory.
chaos:
	@$(SETUP) base
	$(call step,build)
	cargo build --workspace --bins
	$(call step,chaos)
	$(BIN)/chaos

# The programs are built together with the tests: tests start them as processes. TEST_ARGS go to nextest.
test:
	@$(SETUP) base pooler faketime nextest
	$(call step,build)
	cargo build --workspace --bins --tests --examples
	$(call step,tests)
	$(BIN)/with-postgres -- cargo nextest run --workspace $(TEST_ARGS)
	$(call step,doc tests)
	cargo test --workspace --doc

check: lint test

lint:
	@$(SETUP) base deny
	$(call step,formatting)
	cargo fmt --all --check
	$(call step,bans and licences and sources)
	cargo deny --log-level error check bans licenses sources
	$(call step,lints)
	cargo clippy --workspace --all-targets -- -D warnings
	$(call step,docs)
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps

advisories:
	@$(SETUP) deny
	cargo deny check advisories

mutants:
	@$(SETUP) base nextest mutants
	scripts/mutants.sh $(MUTANTS_ARGS)

fmt:
	cargo fmt --all
