# make help lists the targets.
GO ?= go
export CGO_ENABLED ?= 0
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X lab/pkg/cli.version=$(VERSION)

.PHONY: help build test test-deps prove bench pictures lint fmt generate vuln

help: ## the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 12

build: ## bin/lab
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/lab ./cmd/lab

test: build ## every test, on the real Envoy (fetched on the first run)
	bin/lab envoy path >/dev/null
	$(GO) vet ./...
	$(GO) test -v -timeout 15m ./...
	bin/lab dev lint
	bin/lab dev prove 08-xds

# The page's tests need a real browser; they fail, and name this target, where there is none.
test-deps: ## Chromium for the tests of the page, from apt where it lacks
	@command -v chromium chromium-browser google-chrome >/dev/null || \
	  { apt-get update -q && apt-get install -y -q --no-install-recommends chromium; }

prove: build ## the long proof: every solution, many times
	bin/lab dev prove 08-xds -n 20

bench: build ## the numbers of docs/performance.md
	$(GO) test -run '^$$' -bench . -benchtime 1x ./bench/...

pictures: ## docs/pictures, from real runs (needs Chromium, and fonts for Chinese)
	$(GO) test -count=1 -timeout 5m -run TestPictures ./e2e -pictures

fmt: ## format
	gofmt -w cmd pkg checks envoy upstreams labs

generate: ## generated files
	$(GO) generate ./...
	$(GO) test ./pkg/cli -run TestGeneratedPages -update
	LAB_UPDATE=1 $(GO) test ./checks -run TestReference

vuln: ## known vulnerabilities in what is linked
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.1.4 ./...
