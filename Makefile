# Tapeline's front door. Every target runs from a clean clone.

CARGO ?= cargo

.PHONY: help test fmt lint doc unit bench-wire bench-wire-quick fuzz clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

test: fmt lint doc unit ## Everything that must hold: format, lints, docs, all tests

fmt:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items

unit:
	$(CARGO) test --workspace --locked

bench-wire: ## Codec speed beside the vendor's Java library (about 15 minutes)
	interop/wire-bench/bench.sh

bench-wire-quick: ## The same with short runs (about 3 minutes)
	interop/wire-bench/bench.sh --quick

fuzz: ## Every fuzz target for ten minutes, two at a time
	fuzz/run.sh 600

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf interop/wire-bench/target fuzz/target
