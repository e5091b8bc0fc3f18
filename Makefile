# takeback. Needs Go, and for the tests also Node >= 18, Python >= 3.10 and git.
# `make demo` shows the main job, offline; `make test` runs every test there is.

GO     ?= go
NODE   ?= node
NPM    ?= npm
PYTHON ?= python3
# More words for the runners: `make test-node NODE_TEST_FLAGS=--test-name-pattern=undo`.
GO_TEST_FLAGS   ?=
NODE_TEST_FLAGS ?=
PYTEST_FLAGS    ?=

BIN      := .bin/takeback
FAKEAPI  := .bin/fakeapi
SDK_ENV  := TAKEBACK_BIN='$(CURDIR)/$(BIN)' FAKEAPI_BIN='$(CURDIR)/$(FAKEAPI)'
NODE_DIR := sdk-tests/node
PY_DIR   := sdk-tests/python
VENV_PY  := $(PY_DIR)/.venv/bin/python

VERSION   := $(or $(shell git describe --always --dirty 2>/dev/null),dev)
GO_BUILD   = CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
PLATFORMS := linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
VET_OS    := linux darwin windows
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help
.PHONY: help build demo test lint cross test-go test-node test-python bench clean

help:
	@echo 'make build        the executable, at .bin/takeback'
	@echo 'make demo         build it and see it work: no key, no network'
	@echo 'make test         everything: lint, cross, test-go, test-node, test-python'
	@echo 'make lint         gofmt, go vet for $(VET_OS), staticcheck'
	@echo 'make cross        build for $(PLATFORMS)'
	@echo 'make test-go      the Go tests, with the race detector where a C compiler is'
	@echo 'make test-node    the TypeScript SDK against the executable'
	@echo 'make test-python  the Python SDK against the executable'
	@echo 'make bench        speed and size, as a host sees them'
	@echo 'make clean        remove what these made'

build:
	$(GO_BUILD) -o $(BIN) ./cmd/takeback

demo: build
	$(BIN) demo

# In this order, whatever -j says: the output of two runners at once is nobody's friend.
.NOTPARALLEL:
test: lint cross test-go test-node test-python

lint:
	@unformatted=$$(find . -name '*.go' -not -path '*/node_modules/*' -not -path '*/.venv/*' -exec gofmt -l {} +) && \
	if [ -n "$$unformatted" ]; then echo "gofmt: run gofmt -w on"; echo "$$unformatted"; exit 1; fi
	@for os in $(VET_OS); do \
	  echo "go vet for $$os"; \
	  CGO_ENABLED=0 GOOS=$$os $(GO) vet -trimpath ./... || exit 1; \
	done
	$(GO) run $(STATICCHECK) ./...

# With the flags of lint and build, so that what those compiled is not compiled again.
cross:
	@for platform in $(PLATFORMS); do \
	  echo "build for $$platform"; \
	  CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build -trimpath -o /dev/null ./cmd/takeback || exit 1; \
	done

# The race detector needs cgo, and that a C compiler. Without one the tests run all the same.
test-go:
	@cc=$$($(GO) env CC); \
	if [ -n "$$cc" ] && command -v $${cc%% *} >/dev/null 2>&1; then \
	  echo "go test -race"; \
	  CGO_ENABLED=1 $(GO) test -race -count=1 $(GO_TEST_FLAGS) ./...; \
	else \
	  echo "*** No C compiler ($${cc:-none named by go env CC}): the Go tests run WITHOUT the race detector."; \
	  CGO_ENABLED=0 $(GO) test -count=1 $(GO_TEST_FLAGS) ./...; \
	fi

test-node: build $(FAKEAPI) $(NODE_DIR)/node_modules/.installed
	cd $(NODE_DIR) && $(SDK_ENV) \
	  $(NODE) --test --test-reporter=spec $(NODE_TEST_FLAGS) test/*.test.mjs

test-python: build $(FAKEAPI) $(PY_DIR)/.venv/.installed
	cd $(PY_DIR) && $(SDK_ENV) \
	  .venv/bin/python -m pytest $(PYTEST_FLAGS)

# Always run: Go knows best whether it is up to date.
.PHONY: $(FAKEAPI)
$(FAKEAPI):
	$(GO) build -o $@ ./sdk-tests/fakeapi/cmd/fakeapi

$(NODE_DIR)/node_modules/.installed: $(NODE_DIR)/package.json $(NODE_DIR)/package-lock.json $(NODE_DIR)/.npmrc
	@$(NODE) -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 18 || (a == 18 && b >= 15) ? 0 : 1)' || \
	  { echo "Node >= 18.15 is needed, this is $$($(NODE) --version)"; exit 1; }
	cd $(NODE_DIR) && $(NPM) ci --omit=optional
	@touch '$@'

$(PY_DIR)/.venv/.installed: $(PY_DIR)/requirements.txt $(PY_DIR)/requirements-build.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "Python >= 3.10 is needed, this is $$($(PYTHON) --version 2>&1): make PYTHON=python3.x names another one"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || \
	  { echo "This Python cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv --clear $(PY_DIR)/.venv
	$(VENV_PY) -m pip --disable-pip-version-check install -q --require-hashes -r $(PY_DIR)/requirements-build.txt
	$(VENV_PY) -m pip --disable-pip-version-check install -q --require-hashes --no-build-isolation -r $(PY_DIR)/requirements.txt
	@touch '$@'

# Figures worth something need a machine that does nothing else.
bench: build
	$(GO) run ./sdk-tests/bench $(BENCH_FLAGS) $(BIN)

clean:
	rm -rf .bin $(NODE_DIR)/node_modules $(PY_DIR)/.venv $(PY_DIR)/.pytest_cache
	find $(PY_DIR) -name __pycache__ -type d -prune -exec rm -rf {} +
