# make demo   freeze a real ADK run from this repository; needs Go alone
# make test   install what the checks need, then run every check
# make help   the rest
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

GO ?= go
PYTHON ?= python3
BUILD := .build
BIN := $(BUILD)/p20export
RELEASE := $(BUILD)/release/p20export
HELLO := $(BUILD)/release/hello
RELEASE_BYTES ?= 13000000
RELEASED := CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'
DEMO := $(BUILD)/demo
EMBEDDED := discovery/scenarios.json docs/contract.md docs/projections.md $(wildcard schema/*.json discovery/report/*.css discovery/report/*.js)
SOURCES := $(shell find . -name '*.go' -not -path './.build/*' -not -path '*/.venv/*' -not -path '*/node_modules/*') go.mod go.sum $(EMBEDDED)
FUZZTIME ?= 60s
N ?= 20000
SEED ?= 1

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: build
build: $(BIN) ## build the program into .build/
$(BIN): $(SOURCES)
	@command -v $(GO) >/dev/null || { echo "make: Go 1.26 or newer is needed: https://go.dev/dl/" >&2; exit 1; }
	@mkdir -p $(BUILD)
	@$(GO) build -o $@ ./cmd/p20export

.PHONY: release $(RELEASE) $(HELLO)
release: $(RELEASE) ## build the program as it is released (static, stripped) into .build/release/, and check its size
	@bytes=$$(wc -c <$<); echo "$<: $$bytes bytes"; \
	[ "$$bytes" -le $(RELEASE_BYTES) ] || { echo "make: a release has at most $(RELEASE_BYTES) bytes; go tool nm -size -sort size $(BIN) lists what is large" >&2; exit 1; }
$(RELEASE):
	@$(RELEASED) -o $@ ./cmd/p20export
$(HELLO):
	@$(RELEASED) -o $@ ./cmd/internal/bench/testdata/hello

MAN := $(BUILD)/man/man1
.PHONY: man
man: ## write the man pages of every command into .build/man/man1/, dated by SOURCE_DATE_EPOCH or the last commit
	@rm -rf $(MAN) && mkdir -p $(MAN)
	@export SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)}; \
	out=$$($(GO) test -count=1 ./cmd/p20export -run '^TestMan$$' -man $(CURDIR)/$(MAN)) || { echo "$$out"; exit 1; }
	@echo "the man pages are in $(MAN): man -l $(MAN)/p20export.1"

.PHONY: demo
demo: $(BIN) ## freeze and verify a committed capture of the real ADK middleware
	@rm -rf $(DEMO)
	@set -x; \
	$(BIN) freeze discovery/captures/adk/one-turn -o $(DEMO); \
	$(BIN) verify $(DEMO)/one-turn.artifact.json --capture discovery/captures/adk/one-turn; \
	cat $(DEMO)/one-turn.artifact.json

CHECKS := check-format check-modules vet staticcheck unit live browser judge conformance differential recount release
.PHONY: test
test: ## run every check, two at a time
	@$(MAKE) -j2 --output-sync=target $(CHECKS)
	@echo "all checks passed"

.PHONY: check-format
check-format: ## gofmt
	@out=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$out" ]; then echo "gofmt -w is due for:"; echo "$$out"; exit 1; fi

.PHONY: check-modules
check-modules: ## go.mod is tidy and what it names is what go.sum says
	@$(GO) mod tidy -diff
	@$(GO) mod verify

LANES := live,assaycli,judge,browser
.PHONY: vet
vet: ## go vet, with and without the lanes of their own; and a build for another system, of 32 bits
	@$(GO) vet ./...
	@GOOS=windows GOARCH=386 $(GO) build -o /dev/null ./cmd/p20export
	@$(GO) vet -tags $(LANES) ./...

.PHONY: staticcheck
staticcheck: ## staticcheck, pinned in internal/tools
	@$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...
	@$(GO) tool -modfile=internal/tools/go.mod staticcheck -tags $(LANES) ./...

# Too much for -race: they compare bytes, and judge what processes leave.
SINGLE := TestVerifyEveryByte|TestFaults|TestKilled|TestHarnessKilled
.PHONY: unit
unit: ## unit, property, testscript, fuzz corpus, floors, golden files; under -race
	@$(GO) test -race -skip '^($(SINGLE))$$' ./...
	@$(GO) test -run '^($(SINGLE))$$' ./project/verify ./cmd/p20export

.PHONY: live
live: harness-adk ## capture every scenario afresh from the real ADK middleware
	@$(GO) test -race -count=1 -tags live -run '^TestLive$$' -v ./cmd/p20export -harness adk

.PHONY: judge
judge: ## compare our verdicts on Assay bundles with the published verifier's (built once, in about two minutes)
	@judge=$$(artifact/assay/judge/build.sh); \
	export P20EXPORT_JUDGE=$$judge; \
	$(GO) test -race -count=1 -tags judge -run '^TestJudge' -skip '^TestJudge(Large|Random)' ./artifact/assay/... ./cmd/p20export; \
	$(GO) test -count=1 -tags judge -run '^TestJudge(Large|Random)' ./artifact/assay/... # too much for -race

AXE := $(BUILD)/axe
.PHONY: browser
browser: $(AXE)/.installed ## use the pages of report in a real Chromium, and judge them with axe-core
	@chromium=$$(discovery/report/chromium.sh); \
	P20EXPORT_CHROMIUM=$$chromium P20EXPORT_AXE=$(CURDIR)/$(AXE)/node_modules/axe-core/axe.min.js \
	$(GO) test -count=1 -tags browser -run '^TestBrowser' ./discovery/report # the page is under test here, not Go
$(AXE)/.installed: discovery/report/axe/package.json discovery/report/axe/package-lock.json
	@command -v npm >/dev/null || { echo "make: npm is needed for axe-core (Debian: apt-get install npm)" >&2; exit 1; }
	@rm -rf $(AXE) && mkdir -p $(AXE) && cp $^ $(AXE)/
	@cd $(AXE) && npm ci --silent --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: faults
faults: ## fail every file-system call in every way on every kind of file system, and kill at 200 moments (about six minutes)
	@$(GO) test -count=1 ./cmd/p20export -run '^(TestFaults|TestKilled)$$' -faults -timeout 60m -v | grep -v '^=== '

VECTORS := schema/vectors
.PHONY: conformance
conformance: $(BIN) ## judge the program and the Python reference by the vectors
	@cd $(VECTORS)/reference && $(PYTHON) -W error -B -m unittest -q
	@cd $(VECTORS) && $(PYTHON) -W error -B -m unittest -q run_test
	@$(PYTHON) -B $(VECTORS)/run.py --jobs 2 --command '$(BIN) validate --format json --kind {kind} --profile {profile} {file}'
	@$(PYTHON) -B $(VECTORS)/run.py --jobs 2 --server '$(PYTHON) -B $(VECTORS)/reference/validate.py --serve'

.PHONY: differential
differential: ## compare the program with the Python reference on N generated cases (20000) of a SEED (1)
	@for mode in files captures streams; do $(GO) run ./$(VECTORS)/differential -mode $$mode -python $(PYTHON) -n $(N) -seed $(SEED); done

.PHONY: mutation
mutation: ## disable each rule's check in turn, run the vectors, and write the table of docs/vectors.md (about six minutes)
	@$(GO) run ./$(VECTORS)/mutation -update

HARNESS ?= adk
HARNESSES := $(patsubst discovery/harness/%/harness.json,%,$(wildcard discovery/harness/*/harness.json))
DRIFT := $(patsubst discovery/drift/%/harness.json,%,$(wildcard discovery/drift/*/harness.json))
VENVS := $(patsubst %/requirements.txt,%/.venv,$(wildcard discovery/harness/*/requirements.txt discovery/drift/*/requirements.txt))
MODULES := $(patsubst %/package-lock.json,%/node_modules,$(wildcard discovery/harness/*/package-lock.json))
TARGETS := $(patsubst %/pom.xml,%/target,$(wildcard discovery/harness/*/pom.xml))
.PHONY: $(HARNESSES:%=harness-%) $(DRIFT:%=harness-%)
$(patsubst discovery/harness/%/.venv,harness-%,$(filter discovery/harness/%,$(VENVS))): harness-%: discovery/harness/%/.venv/.installed
$(MODULES:discovery/harness/%/node_modules=harness-%): harness-%: discovery/harness/%/node_modules/.installed
$(TARGETS:discovery/harness/%/target=harness-%): harness-%: discovery/harness/%/target/.installed
$(DRIFT:%=harness-%): harness-%: discovery/drift/%/.venv/.installed
$(VENVS:%=%/.installed): %/.venv/.installed: %/requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "make: Python 3.11 or newer is needed for the harness in $* ($(PYTHON) is not; set PYTHON=)" >&2; exit 1; }
	@rm -rf $*/.venv
	@$(PYTHON) -m venv $*/.venv || { echo "make: python's venv module is needed (Debian: apt-get install python3-venv)" >&2; exit 1; }
	@echo "installing the harness in $* (about half a minute)"
	@$*/.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $*/requirements.txt
	@$*/.venv/bin/python -m pip check --disable-pip-version-check
	@touch $@
$(MODULES:%=%/.installed): %/node_modules/.installed: %/package-lock.json
	@node -e 'process.exit(+(parseInt(process.versions.node) < 20))' 2>/dev/null && command -v npm >/dev/null || { echo "make: Node.js 20 or newer with npm is needed for the harness in $*: https://nodejs.org/" >&2; exit 1; }
	@echo "installing the harness in $* (about a minute)"
	@cd $* && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
MAVEN := mvn --batch-mode -Dstyle.color=never --no-transfer-progress --quiet --strict-checksums -Dmaven.repo.local=target/repository
$(TARGETS:%=%/.installed): %/target/.installed: %/pom.xml %/artifacts.sha256 $(shell find discovery/harness/*/src -type f)
	@[ "$$(javac -version 2>&1 | sed -E 's/^javac ([0-9]+).*/\1/')" -ge 17 ] 2>/dev/null && command -v mvn >/dev/null || { echo "make: a JDK of Java 17 or newer and Maven are needed for the harness in $* (Debian: apt-get install default-jdk-headless maven)" >&2; exit 1; }
	@rm -rf $*/target
	@echo "building the harness in $* (about two minutes)"
	@cd $* && $(MAVEN) org.apache.maven.plugins:maven-dependency-plugin:3.9.0:go-offline
	@cd $*/target/repository && find . -name '*.jar' -o -name '*.pom' | xargs $$(command -v sha256sum || echo shasum -a 256) | { ! grep -vxFf ../../artifacts.sha256; } || { echo "make: $*/artifacts.sha256 does not list these downloads; nothing was built" >&2; exit 1; }
	@cd $* && $(MAVEN) --offline package
	@touch $@

.PHONY: captures
captures: harness-$(HARNESS) ## replace the committed captures of HARNESS (adk) by fresh ones, all or those of ONLY=a,b, and rewrite what is made from them
	@$(GO) test -count=1 -tags live -run '^TestLive$$' ./cmd/p20export -harness $(HARNESS) -only '$(ONLY)' -record
	@$(MAKE) regenerate
	@echo "recorded; now look at what changed: git diff --stat"

.PHONY: discovery-drift
discovery-drift: $(DRIFT:%=harness-%) ## capture every scenario afresh from older releases of the ADK middleware; RECORD=1 replaces their captures
	@for name in $(DRIFT); do $(GO) test -race -count=1 -tags live -run '^TestLive$$' -v ./cmd/p20export -harness $$name $(if $(RECORD),-record); done
	@$(if $(RECORD),$(MAKE) regenerate)

.PHONY: discovery
discovery: $(HARNESSES:%=harness-%) ## install every harness, capture every scenario afresh, and compare the structure with the committed captures
	@for name in $(HARNESSES); do $(GO) test -count=1 -tags live -run '^TestLive$$' -v ./cmd/p20export -harness $$name; done

.PHONY: gate
gate: ## make discovery/GATE.md and FIELD_PRESENCE.md anew from the committed captures
	@$(GO) run ./cmd/internal/generate/gate
	@echo "made discovery/GATE.md and discovery/FIELD_PRESENCE.md"

.PHONY: recount
recount: ## count every figure of discovery/GATE.md again, with a program that shares no code with this one, and compare
	@cd discovery/recount && $(PYTHON) -W error -B -m unittest -q
	@$(PYTHON) -W error -B discovery/recount/recount.py

.PHONY: sample
sample: ## make the sample lane anew from the committed captures
	@$(GO) test -count=1 ./cmd/p20export -run '^TestSample$$' -update
	@$(GO) test -count=1 ./cmd/p20export -run '^TestDocs$$' -update

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/p20export
ASSAY := $(CACHE)/assay-cli-6.21.0
.PHONY: assay-cli
assay-cli: ## build Assay's own command line (10 to 15 minutes, once), and check and show the sample lane with it
	@command -v cargo >/dev/null || { echo "make: Rust 1.89 or newer is needed for Assay's command line: https://rustup.rs/" >&2; exit 1; }
	@[ -x $(ASSAY)/bin/assay ] || cargo install assay-cli --version 6.21.0 --locked --root $(ASSAY)
	@echo "Assay's command line is $(ASSAY)/bin/assay"
	@P20EXPORT_ASSAY=$(ASSAY)/bin $(GO) test -count=1 -tags assaycli ./cmd/p20export -run '^TestAssayDocs$$' -update

.PHONY: schema
schema: ## make the JSON Schemas anew from the Go types and the sample lane
	@$(GO) run ./cmd/p20export/internal/generate/schema

.PHONY: vectors
vectors: ## write the conformance vectors anew, and the tables of docs/contract.md, findings.md and vectors.md
	@$(GO) test -count=1 ./$(VECTORS) -run '^TestVectorsAreAuthored$$' -update
	@$(GO) test -count=1 ./$(VECTORS) -run '^TestContractTables$$' -update

.PHONY: regenerate
regenerate: ## rewrite the sample lane, the schemas and every file that tests compare with
	@$(GO) test -count=1 ./cmd/p20export -run '^TestCommittedCaptures$$' -update
	@$(MAKE) gate
	@$(GO) test -count=1 ./discovery/report -run '^TestGolden$$' -update
	@$(MAKE) sample
	@$(MAKE) schema
	@$(GO) test -count=1 ./cmd/p20export -run '^Test(Stable|RowTable)$$' -update
	@$(MAKE) vectors

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s)
	@$(GO) test ./... -list '^Fuzz' | awk '/^Fuzz/ {names[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print names[i], $$2; n=0}' | while read -r name package; do \
	echo "$$name $$package"; $(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$package"; done

.PHONY: corpus
corpus: ## keep up to 64 small inputs of each fuzz target from Go's cache under testdata/fuzz
	@cd "$$($(GO) env GOCACHE)/fuzz/github.com/p20export/p20export" && find . -type d -name 'Fuzz*' | while read -r target; do \
	to="$(CURDIR)/$$(dirname "$$target")/testdata/fuzz/$$(basename "$$target")"; rm -rf "$$to"; mkdir -p "$$to"; \
	find "$$target" -type f -size -3k | sort | awk '{all[n++]=$$0} END {step=n>64?n/64:1; for (i=0; i<n; i+=step) print all[int(i)]}' | while read -r f; do cp "$$f" "$$to/"; done; done

.PHONY: bench
bench: $(RELEASE) $(HELLO) ## benchmarks; start-up against a cobra hello-world; time and peak memory of a 1 GB capture, of hostile files and of the largest bundles
	@$(GO) test -run '^$$' -bench . -benchmem ./...
	@$(GO) run ./cmd/internal/bench -program $(RELEASE) -hello $(HELLO) -judge "$$(artifact/assay/judge/build.sh --release)"

.PHONY: clean
clean: ## remove what the Makefile made
	@rm -rf $(BUILD) $(VENVS) $(MODULES) $(TARGETS)
