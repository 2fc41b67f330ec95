# Tapeline's front door. Every target runs from a clean clone.

CARGO ?= cargo

.PHONY: help demo test quick house prerequisites prerequisites-demo prerequisites-bench prerequisites-peers prerequisites-tools prerequisites-exchange prerequisites-test fmt lint doc unit same-events interop sim scale chaos failovers soak soak-scrape mutants \
	bench-wire bench-wire-quick bench-json bench-json-quick bench bench-quick bench-report bench-peers bench-exchange bench-tools bench-eyes fuzz clean

# The crate of the program is called as the program is, all others after it.
QUICK = $(if $(filter tapeline,$(CRATE)),tapeline,tapeline-$(CRATE))

# Where results go: beside what is built.
RESULTS = $(or $(CARGO_TARGET_DIR),target)/bench
LAB = $(or $(CARGO_TARGET_DIR),target)/release/tapeline-lab

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Hub and server of one process need no media driver, and nothing is played: neither is built.
demo: prerequisites-demo ## Quotes from a source through hub, backbone and server to a client
	@echo "building once, a minute or two; then ctrl-c ends it, with a summary and what to try next"
	@$(CARGO) build --profile demo --quiet --locked -p tapeline --no-default-features
	@$(or $(CARGO_TARGET_DIR),target)/demo/tapeline demo $(DEMO)

test: prerequisites-test fmt lint doc unit interop ## Everything that must hold

quick: ## Format, lints and tests of one crate, in seconds: make quick CRATE=server [TEST=NAME]
	@test -n "$(CRATE)" || { echo "make quick CRATE=NAME, one of: $(notdir $(wildcard crates/*))" >&2; exit 2; }
	$(CARGO) fmt -p $(QUICK) --check
	$(CARGO) clippy -p $(QUICK) --all-targets --locked --quiet -- -D warnings
	$(CARGO) test -p $(QUICK) --locked --quiet $(TEST)

house: ## Licences and sources of what is linked, and misspelt words, where the tools are installed
	@if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --locked check bans licenses sources; \
		else echo "house: no cargo-deny here (cargo install --locked cargo-deny): left out"; fi
	@if typos --version >/dev/null 2>&1; then typos; \
		else echo "house: no typos here (cargo install --locked typos-cli): left out"; fi

prerequisites: ## Tools and libraries to build with (installs as root, else says what)
	scripts/prerequisites.sh build

prerequisites-demo:
	scripts/prerequisites.sh demo

prerequisites-bench:
	scripts/prerequisites.sh bench

prerequisites-peers:
	scripts/prerequisites.sh peers

prerequisites-tools:
	scripts/prerequisites.sh tools

prerequisites-exchange:
	scripts/prerequisites.sh exchange

prerequisites-test:
	scripts/prerequisites.sh test

fmt:
	$(CARGO) fmt --all --check

lint:
	$(CARGO) clippy --workspace --all-targets --locked -- -D warnings
	$(CARGO) clippy -p tapeline-backbone -p tapeline-feed --lib --no-default-features --locked -- -D warnings
	$(CARGO) clippy -p tapeline --no-default-features --all-targets --locked -- -D warnings

doc:
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --locked --document-private-items

unit:
	$(CARGO) test --workspace --locked
	$(CARGO) test --locked -p tapeline-sim --features planted --test it planted::

same-events: ## An exchange's journals in an optimised build, without assertions: the events that the tests of `unit` hold it to
	$(CARGO) test --profile demo --locked -p tapeline-exchange --test it -- replays:: whole_loop::the_same_orders_give_the_same_bytes flows::

# One program for all of them, the one that `unit` has built, with its assertions and checks of overflow
# on; and each runs whatever became of the others.
interop: ## The vendor's own clients and providers against it, a FIX client, a browser at its page (JDK, Maven, Chromium)
	$(CARGO) test --workspace --locked --quiet --no-run
	interop/run.sh --program $(or $(CARGO_TARGET_DIR),target)/debug/tapeline

sim: ## Simulated worlds of hubs, servers, sources and consumers, with faults: make sim SEEDS=10000
	$(CARGO) run --locked --profile sim -p tapeline-sim -- --seeds 0..$(or $(SEEDS),1000)

scale: ## What a hundred servers and a million items cost one hub (half an hour): make scale SCALE="--servers 1,10 --items 10000"
	$(CARGO) run --locked --release -p tapeline-sim --example scale -- $(SCALE)

# With the speed of a release, so that times are those of the system and not of its assertions.
chaos: prerequisites-test ## Real processes, all that can break, and what consumers were told (10 minutes): make chaos SECONDS=60
	$(CARGO) build --release --quiet --locked -p tapeline -p tapeline-chaos
	$(or $(CARGO_TARGET_DIR),target)/release/tapeline-chaos --seconds $(or $(SECONDS),600) $(CHAOS)

failovers: prerequisites-test ## How long a consumer is without data when a part dies, a hundred times each (10 minutes): make failovers ROUNDS=10
	$(CARGO) build --release --quiet --locked -p tapeline -p tapeline-chaos
	$(or $(CARGO_TARGET_DIR),target)/release/tapeline-chaos failovers --rounds $(or $(ROUNDS),100) $(FAILOVERS)

soak: prerequisites-bench ## An hour of mounts and items that come and go, and whether anything grows: make soak SECONDS=180
	$(CARGO) build --release --quiet --locked -p tapeline
	mkdir -p $(RESULTS)
	bench/soak.py $(or $(CARGO_TARGET_DIR),target)/release/tapeline $(or $(SECONDS),3600) --out $(RESULTS)

soak-scrape: prerequisites-bench ## 12,000 scrapes in ten minutes, and whether memory grows with them: make soak-scrape SECONDS=60
	$(CARGO) build --release --quiet --locked -p tapeline
	bench/scrape.py --self-test
	bench/scrape.py $(or $(CARGO_TARGET_DIR),target)/release/tapeline $(or $(SECONDS),600)

mutants: ## Bugs put into one crate, one by one, which its tests must see: make mutants CRATE=cache SHARD=0/16
	$(CARGO) mutants --version >/dev/null 2>&1 || { echo "cargo install --locked cargo-mutants" >&2; exit 2; }
	$(CARGO) mutants -p $(QUICK) --shard $(or $(SHARD),0/1) --timeout 120 --no-shuffle \
		--output $(or $(CARGO_TARGET_DIR),target) $(MUTANTS)

bench-wire: ## Codec speed beside the vendor's Java library (about 15 minutes)
	interop/wire-bench/bench.sh

bench-wire-quick: ## The same with short runs (about 3 minutes)
	interop/wire-bench/bench.sh --quick

bench-json: ## JSON conversion beside the vendor's Java library (about 9 minutes)
	interop/json-bench/run.sh

bench-json-quick: ## The same with short runs (about 3 minutes)
	interop/json-bench/run.sh --quick

bench: prerequisites-bench ## The market data procedures, each figure beside the machine's own
	$(CARGO) build --release --quiet --locked -p tapeline -p tapeline-lab
	mkdir -p $(RESULTS)
	$(LAB) bench all --json $(RESULTS)/results.jsonl $(BENCH)

# Status 1 of `quick` says that an aim is missed or a row disturbed, as does its table.
bench-quick: prerequisites-peers ## Every aim in one table, peers included (under 6 minutes when built)
	mkdir -p $(RESULTS)
	bench/peers/run.sh --build
	$(LAB) bench quick --folder $(RESULTS)/peers --out $(RESULTS)/quick.json \
		--json $(RESULTS)/quick.jsonl || test $$? -eq 1

bench-report: ## The results so far as one HTML page
	$(LAB) bench report $(wildcard $(RESULTS)/*.jsonl) \
		$(wildcard $(RESULTS)/quick.json $(RESULTS)/peers.json) --out $(RESULTS)/report.html

bench-peers: prerequisites-peers ## Beside NATS, ZeroMQ, the vendor's Java provider and bare Aeron
	bench/peers/run.sh $(PEERS)

bench-tools: prerequisites-tools ## The host tools beside sockperf, fio, iperf3, cyclictest (20 minutes): make bench-tools TOOLS=--quick
	$(CARGO) build --release --quiet --locked -p tapeline-lab
	bench/tools/run.sh $(TOOLS)

bench-exchange: prerequisites-exchange ## The way of an order by how an exchange is laid out; replicas, engine, FIX codec and books of Nasdaq beside others: make bench-exchange FLOWS="FILE …"
	$(if $(FLOWS),if bench/exchange-core/run.sh --build; then with="--with $(CURDIR)/bench/exchange-core/run.sh"; fi; \
		$(CARGO) bench --locked --quiet -p tapeline-exchange --bench engines -- $$with $(abspath $(FLOWS)))
	if bench/aeron-cluster/run.sh --build; then with="--with $(CURDIR)/bench/aeron-cluster/run.sh"; fi; \
		$(CARGO) bench --locked --quiet -p tapeline-exchange --bench order_path -- $$with
	if bench/itch-book/run.sh --build; then with="--with $(CURDIR)/bench/itch-book/run.sh"; fi; \
		$(CARGO) bench --locked --quiet -p tapeline-feed --bench nasdaq -- $$with
	bench/quickfix/run.py

bench-eyes: prerequisites-bench ## What it costs to be looked at, in instructions of an update and in time; needs valgrind
	$(CARGO) build --release --quiet --locked -p tapeline-bench --example bench
	bench/eyes.py $(or $(CARGO_TARGET_DIR),target)/release/examples/bench
	$(CARGO) build --release --quiet --locked -p tapeline
	bench/eyes_latency.py $(or $(CARGO_TARGET_DIR),target)/release/tapeline

fuzz: ## Every fuzz target for ten minutes, two at a time
	fuzz/run.sh 600

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf bench/exchange-core/target bench/itch-book/target interop/wire-bench/target interop/json-bench/target interop/target interop/ema/target interop/fix/target interop/layouts/target interop/python/target bench/peers/eta/target crates/mdp/golden/target fuzz/target
