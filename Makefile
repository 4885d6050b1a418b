# The front door. meson and ninja do the work behind it.

BUILD        ?= build
BUILD_ASAN   ?= build-asan
BUILD_FUZZ   ?= build-fuzz
FUZZ_SECONDS ?= 60
LIVE_SECONDS ?= 3600
UP_SCENARIO  ?= examples/replay-pool.yaml
UP_FOLDER    ?= $(BUILD)/pool

.PHONY: help up down example programs build test bench fuzz fuzz-keep policy-random kill-daemon abuse stories live-hour vm-check controller-sim format clean deps
.DEFAULT_GOAL := help

help:                    ## this list
	@awk -F':.*## ' '/^[a-z%-]+:.*## /{printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

up: programs             ## install what is missing, build, and start a pool on this machine
	@sh tools/up.sh $(BUILD) $(UP_FOLDER)

down:                    ## end that pool, and the work in it
	@sh tools/up.sh $(BUILD) $(UP_FOLDER) down

example: programs        ## fill an example pool with every placement policy, in virtual time
	$(BUILD)/berth replay $(UP_SCENARIO)

programs: deps           ## the programs alone, into build/ (build/berth)
	@[ -f $(BUILD)/build.ninja ] || CC=gcc meson setup $(BUILD)
	@ninja -C $(BUILD) berth berthd berth-agent

build: deps              ## the programs, tests and benchmarks, into build/
	@[ -f $(BUILD)/build.ninja ] || CC=gcc meson setup $(BUILD)
	@ninja -C $(BUILD)

test: deps               ## everything: gcc; clang with ASan and UBSan; arrows, symbols, corpora
	@python3 tests/run.py gcc:$(BUILD) clang:$(BUILD_ASAN)

bench: build             ## every benchmark
	@ran=0; for b in $(BUILD)/bench/bench-*; do \
		if [ -f "$$b" ] && [ -x "$$b" ]; then ran=1; "$$b" || exit 1; fi; \
	done; [ $$ran = 1 ] || echo "no benchmark is built yet"

bench-%: build           ## the benchmark of one area, e.g. make bench-engine
	@[ -x $(BUILD)/bench/$@ ] || { echo "no bench area '$*'; there are:" \
		$$(ls $(BUILD)/bench | sed -n 's/^bench-\([a-z_]*\)$$/\1/p') >&2; exit 2; }
	@$(BUILD)/bench/$@

bench-policy: build      ## what a policy costs: plans, placing with 200 tenants, explanations
	@$(BUILD)/bench/bench-policy
	@$(BUILD)/bench/bench-explain

bench-recovery: build    ## how long berthd takes to come back with a million facts and 10,000 live jobs
	@python3 bench/recovery.py $(BUILD)

bench-review: build      ## how long a submit waits while somebody asks for a review of a year
	@python3 bench/review.py $(BUILD)

bench-slurm: build       ## the same 10,000 jobs to Slurm and to berth; skipped where Slurm is not installed
	@python3 bench/slurm.py $(BUILD)

fuzz: deps               ## each fuzz target for FUZZ_SECONDS (60)
	@[ -f $(BUILD_FUZZ)/build.ninja ] || CC=clang meson setup $(BUILD_FUZZ) \
		-Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false
	@ninja -C $(BUILD_FUZZ)
	@sh tests/fuzz/run.sh $(BUILD_FUZZ) $(FUZZ_SECONDS)

policy-random: build     ## 10,000 random histories under random policies (make test: 200)
	@$(BUILD)/tests/property/policy_random 1..10000

kill-daemon: build       ## berthd killed 1,000 times under load (make test: 20), and what is not synced lost 200 times
	@python3 tests/kill_daemon.py $(BUILD)/berthd --rounds 1000
	@python3 tests/kill_daemon.py $(BUILD)/berthd --rounds 200 --agents
	@python3 tests/kill_daemon.py $(BUILD)/berthd --rounds 200 --shim $(BUILD)/tests/forget.so

abuse: build             ## berthd under bad requests, slow and idle connections, foreign tenants (make test: seconds)
	@BERTH_SOURCE=. python3 tests/abuse_daemon.py $(BUILD)/berthd --seconds 120 --idle 10000 --slow 600

stories: build           ## what happens to people's work, with real agents and processes (make test: the same)
	@python3 tests/e2e.py $(BUILD)/berthd $(BUILD)/berth-agent $(BUILD)/berth

live-hour: build         ## LIVE_SECONDS (3600) of a live pool under load, berthd and agents killed (make test: 15)
	@nice python3 tests/live_hour.py $(BUILD) --seconds $(LIVE_SECONDS)

vm-check: programs       ## the units of systemd in a virtual Debian: limits, restarts, reboots (needs qemu, root; half an hour)
	@sh tests/vm/check.sh $(BUILD) $(BUILD)/vm

controller-sim: build    ## 10,000 seeds of the controller in virtual time (make test: 200)
	@$(BUILD)/tests/property/controller_sim 1..10000

fuzz-keep:               ## add to tests/corpus/ what `make fuzz` found and the seeds do not reach
	@for t in $(BUILD_FUZZ)/corpus/*; do t=$$(basename $$t); \
		$(BUILD_FUZZ)/tests/fuzz/fuzz_$$t -merge=1 tests/corpus/$$t $(BUILD_FUZZ)/corpus/$$t \
			2>&1 | sed -n "s/^MERGE-OUTER: \([0-9]* new files\).*/fuzz $$t: \1 kept/p"; \
	done

format:                  ## lay out the lines you changed (since HEAD) by .clang-format
	@command -v git-clang-format >/dev/null || \
		{ echo "git-clang-format is missing: apt-get install clang-format" >&2; exit 1; }
	@git clang-format --force --extensions c,h HEAD

clean:                   ## remove every build folder
	rm -rf $(BUILD) $(BUILD_ASAN) $(BUILD_FUZZ)

deps:                    ## install the Debian packages that are missing
	@sh tools/install-deps.sh
