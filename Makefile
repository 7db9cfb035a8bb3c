# podstep is built here, and nothing is installed by hand: `make help`.

# The kubelet's version, which its clients want to know.
KUBERNETES := v1.36.3
LDFLAGS := -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)
BIN := bin
# Where `make run` has its node.
LAB := .lab

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## all programs, into bin/; the kubelets are woven
	@mkdir -p $(BIN)
	go build -o $(BIN)/podstep-weave ./cmd/podstep-weave
	$(BIN)/podstep-weave go build -ldflags "$(LDFLAGS)" -o $(BIN)/ ./cmd/podstep-kubelet ./cmd/podstep-lab
	go build -ldflags "$(LDFLAGS)" -o $(BIN)/ ./cmd/podstep
	@$(BIN)/podstep-weave report $(BIN)/podstep-kubelet | tail -n 1

.PHONY: kubelet
kubelet: ## an unmodified kubelet, to compare with
	@mkdir -p $(BIN)
	go build -ldflags "$(LDFLAGS) -s -w" -o $(BIN)/kubelet k8s.io/kubernetes/cmd/kubelet

.PHONY: run
run: build ## a whole node of your own, with the kubelet's own code, in the terminal UI
	$(BIN)/podstep lab --dir $(LAB)

.PHONY: walk
walk: build ## start a real node with containerd and print one pod's way through it (root)
	BIN=$(BIN) LAB=$(LAB) scripts/walk.sh docs/examples/web.yaml

.PHONY: test
test: ## unit tests: no root, no network
	go test ./...

.PHONY: test-sim
test-sim: build ## tests on the simulated node, the UI in a terminal among them (tmux); no root
	PODSTEP_BIN=$(CURDIR)/$(BIN) go test -tags sim -count=1 -timeout 30m -p 1 ./agent/lab/... ./tui/...

.PHONY: test-cri
test-cri: ## the CRI's own validation of the simulated runtime
	go test -tags critest -count=1 -timeout 20m -v ./agent/lab/simcri/critest

.PHONY: test-node
test-node: build kubelet ## tests on the real node (root; `make node-deps` first)
	PODSTEP_BIN=$(CURDIR)/$(BIN) go test -tags node -count=1 -timeout 40m -p 1 ./agent/lab/... ./probes ./cmd/podstep-kubelet ./tui/...

.PHONY: test-harmless
test-harmless: ## the kubelet's own unit tests, woven and not, must agree
	go test -tags harmless -count=1 -timeout 60m -v ./probes/weave/harmless

.PHONY: fuzz
fuzz: ## each fuzz target for a while
	scripts/fuzz.sh

.PHONY: bench
bench: build ## measure against peers, in one run (root)
	PODSTEP_BIN=$(CURDIR)/$(BIN) scripts/bench.sh

.PHONY: lint
lint: ## formatting, vet, and the arrows between packages
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these" >&2; exit 1; }
	go vet ./...
	for tag in node sim critest bench harmless; do go vet -tags $$tag ./agent/... ./cmd/... ./probes/... ./tui/... || exit 1; done
	go vet -tags pictures ./docs/pictures
	go test -run 'TestArrows|TestPackageComments' .

.PHONY: generate
generate: ## what is made from something else: protocol, docs pages
	scripts/generate-proto.sh
	go generate ./...

.PHONY: pictures
pictures: build ## the pictures in docs/pictures, taken of the UI on a simulated node (tmux); no root
	PODSTEP_BIN=$(CURDIR)/$(BIN) go test -tags pictures -count=1 -timeout 10m -run TestPictures ./docs/pictures

.PHONY: node-deps
node-deps: ## install containerd, runc, CNI plugins and busybox (Debian, root)
	scripts/node-deps.sh

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
