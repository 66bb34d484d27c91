# What a developer does here. Only Go and git are needed for build, test and
# golden; check wants a C compiler for the race detector and goes without it
# where there is none; cores, bench and fuzz take minutes.

GO        ?= go
CACHE     ?= $(if $(XDG_CACHE_HOME),$(XDG_CACHE_HOME),$(HOME)/.cache)/sandrone
CORES_DIR ?= $(CACHE)/cores
CORES     ?= mihomo sing-box sing-box-1.14
FUZZTIME  ?= 20s

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

.PHONY: build check format vet lint test race fuzz golden bench load mcp cores build-cores test-cores rule-sets

# -buildvcs=auto: the version that the program shows comes from the checkout.
build:
	CGO_ENABLED=0 $(GO) build -buildvcs=auto -trimpath -ldflags '-s -w' -o sandrone ./cmd/sandrone

check: format vet lint test race

# The tags bring in the tests that need more than Go, so that they stay sound.
format:
	@files=$$(git ls-files -co --exclude-standard '*.go' | while read -r f; do [ -f "$$f" ] && echo "$$f"; done | xargs gofmt -l) || exit 1; \
	if [ -n "$$files" ]; then echo "gofmt would change:"; echo "$$files"; exit 1; fi

vet:
	$(GO) vet ./...
	$(GO) vet -tags cores,browser,mcpconformance,node ./...

lint:
	$(GO) run $(STATICCHECK) -tags cores,browser,mcpconformance,node ./...

test:
	$(GO) test ./...

race:
	@if command -v "$$($(GO) env CC)" >/dev/null 2>&1; then \
	  echo "$(GO) test -race ./..."; CGO_ENABLED=1 $(GO) test -race ./...; \
	else echo "race: no C compiler, left out"; fi

# Every fuzz target for FUZZTIME.
fuzz:
	GO="$(GO)" tools/fuzz.sh $(FUZZTIME)

# Rewrites the golden files of every package that has some.
golden:
	@dirs=$$(git grep -l --untracked 'goldentest\.' -- '*_test.go' | xargs -n 1 dirname | sort -u | sed 's#^#./#'); \
	echo "$(GO) test" $$dirs "-update"; $(GO) test $$dirs -update

# Go benchmarks, then whole processes and the server beside the floor.
bench:
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(GO) run ./tools/bench $(BENCHFLAGS)

# The official suite of the protocol and the official client in JavaScript look
# at the MCP endpoint. Needs npx of Node 20 or newer and the npm registry.
mcp:
	$(GO) test -count=1 -tags mcpconformance,node -run 'Conformance|JavaScript' ./server

# A server on loopback under 64 clients: requests a second, times, memory.
load:
	$(GO) run ./tools/load $(LOADFLAGS)

# The catalogue of public rule sets, from listings of the collections.
rule-sets:
	$(GO) run ./tools/rulesets $(LISTINGS)

# The real clients read what we write.
cores: build-cores test-cores

test-cores:
	SANDRONE_CORES="$(CORES_DIR)" $(GO) test -tags cores ./...

build-cores:
	tools/cores/build-cores.sh "$(CORES_DIR)" $(CORES)
