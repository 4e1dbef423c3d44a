# make demo     freeze a real ADK run from this repository; needs only Go
# make test     run everything that needs only git and Go
# make check    run every check; make doctor lists the tools that this needs, and make setup installs them
# make help     list all targets
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
RELEASE_BYTES ?= 31200000
BUILD_RELEASE := CGO_ENABLED=0 $(GO) build -trimpath -ldflags='-s -w'
DEMO := $(BUILD)/demo
EMBEDDED := discovery/scenarios.json docs/contract.md docs/projections.md docs/sequence.md $(wildcard schema/*.json discovery/report/*.css discovery/report/*.js internal/look/*.css internal/look/*.js serve/window/*.html serve/window/*.css serve/window/*.js serve/window/modules/*.mjs)
SOURCES := $(shell find . -name '*.go' -not -path './.build/*' -not -path '*/.venv/*' -not -path '*/node_modules/*') go.mod go.sum $(EMBEDDED)
FUZZTIME ?= 60s

# What is installed from lock files is kept in the user's cache, keyed by them.
CACHED := internal/testkit/cached.sh
NPM := npm ci --silent --ignore-scripts --no-audit --no-fund
CLIENT := $(CACHED) client envelope/judge/package.json envelope/judge/package-lock.json -- $(NPM)
REDOCLY := $(CACHED) redocly docs/redocly/package.json docs/redocly/package-lock.json -- $(NPM)
AXE := $(CACHED) axe discovery/report/axe/package.json discovery/report/axe/package-lock.json -- $(NPM)
WINDOW := $(CACHED) window serve/window/modules/package.json serve/window/modules/package-lock.json -- $(NPM)
DURABLE := $(CACHED) streams $(addprefix serve/testdata/streams/,package.json package-lock.json conformance.test.js) -- $(NPM)
CHAT := $(CACHED) chat $(addprefix examples/resumable-chat/,package.json package-lock.json agent.js chat.js chat.css index.html) -- sh -c '$(NPM) && npm run --silent build'
TS := clients/typescript
TS_NEWEST := $(CACHED) typescript-newest $(addprefix $(TS)/test/newest/,package.json package-lock.json) -- $(NPM)
TS_ASSISTANT_UI := $(CACHED) typescript-assistant-ui $(addprefix $(TS)/test/assistant-ui/,package.json package-lock.json) -- $(NPM)
COPILOTKIT := $(CACHED) copilotkit $(addprefix cmd/internal/bench/store/copilotkit/,package.json package-lock.json runner.mjs) -- $(NPM)
CLIENTS_COPILOTKIT := $(CACHED) clients-copilotkit $(addprefix clients/typescript/test/copilotkit/,package.json package-lock.json) -- $(NPM)
VENV = $(CACHED) venv-$$($(PYTHON) -c 'import platform; print(platform.python_version())')
DURABLE_VENV = $(VENV) serve/testdata/streams/requirements.txt -- $(INSTALL_VENV)
INSTALL_VENV := sh -c '$(PYTHON) -m venv venv && venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r requirements.txt && venv/bin/python -m pip check --disable-pip-version-check'
# pyspark is published as source only. Its build uses the pinned setuptools of build.txt.
SPARK_VENV = $(VENV)-spark examples/spark/build.txt examples/spark/requirements.txt -- $(INSTALL_SPARK)
INSTALL_SPARK := sh -c '$(PYTHON) -m venv venv && for args in "-r build.txt" "--no-build-isolation -r requirements.txt"; do venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps $$args || exit; done && venv/bin/python -m pip check --disable-pip-version-check'
# moto's S3 server, and the ag-ui-protocol that udf.py checks events with.
MOTO_VENV = $(VENV) examples/spark/test/requirements.txt -- $(INSTALL_VENV)
UDF_VENV = $(VENV) $(PEERS)/pydantic/requirements.txt -- $(INSTALL_VENV)
# Spark's connector for S3, in the directory jars, which has what jars.sha256 lists and nothing else.
S3A = $(CACHED) s3a $(addprefix examples/spark/test/s3a/,pom.xml jars.sha256) -- sh -c '$(INSTALL_S3A)'
INSTALL_S3A = $(MAVEN) org.apache.maven.plugins:maven-dependency-plugin:3.9.0:copy-dependencies -DoutputDirectory=jars && sha256sum --quiet --strict -c jars.sha256 && [ $$(ls jars | wc -l) -eq $$(wc -l <jars.sha256) ] && rm -rf target
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
	@$(GO) build -trimpath -o $@ ./cmd/p20export

.PHONY: release $(RELEASE) $(HELLO)
release: $(RELEASE) ## build the release (static, stripped) into .build/release/, and check its size
	@bytes=$$(wc -c <$<); echo "$<: $$bytes bytes"; \
	[ "$$bytes" -le $(RELEASE_BYTES) ] || { echo "make: the release is larger than $(RELEASE_BYTES) bytes; go tool nm -size -sort size $(BIN) lists its largest symbols" >&2; exit 1; }
$(RELEASE):
	@$(BUILD_RELEASE) -o $@ ./cmd/p20export
$(HELLO):
	@$(BUILD_RELEASE) -o $@ ./cmd/internal/bench/testdata/hello

DIST := $(BUILD)/dist
.PHONY: dist
dist: ## build what is published of a release into .build/dist/: archives, and packages for Debian, Fedora, pip and npm; RELEASE_KEY=FILE or RELEASE_SIGNER=COMMAND signs it
	@rm -rf $(DIST) && mkdir -p $(BUILD) && $(GO) run ./cmd/internal/dist -o $(DIST) -key "$${RELEASE_KEY:-}" -passphrase-file "$${RELEASE_PASSPHRASE_FILE:-}" -signer "$${RELEASE_SIGNER:-}"

.PHONY: vectors-archive
vectors-archive: ## build the archive of the vectors, their runner and the reference into .build/vectors/
	@rm -rf $(BUILD)/vectors && mkdir -p $(BUILD) && $(GO) run ./cmd/internal/dist -vectors -o $(BUILD)/vectors && ls -l $(BUILD)/vectors

BASE ?=
.PHONY: release-check
release-check: ## check whether HEAD can be released, compared with the last tag or with BASE
	@$(GO) run ./cmd/internal/release -base '$(BASE)'

# What is published of HEAD is built from a clone, so that uncommitted changes do not matter.
PUBLISHED := $(BUILD)/head/.build/dist
# It is signed with a new key.
PUBLISHED_KEY := $(BUILD)/head-key/release
.PHONY: $(PUBLISHED)
$(PUBLISHED): $(BIN)
	@rm -rf $(BUILD)/head $(dir $(PUBLISHED_KEY)) && mkdir -p $(dir $(PUBLISHED_KEY)) && $(BIN) keygen $(PUBLISHED_KEY) >/dev/null && git clone --quiet . $(BUILD)/head
	@$(MAKE) -C $(BUILD)/head dist RELEASE_KEY=$(CURDIR)/$(PUBLISHED_KEY).key.pem RELEASE_PASSPHRASE_FILE= RELEASE_SIGNER=

CLIENTS_PYTHON_VENV = $(VENV) clients/python/requirements.txt -- $(INSTALL_VENV)
PACKAGES_VENV = $(VENV) packaging/requirements.txt -- $(INSTALL_VENV)
.PHONY: packages
packages: $(PUBLISHED) ## install what make dist builds with pip, uvx, npm and go install, run the action, and build it again elsewhere
	@venv=$$($(PACKAGES_VENV)); client=$$($(CLIENTS_PYTHON_VENV)); signatures=$$($(SIGNATURES_VENV)); newest=$$($(TS_NEWEST)); \
	export P20EXPORT_DIST=$(CURDIR)/$(PUBLISHED) P20EXPORT_DIST_KEY=$(CURDIR)/$(PUBLISHED_KEY) P20EXPORT_SIGNATURES_PYTHON=$$signatures/venv/bin/python P20EXPORT_PACKAGES_PYTHON=$$venv/venv/bin/python P20EXPORT_CLIENTS_PYTHON=$$client/venv P20EXPORT_TYPESCRIPT=$$newest; \
	$(GOTEST) -tags dist ./packaging

.PHONY: reproducible
reproducible: $(PUBLISHED) ## build everything that is published again, in another folder, as another user, and compare the bytes (half an hour)
	@P20EXPORT_DIST=$(CURDIR)/$(PUBLISHED) P20EXPORT_DIST_KEY=$(CURDIR)/$(PUBLISHED_KEY) $(GOTEST) -v -tags dist -run '^TestReproducible$$' ./packaging -all

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

CHECK = $(GO) run ./cmd/internal/check
.PHONY: test
test: ## run everything that needs only git and Go: about four minutes, and four more the first time
	@$(CHECK) test

SKIP ?=
.PHONY: check
check: ## run every check, two lanes at a time; SKIP=judge,browser leaves lanes out
	@$(CHECK) all -skip '$(SKIP)'

.PHONY: doctor
doctor: ## list the tools that make check needs, which are missing, and where they are from
	@$(CHECK) doctor

.PHONY: stress
stress: ## run make test five times and the lane race twice beside four busy processes
	@$(CHECK) stress

.PHONY: setup
setup: ## install what make check needs: Debian packages, and what pip, npm and cargo install from lock files
	@cmd/internal/check/setup.sh
	@$(CLIENT) >/dev/null
	@$(REDOCLY) >/dev/null
	@$(AXE) >/dev/null
	@$(WINDOW) >/dev/null
	@$(CHAT) >/dev/null
	@$(COPILOTKIT) >/dev/null
	@$(DURABLE) >/dev/null
	@$(DURABLE_VENV) >/dev/null
	@$(SPARK_VENV) >/dev/null
	@$(TS_NEWEST) >/dev/null
	@$(TS_ASSISTANT_UI) >/dev/null
	@$(CLIENTS_COPILOTKIT) >/dev/null
	@$(VALIDATE_PEER_VENV) >/dev/null
	@$(CLIENTS_PYTHON_VENV) >/dev/null
	@$(SIGNATURES_VENV) >/dev/null
	@$(SEALS_VENV) >/dev/null
	@$(LITEWITNESS) >/dev/null
	@$(PACKAGES_VENV) >/dev/null
	@$(SITE_VENV) >/dev/null
	@$(SITE_MODULES) >/dev/null
	@$(MAKE) harness-adk harness-pydantic-ai
	@artifact/assay/judge/build.sh >/dev/null

ONLY ?=
FOUND ?=
.PHONY: nightly
nightly: ## run what takes hours and write docs/verification.md; ONLY=fuzz,soak-proxy runs some parts
	@FUZZTIME=$${FUZZTIME:-10m} $(CHECK) nightly -only '$(ONLY)' -found '$(FOUND)'

.PHONY: check-format
check-format: ## check the format of Go files
	@out=$$(git ls-files -co --exclude-standard '*.go' | xargs gofmt -l); \
	if [ -n "$$out" ]; then echo "run gofmt -w on:"; echo "$$out"; exit 1; fi

.PHONY: check-modules
check-modules: ## check that go.mod is tidy, and the modules against go.sum
	@$(GO) mod tidy -diff
	@$(GO) mod verify

LANES := live,assaycli,judge,client,browser,postgres,programs,signatures,seals,witness,spec,peer,work,dist,roots
.PHONY: static
static: check-format check-modules vet staticcheck ## check formats, modules, vet and staticcheck

SPARK := examples/spark
SPARK_PYTHON = venv=$$($(SPARK_VENV)); export PYSPARK_PYTHON=$$venv/venv/bin/python PYTHONDONTWRITEBYTECODE=1 P20EXPORT=$(CURDIR)/$(BIN) SPARK_LOCAL_IP=127.0.0.1
.PHONY: spark
spark: $(BIN) ## freeze, lint, pack and query 2,000 captures with Spark in local mode, while a process is killed
	@$(SPARK_PYTHON); cd $(SPARK)/test && $$PYSPARK_PYTHON -W ignore -m unittest -v test_jobs

.PHONY: scale
scale: $(BIN) ## freeze CAPTURES (200000) captures on a Spark cluster, while a machine and processes are killed, and captures in S3 (20 minutes)
	@$(SPARK_PYTHON); moto=$$($(MOTO_VENV)); s3a=$$($(S3A)); export P20EXPORT_MOTO=$$moto/venv/bin/python P20EXPORT_S3A=$$s3a/jars CAPTURES=$${CAPTURES:-200000}; \
	$(SPARK)/test/s3.sh with $(SPARK)/test/cluster.sh with $$PYSPARK_PYTHON -W ignore $(SPARK)/test/test_scale.py -v -f

.PHONY: bench-spark
bench-spark: $(RELEASE) ## measure the jobs for Spark and print tables; needs an idle machine for half an hour; COUNTS='20000 200000 2000000' measures more
	@$(SPARK_PYTHON); udf=$$($(UDF_VENV)); export P20EXPORT=$(CURDIR)/$(RELEASE); \
	PYTHONPATH=$$(echo $$udf/venv/lib/python*/site-packages) $(SPARK)/test/cluster.sh with $$PYSPARK_PYTHON $(SPARK)/test/bench.py peers; \
	$(SPARK)/test/cluster.sh with $$PYSPARK_PYTHON $(SPARK)/test/bench.py growth $${COUNTS:-20000 200000}

.PHONY: vet
vet: ## run go vet with and without the build tags of the lanes, and build for 32-bit Windows
	@$(GO) vet ./...
	@GOOS=windows GOARCH=386 $(GO) build -o /dev/null ./cmd/p20export
	@$(GO) vet -tags $(LANES) ./...

.PHONY: staticcheck
staticcheck: ## run staticcheck, pinned in internal/tools
	@$(GO) tool -modfile=internal/tools/go.mod staticcheck ./...
	@$(GO) tool -modfile=internal/tools/go.mod staticcheck -tags $(LANES) ./...

.PHONY: clients-python
clients-python: ## build and install the Python package, and test it and its types
	@venv=$$($(CLIENTS_PYTHON_VENV)); clients/python/test.sh $$venv/venv clients/python

.PHONY: python-commands
python-commands: ## generate the functions and rows of the Python package from the commands and the schema of rows
	@$(GO) test -count=1 ./cmd/p20export -run '^TestPythonCommands$$' -update

.PHONY: openapi
openapi: ## check the description of the HTTP interface of serve with Redocly's linter
	@redocly=$$($(REDOCLY)); export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true; \
	out=$$($$redocly/node_modules/.bin/redocly lint --extends recommended-strict docs/serve.openapi.json 2>&1) || { echo "$$out"; exit 1; }

.PHONY: window
window: ## compare the modules that the window embeds with those that npm installs from the lock file, byte for byte
	@made=$$($(WINDOW))/node_modules; \
	for pair in preact/dist/preact.mjs:preact.mjs preact/hooks/dist/hooks.mjs:hooks.mjs htm/dist/htm.mjs:htm.mjs preact/LICENSE:preact.LICENSE htm/LICENSE:htm.LICENSE; do \
	cmp "$$made/$${pair%%:*}" "serve/window/modules/$${pair#*:}"; done

# go test, as every lane calls it: make check passes GOTESTFLAGS=-json to count tests, and -trimpath
# lets clones share what is compiled.
GOTEST = $(GO) test -trimpath -vet=off -count=1 -timeout 30m $(GOTESTFLAGS)

# Tests that kill programs, make their system calls fail, or measure what they use.
KILLS := Test(|Group|Proxy|Store|Recover|Writer|SQLite|Seal)Faults|TestSQLiteFollowFaults|Test(|Proxy|Store|Seal)PowerLoss|Test(|Harness|LogImport|ProxyStore|Serve|ServeAppend|SQLite|Seal)Killed(|Often|Anywhere)|TestProxyStoreLocked|TestVerifyEveryByte|TestSoak|TestSoakLarge
.PHONY: suites
suites: ## run the tests that need only git and Go
	@$(GOTEST) -skip '^($(KILLS))$$' ./...

.PHONY: kills
kills: ## kill programs, make system calls fail and take the power away, at a sample of points; keep 200 streams open for 20 seconds
	@$(GOTEST) -run '^($(KILLS))$$' -skip '^TestSoak' ./capture/... ./project/verify ./store/sqlite ./serve ./cmd/p20export
	@$(GOTEST) -run '^TestSoak' ./capture/proxy -soak 20s -large 1024

.PHONY: operations
operations: ## run the commands of the documentation that use curl, openssl, Python and systemd, and the second judge of stores
	@$(GOTEST) -tags programs -run '^(TestOperations|TestUnitsVerified|TestServeDocs|TestDocsPrograms|TestTenCommands|TestStoreJudge(|Agrees))$$' ./cmd/p20export

SIGNATURES_VENV = $(VENV) cmd/p20export/testdata/signatures/requirements.txt -- $(INSTALL_VENV)
.PHONY: signatures
signatures: ## let OpenSSL, securesystemslib, in-toto-attestation and SoftHSM verify what we sign, and verify what they sign; UPDATE=1 rewrites docs/signatures.md
	@venv=$$($(SIGNATURES_VENV)); P20EXPORT_SIGNATURES_PYTHON=$$venv/venv/bin/python $(GOTEST) -tags signatures -run '^TestSignatures' ./cmd/p20export $(if $(UPDATE),-update)

SEALS_VENV = $(VENV) store/seal/judge/requirements.txt -- $(INSTALL_VENV)
BUILD_LITEWITNESS := CGO_ENABLED=0 GOFLAGS=-mod=readonly $(GO) build -trimpath -buildvcs=false -o . filippo.io/torchwood/cmd/litewitness
LITEWITNESS := $(CACHED) litewitness $(addprefix store/seal/judge/witness/,go.mod go.sum) -- sh -c '$(BUILD_LITEWITNESS)'
.PHONY: seals
seals: ## tamper with 3,000 threads, compare the verdicts with those of a second verifier in Python, and let a real witness cosign seals
	@venv=$$($(SEALS_VENV)); witness=$$($(LITEWITNESS)); export P20EXPORT_SEALS_PYTHON=$$venv/venv/bin/python P20EXPORT_WITNESS=$$witness; \
	store/postgres/server.sh with $(GOTEST) -tags seals,postgres -run '^TestSeals' ./store/seal -cases 1000

# The packages that start goroutines, or whose values several use at the same time. -race costs
# the others five to ten times as much and can find nothing in them. These tests read what is
# printed, one command after the other, or measure memory, which -race changes: with it, a
# sync.Pool loses things at random. TestSealerFull seals 3,000 threads as other tests seal a few.
# These scripts do one thing after the other, too.
RACE := ./capture/... ./cmd/p20export ./cmd/p20export/internal/{cli,logs,monitor,service,signals} ./discovery/scenario ./internal/atomicfile ./internal/ordered ./project/freeze ./project/validate ./project/verify ./serve/... ./store/attach ./store/internal/... ./store/memory ./store/seal ./store/sqlite ./store/storetest ./store/transfer
WITHOUT_RACE := $(KILLS)|TestAllocations|TestMemoryIsFiles|TestTarWaiting|TestVerifyTreeFlippedBytes|TestSARIF|TestCompareSARIF|TestJUnit|TestValidateText|TestAdvice|TestUnwritableHelp|TestBroken|TestSQLite.*|Test(Source|Each|SplitConstant)Memory|TestRowsSchema|TestRowTypes|Test(Discover|Compare)Columns|TestDiscoverAnswersAgree|TestDocs|TestLinks|TestLinesFit|TestRulesHaveAnchors|TestCommittedCaptures|TestRequestIDsOfCaptures|TestTarContents|TestDirectoryTooLarge|TestUnwritableOutput|TestFreezeDecidesFirst|TestReadsOnce|TestCallsPerCapture|TestLogMemory|TestTampered.*|TestTrees|TestSecretsOfKeys|TestSecretsInURLs|TestSealerFull
SCRIPTS_WITHOUT_RACE := assay|assay-bundle|compact|compact_snapshot|compare|compare-baseline|diff|discover|explain|folded|freeze|hostile|import|inspect|inspect-messages|lacking|lineage|lint|lint-producer|lint-settings|log-cat|log-manage|log-restore|log-threads|log-transfer|log-usage|misplaced|opaque|other-run|outside|refusals|report|schema|sign|signer|stack-traces|usage|validate|validate-formats|verify|verify-signed
.PHONY: race
race: ## run the tests of everything concurrent again with -race
	@$(GOTEST) -race -skip '^($(WITHOUT_RACE))$$|^TestScripts$$/^($(SCRIPTS_WITHOUT_RACE))$$|^TestTenThousandThreads$$/^sqlite$$' $(RACE)

.PHONY: live
live: harness-adk ## capture every scenario again from the real ADK middleware
	@$(GOTEST) -race -tags live -run '^Test(|Lint)Live$$' ./cmd/p20export -harness adk

.PHONY: live-proxy
live-proxy: harness-adk ## let the reference client run the real ADK middleware directly, through proxy, and from replay, and compare
	@client=$$($(CLIENT)); P20EXPORT_CLIENT=$$client $(GOTEST) -tags live,client -run '^TestProxyLive$$' ./cmd/p20export

.PHONY: judge
judge: ## compare our verdicts on Assay bundles with those of the published verifier (built once, in about two minutes)
	@judge=$$(artifact/assay/judge/build.sh); \
	export P20EXPORT_JUDGE=$$judge; \
	$(GOTEST) -race -tags judge -run '^TestJudge' -skip '^TestJudge(Large|Random)' ./artifact/assay/... ./cmd/p20export; \
	$(GOTEST) -tags judge -run '^TestJudge(Large|Random)' ./artifact/assay/... # too much for -race

.PHONY: client
client: ## compare our readings of AG-UI streams with those of the reference client, in Node
	@mkdir -p $(BUILD); client=$$($(CLIENT)); ln -sfn $$client $(BUILD)/client
	@copilotkit=$$($(COPILOTKIT)); streams=$$($(DURABLE)); venv=$$($(DURABLE_VENV)); P20EXPORT_COPILOTKIT=$$copilotkit P20EXPORT_STREAMS=$$streams P20EXPORT_STREAMS_PYTHON=$$venv/venv/bin/python P20EXPORT_CLIENT=$(CURDIR)/$(BUILD)/client $(GOTEST) -tags client -run '^TestClient' ./envelope/... ./capture/... ./serve ./store/restore ./project/lint ./cmd/p20export ./cmd/internal/generate/gate ./cmd/internal/bench/peers

.PHONY: clients-typescript clients-typescript-types
clients-typescript: $(BIN) ## test the client package for TypeScript with the program, in Node and in Chromium
	@newest=$$($(TS_NEWEST)); assistant=$$($(TS_ASSISTANT_UI)); \
	P20EXPORT_BINARY=$(CURDIR)/$(BIN) $(TS)/test/run.sh "$$newest" "$$assistant"
clients-typescript-types: ## generate the declarations of the client package for TypeScript from its JSDoc
	@find $(TS)/src -name '*.d.ts' -delete
	@made=$$($(TS_ASSISTANT_UI)); ln -sfn "$$made/node_modules" $(TS)/node_modules; $(TS)/node_modules/.bin/tsc -p $(TS)
	@made=$$($(CLIENTS_COPILOTKIT)); ln -sfn "$$made/node_modules" $(TS)/node_modules; $(TS)/node_modules/.bin/tsc -p $(TS)/test/copilotkit

STREAMS ?= 100000
.PHONY: client-streams
client-streams: ## compare our verdicts with those of the reference client in each test on STREAMS (100000) generated streams (half an hour)
	@client=$$($(CLIENT)); P20EXPORT_CLIENT=$$client $(GOTEST) -timeout 0 -v -tags client -run '^TestClient' ./envelope/sequence ./envelope/judge ./envelope/event ./envelope/chunk ./project/lint -streams $(STREAMS)

.PHONY: postgres
postgres: ## test the log in PostgreSQL with a real server, which is started, killed and removed, and serve behind a real nginx
	@export P20EXPORT_NGINX=$$(internal/testkit/nginx.sh); \
	store/postgres/server.sh with $(GOTEST) -race -tags postgres -run '^TestPostgres' ./store/postgres ./store/restore ./serve ./cmd/p20export; \
	store/postgres/server.sh with $(GOTEST) -tags postgres -run '^TestPostgres' ./store/seal ./cmd/internal/bench/serve

.PHONY: check-install
check-install: $(PUBLISHED) ## run the pages for new users, each in a Debian that has nothing but what its reader has, and the container; needs root, debootstrap and buildah
	@venv=$$($(PACKAGES_VENV)); P20EXPORT_DIST=$(CURDIR)/$(PUBLISHED) P20EXPORT_PACKAGES_PYTHON=$$venv/venv/bin/python \
	store/postgres/server.sh with $(GOTEST) -v -tags roots -run '^Test(Roots|Stranger|Container)$$' ./packaging

SITE := $(BUILD)/site
SITE_VENV = $(VENV) docs/site/requirements.txt -- $(INSTALL_VENV)
SITE_MODULES := $(CACHED) site docs/site/package.json docs/site/package-lock.json -- $(NPM)
.PHONY: site
site: ## build the site of the documentation into .build/site/, which works from files and offline; checks every link
	@modules=$$($(SITE_MODULES)); venv=$$($(SITE_VENV)); P20EXPORT_SITE_MODULES=$$modules/node_modules NO_MKDOCS_2_WARNING=1 $$venv/venv/bin/python -B -m mkdocs build --quiet --strict
	@echo "the site is $(SITE)/index.html"

BROWSER = chromium=$$(discovery/report/chromium.sh); axe=$$($(AXE)); export P20EXPORT_CHROMIUM=$$chromium P20EXPORT_AXE=$$axe/node_modules/axe-core/axe.min.js
.PHONY: browser
browser: $(BIN) harness-pydantic-ai site ## use the pages of report, the window, the site and the example chat in a real Chromium, and check them with axe-core
	@$(BROWSER); chat=$$($(CHAT)); nginx=$$(internal/testkit/nginx.sh); export P20EXPORT_NGINX=$$nginx P20EXPORT_CHAT=$$chat/dist P20EXPORT_SITE=$(CURDIR)/$(SITE); \
	store/postgres/server.sh with $(GOTEST) -tags browser -run '^TestBrowser' ./discovery/report ./docs/site ./serve ./cmd/p20export ./$(WINDOW_BENCH) # tests pages, so without -race

TRIALS ?= 40
COPILOTKIT_TESTS := $(BUILD)/clients-copilotkit/typescript/test/copilotkit
.PHONY: clients-copilotkit
clients-copilotkit: $(BIN) ## test ThreadRunner with CopilotKit's runtime in TRIALS (40) trials with kills, and with its chat in a real Chromium; TRIALS_SEED=1 repeats trials
	@modules=$$($(CLIENTS_COPILOTKIT)); chromium=$$(discovery/report/chromium.sh); \
	rm -rf $(BUILD)/clients-copilotkit && mkdir -p $(BUILD)/clients-copilotkit && tar -C clients -c --exclude=node_modules --exclude='project-*' typescript | tar -C $(BUILD)/clients-copilotkit -x && ln -s $$modules/node_modules $(BUILD)/clients-copilotkit; \
	(cd $(COPILOTKIT_TESTS) && rm ../../src/*.d.ts && $$modules/node_modules/.bin/tsc -p . && for made in ../../src/*.d.ts; do diff $(CURDIR)/$(TS)/src/$$(basename $$made) $$made || { echo "make: run make clients-typescript-types" >&2; exit 1; }; done); \
	(cd $(COPILOTKIT_TESTS) && PATH=$$modules/node_modules/.bin:$$PATH npm run --silent build); \
	node $(COPILOTKIT_TESTS)/trials.js $(CURDIR)/$(BIN) $(TRIALS) $(TRIALS_SEED); \
	export P20EXPORT_CHROMIUM=$$chromium P20EXPORT_PROGRAM=$(CURDIR)/$(BIN) P20EXPORT_COPILOTKIT_TESTS=$(CURDIR)/$(COPILOTKIT_TESTS); \
	store/postgres/server.sh with $(GOTEST) -tags browser -run '^TestBrowserCopilotKit' ./clients/typescript/test/copilotkit

.PHONY: picture
picture: ## make the pictures of the documentation
	@$(BROWSER); $(GOTEST) -tags browser -run '^TestBrowser(|Window)Picture$$' ./discovery/report ./cmd/p20export -picture

.PHONY: faults
faults: ## make every file-system call fail in every way on every kind of file system, kill at 200 points, and take the power away (hours)
	@$(GOTEST) ./cmd/p20export -run '^(Test(|Group|Proxy|Store|Seal)Faults|Test(|Proxy|Store|Seal)PowerLoss|Test(|Seal)Killed)$$' -faults -timeout 0
	@$(GOTEST) ./store/sqlite -run '^TestSQLite(|Follow)Faults$$' -faults -timeout 0

SOAK ?= 10m
.PHONY: soak soak-proxy soak-sqlite soak-postgres soak-serve trials
soak: soak-proxy soak-sqlite soak-postgres soak-serve trials ## run the five targets below
soak-proxy: ## keep 200 streams open through the proxy for SOAK (10m), pass 10 GiB in one response, print what the process used
	@$(GOTEST) -timeout 0 -v -run '^TestSoak' ./capture/proxy -soak $(SOAK) -large 10240
soak-sqlite: ## kill the appender of a SQLite log 500 times
	@$(GOTEST) -timeout 0 -v -run '^TestSQLiteKilled$$' ./store/sqlite -kills 500
soak-postgres: ## kill PostgreSQL under an appender 20 times
	@store/postgres/server.sh with $(GOTEST) -timeout 0 -v -tags postgres -run '^TestPostgresServerKilled$$' ./store/postgres -kills 20
soak-serve: ## kill serve 500 times on SQLite and 20 times on PostgreSQL, and more often while producers append 2,000 runs
	@$(GOTEST) -timeout 0 -v -run '^TestServeKilledOften$$' ./cmd/p20export -servekills 500
	@$(GOTEST) -timeout 0 -v -run '^TestServeAppendKilled$$' ./cmd/p20export -appendtrials 2000
	@store/postgres/server.sh with $(GOTEST) -timeout 0 -v -tags postgres -run '^TestPostgresServeKilledOften$$' ./cmd/p20export -servekills 20
trials: ## run 1,000 trials of serve on each log
	@$(GOTEST) -timeout 0 -v -run '^TestSQLiteTrials$$' ./serve -trials 1000
	@store/postgres/server.sh with $(GOTEST) -timeout 0 -v -tags postgres -run '^TestPostgresTrials$$' ./serve -trials 1000

VECTORS := schema/vectors
.PHONY: conformance
conformance: $(BIN) ## run the vectors on the program and the Python reference
	@cd $(VECTORS)/reference && $(PYTHON) -W error -B -m unittest -q
	@cd $(VECTORS) && $(PYTHON) -W error -B -m unittest -q run_test
	@cd $(PEERS) && $(PYTHON) -W error -B -m unittest -q checks_test
	@$(PYTHON) -B $(VECTORS)/run.py --jobs 2 --command '$(BIN) validate --format json --kind {kind} --profile {profile} {file}'
	@$(PYTHON) -B $(VECTORS)/run.py --jobs 2 --server '$(PYTHON) -B $(VECTORS)/reference/validate.py --serve'

.PHONY: differential
differential: ## compare the program with the Python reference on N generated cases (20000) of a SEED (1)
	@for mode in files captures streams; do $(GO) run ./$(VECTORS)/differential -mode $$mode -python $(PYTHON) -n $(N) -seed $(SEED); done

.PHONY: witness
witness: ## compare our verdicts on AG-UI streams with those of a second reader of the specification, in Python, on 20,000 generated streams of each version
	@cd envelope/witness && $(PYTHON) -W error -B -m unittest -q
	@P20EXPORT_PYTHON=$$(command -v $(PYTHON)) $(GOTEST) -timeout 0 -v -tags witness -run '^TestWitness' ./envelope/witness

.PHONY: spec
spec: ## compare our verdicts on the form of 20,000 generated events with the schemas of AG-UI's specification, which are in the directory P20EXPORT_SPEC
	@$(GOTEST) -timeout 0 -v -tags spec -run '^TestSpec' ./envelope/witness

.PHONY: work
work: ## count the statements that the program executes for six inputs, and compare them with those of the last commit; WORK_FLAGS=-update writes the counts
	@$(GOTEST) -tags work -run '^TestWork$$' ./cmd/internal/bench/work $(WORK_FLAGS)

VALIDATE_PEER := project/lint/peer
VALIDATE_PEER_VENV = $(VENV) $(VALIDATE_PEER)/requirements.txt -- $(INSTALL_VENV)
.PHONY: validate-peer
validate-peer: ## compare the findings of lint with those of ag-ui-validate, another checker, on the captures, the vectors and 5,000 changed streams
	@venv=$$($(VALIDATE_PEER_VENV)); P20EXPORT_PEER=$$venv/venv/bin/python $(GOTEST) -tags peer -run '^TestPeer' ./$(VALIDATE_PEER)

.PHONY: mutation
mutation: ## disable the check of each rule in turn, run the vectors, and write the table of docs/vectors.md (about six minutes)
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
	@[ -L $*/.venv ] || rm -rf $*/.venv
	@made=$$($(VENV) $< -- $(INSTALL_VENV)) && ln -sfn "$$made/venv" $*/.venv
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
	@cd $*/target/repository && find . -name '*.jar' -o -name '*.pom' | xargs $$(command -v sha256sum || echo shasum -a 256) | { ! grep -vxFf ../../artifacts.sha256; } || { echo "make: $*/artifacts.sha256 does not list the downloads above; nothing was built" >&2; exit 1; }
	@cd $* && $(MAVEN) --offline package
	@touch $@

.PHONY: captures
captures: harness-$(HARNESS) ## replace the committed captures of HARNESS (adk), all or only those of ONLY=a,b, and regenerate the files made from them
	@$(GO) test -count=1 -tags live -run '^TestLive$$' ./cmd/p20export -harness $(HARNESS) -only '$(ONLY)' -record
	@$(MAKE) regenerate
	@echo "recorded; review the changes: git diff --stat"

.PHONY: discovery-drift
discovery-drift: $(DRIFT:%=harness-%) ## capture every scenario again from older releases of the ADK middleware; RECORD=1 replaces the committed captures
	@for name in $(DRIFT); do $(GO) test -race -count=1 -tags live -run '^TestLive$$' -v ./cmd/p20export -harness $$name $(if $(RECORD),-record); done
	@$(if $(RECORD),$(MAKE) regenerate)

.PHONY: discovery
discovery: $(HARNESSES:%=harness-%) ## install every harness, capture every scenario again, let lint judge it live, and compare both with the committed captures
	@for name in $(HARNESSES); do $(GO) test -count=1 -tags live -run '^Test(|Lint)Live$$' -v ./cmd/p20export -harness $$name; done

.PHONY: gate
gate: ## generate discovery/GATE.md, FIELD_PRESENCE.md and LINT.md from the committed captures
	@$(GO) run ./cmd/internal/generate/gate
	@echo "wrote GATE.md, FIELD_PRESENCE.md and LINT.md in discovery"

.PHONY: recount
recount: ## compare every figure of discovery/GATE.md and LINT.md with the count of a program that shares no code with this one
	@cd discovery/recount && $(PYTHON) -W error -B -m unittest -q
	@$(PYTHON) -W error -B discovery/recount/recount.py

.PHONY: sample
sample: ## generate the sample lane from the committed captures
	@$(GO) test -count=1 ./cmd/p20export -run '^TestSample$$' -update
	@$(GO) test -count=1 ./cmd/p20export -run '^TestDocs$$' -update

CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/p20export
ASSAY := $(CACHE)/assay-cli-6.21.0
.PHONY: assay-cli
assay-cli: ## build Assay's own command line (10 to 15 minutes, once), check the sample lane with it, and update its README
	@command -v cargo >/dev/null || { echo "make: Rust 1.89 or newer is needed for Assay's command line: https://rustup.rs/" >&2; exit 1; }
	@[ -x $(ASSAY)/bin/assay ] || cargo install assay-cli --version 6.21.0 --locked --root $(ASSAY)
	@echo "Assay's command line is $(ASSAY)/bin/assay"
	@P20EXPORT_ASSAY=$(ASSAY)/bin $(GO) test -count=1 -tags assaycli ./cmd/p20export -run '^TestAssayDocs$$' -update

.PHONY: schema
schema: ## generate the JSON Schemas from the Go types and the sample lane
	@$(GO) run ./cmd/p20export/internal/generate/schema

.PHONY: vectors
vectors: ## write the conformance vectors, and the tables of docs/contract.md, findings.md and vectors.md
	@$(GO) test -count=1 ./$(VECTORS) -run '^TestVectorsAreAuthored$$' -update
	@$(GO) test -count=1 ./$(VECTORS) -run '^TestContractTables$$' -update

.PHONY: regenerate
regenerate: ## rewrite the sample lane, the schemas and every other file that tests compare
	@$(GO) test -count=1 ./cmd/p20export -run '^TestCommittedCaptures$$' -update
	@$(MAKE) gate
	@$(GO) test -count=1 ./discovery/report -run '^TestGolden$$' -update
	@$(MAKE) sample
	@$(MAKE) schema
	@$(GO) test -count=1 ./cmd/p20export -run '^Test(Stable|RowTable|TraceDrift|PythonCommands)$$' -update
	@$(MAKE) vectors

.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (60s), as many at once as there are processors
	@out=$$($(GO) test ./... -list '^Fuzz'); awk '/^Fuzz/ {names[n++]=$$1} /^ok/ {for (i=0;i<n;i++) print names[i], $$2; n=0}' <<<"$$out" | \
	FUZZ='$(GO) test -run ^$$ -parallel 1 -fuzztime $(FUZZTIME) -fuzzminimizetime 20x' xargs -P $$(nproc) -L 1 sh -c 'out=$$($$FUZZ -fuzz "^$$0\$$" "$$1" 2>&1); status=$$?; echo "$$0 $$1"; echo "$$out"; exit $$status'

.PHONY: corpus
corpus: ## copy up to 64 small inputs of each fuzz target from Go's cache to testdata/fuzz
	@cd "$$($(GO) env GOCACHE)/fuzz/github.com/p20export/p20export" && find . -type d -name 'Fuzz*' | while read -r target; do \
	to="$(CURDIR)/$$(dirname "$$target")/testdata/fuzz/$$(basename "$$target")"; rm -rf "$$to"; mkdir -p "$$to"; \
	find "$$target" -type f -size -3k | sort | awk '{all[n++]=$$0} END {step=n>64?n/64:1; for (i=0; i<n; i+=step) print all[int(i)]}' | while read -r f; do cp "$$f" "$$to/"; done; done

.PHONY: bench
bench: $(RELEASE) $(HELLO) ## run benchmarks: start-up compared with a cobra hello-world; time and peak memory for a 1 GB capture, hostile files and the largest bundles
	@$(GO) test -run '^$$' -bench . -benchmem ./...
	@$(GO) run ./cmd/internal/bench -program $(RELEASE) -hello $(HELLO) -judge "$$(artifact/assay/judge/build.sh --release)"

BENCH := $(BUILD)/bench
PEERS := cmd/internal/bench/peers
.PHONY: bench-peers
bench-peers: $(RELEASE) ## compare the program with others and write docs/benchmarks.md; needs an idle machine for half an hour; PEERS_FLAGS='-only one -large 64M -doc=' measures less, -help lists all
	@for program in openssl taskset node; do command -v $$program >/dev/null || { echo "make: $$program is needed for the benchmarks" >&2; exit 1; }; done
	@for program in jq strace; do $(PEERS)/install.sh $$program >/dev/null; done
	@mkdir -p $(BENCH)/bin
	@$(GO) build -o $(BENCH)/bin/ ./cmd/internal/bench/generate ./$(PEERS) ./$(PEERS)/hash ./$(PEERS)/link
	@mkdir -p $(BENCH)/peers
	@for name in orjson pydantic; do made=$$($(VENV) $(PEERS)/$$name/requirements.txt -- $(INSTALL_VENV)); ln -sfn $$made/venv $(BENCH)/peers/$$name; done
	@made=$$($(CACHED) peers-client $(PEERS)/client/* -- $(NPM)); ln -sfn $$made $(BENCH)/peers/client
	@$(BENCH)/bin/peers -program $(RELEASE) -dir $(BENCH) -scripts $(PEERS) $(PEERS_FLAGS)
PROXY := cmd/internal/bench/proxy
.PHONY: bench-proxy
bench-proxy: $(RELEASE) ## compare proxy with nginx and a bare ReverseProxy and write its tables in docs/benchmarks.md; needs an idle machine for a quarter of an hour; PROXY_FLAGS='-rounds 1 -doc=' measures less, -help lists all
	@$(PEERS)/install.sh strace >/dev/null
	@mkdir -p $(BENCH)/bin
	@$(GO) build -o $(BENCH)/bin/ ./$(PROXY)
	@nginx=$$(internal/testkit/nginx.sh); $(BENCH)/bin/proxy -program $(RELEASE) -nginx "$$nginx" -dir $(BENCH)/proxy $(PROXY_FLAGS)

STORE := cmd/internal/bench/store
.PHONY: bench-store
bench-store: ## measure the event logs and write their tables in docs/benchmarks.md; needs an idle machine for an hour; STORE_FLAGS='-rounds 1 -only append -doc=' measures less, -help lists all
	@command -v node >/dev/null || { echo "make: node is needed for the benchmarks" >&2; exit 1; }
	@mkdir -p $(BENCH)/bin
	@$(GO) build -o $(BENCH)/bin/ ./$(STORE)
	@runner=$$($(COPILOTKIT)); store/postgres/server.sh with $(BENCH)/bin/store -dir $(BENCH)/store -runner $$runner/runner.mjs $(STORE_FLAGS)
SERVE := cmd/internal/bench/serve
.PHONY: bench-serve
bench-serve: $(RELEASE) ## measure serve and write its tables in docs/benchmarks.md; needs an idle machine for twenty minutes; SERVE_FLAGS='-rounds 1 -only delay -doc=' measures less, -help lists all
	@mkdir -p $(BENCH)/bin
	@$(GO) build -o $(BENCH)/bin/serve ./$(SERVE)
	@nginx=$$(internal/testkit/nginx.sh); store/postgres/server.sh with $(BENCH)/bin/serve -program $(RELEASE) -nginx "$$nginx" -dir $(BENCH)/serve $(SERVE_FLAGS)
WINDOW_BENCH := cmd/internal/bench/window
.PHONY: bench-window
bench-window: $(RELEASE) ## measure the window in a real Chromium and write its tables in docs/benchmarks.md; needs an idle machine for fifteen minutes; WINDOW_FLAGS='-rounds 1 -only list -doc=' measures less, -help lists all
	@chromium=$$(discovery/report/chromium.sh); P20EXPORT_CHROMIUM=$$chromium $(GOTEST) -timeout 0 -v -tags browser -run '^TestBrowserBench$$' ./$(WINDOW_BENCH) -args -program $(CURDIR)/$(RELEASE) -doc $(CURDIR)/docs/benchmarks.md -rounds 5 -events 100000 -runs 1000 -steps 1000 -threads 10000 $(WINDOW_FLAGS)

.PHONY: clean
clean: ## remove all files that make wrote
	@rm -rf $(BUILD) $(VENVS) $(MODULES) $(TARGETS)
