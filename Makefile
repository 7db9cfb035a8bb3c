# podstep is built here, and nothing is installed by hand: `make help`.

# The kubelet's version, which its clients want to know.
KUBERNETES := v1.36.3
LDFLAGS := -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)
# kubectl in podstep-lab needs no plugins of kustomize that are Go: they would keep every method of every package in it,
# and make the system's linker link it. Vet and tests have the tag too, to share what is compiled.
NOPLUGINS := kustomize_disable_go_plugin_support
# podstep-lab is large, and nobody debugs it: without symbols it is linked in half the time.
WEAVE = $(BIN)/podstep-weave go build -tags $(NOPLUGINS) -ldflags "$(LDFLAGS)" -ldflags "./cmd/podstep-lab=$(LDFLAGS) -s -w" -o $(BIN)/
# Others that podstep is to work with: kubelets, containerds (2.4 has the CRI's list streams), and crictl.
KUBELETS := v1.31.4 v1.33.13 v1.34.4 v1.35.4 v1.37.1
CONTAINERD2 := v2.2.9
CONTAINERD24 := v2.4.2
CRI_TOOLS := v1.36.0
BIN := bin
# Where `make run` has its node.
LAB := .lab

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: weave ## all programs, into bin/; the kubelets are woven
	$(WEAVE) ./cmd/podstep ./cmd/podstep-lab ./cmd/podstep-kubelet
	@$(BIN)/podstep-weave report $(BIN)/podstep-kubelet | tail -n 1

# Nothing that podstep links has steps, so it is the same woven or not.
.PHONY: build-run
build-run: weave
	$(WEAVE) ./cmd/podstep ./cmd/podstep-lab

.PHONY: weave
weave:
	@mkdir -p $(BIN)
	go build -o $(BIN)/podstep-weave ./cmd/podstep-weave

# Systems that podstep is built for, without the rest.
SYSTEMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64.exe

.PHONY: cross
cross: ## podstep for other systems: builds all of them
	@mkdir -p $(BIN)
	@for s in $(SYSTEMS); do arch=$${s#*-}; \
		GOOS=$${s%-*} GOARCH=$${arch%.exe} CGO_ENABLED=0 go build -ldflags "$(LDFLAGS) -s -w" -o $(BIN)/podstep-$$s ./cmd/podstep || exit 1; done

.PHONY: kubelet
kubelet: ## an unmodified kubelet, to compare with
	@mkdir -p $(BIN)
	go build -ldflags "$(LDFLAGS) -s -w" -o $(BIN)/kubelet k8s.io/kubernetes/cmd/kubelet

.PHONY: kubelets
kubelets: ## unmodified kubelets of other versions, as they are released (some minutes each)
	@for version in $(KUBELETS); do scripts/kubelet.sh $$version $(BIN)/kubelet-$$version || exit 1; done

.PHONY: kubelets-debug
kubelets-debug: ## unmodified kubelets with debug information, optimised and not
	go build -ldflags "$(LDFLAGS)" -o $(BIN)/kubelet-debug k8s.io/kubernetes/cmd/kubelet
	go build -gcflags 'all=-N -l' -ldflags "$(LDFLAGS)" -o $(BIN)/kubelet-debug-N-l k8s.io/kubernetes/cmd/kubelet

.PHONY: dlv
dlv: ## Delve's own command, for tests and measurements beside it
	go build -o $(BIN)/dlv github.com/go-delve/delve/cmd/dlv

.PHONY: containerd2
containerd2: ## containerd 2, an older and a newer, with shim and ctr
	@scripts/containerd.sh $(CONTAINERD2) $(BIN)/containerd-2
	@scripts/containerd.sh $(CONTAINERD24) $(BIN)/containerd-2.4

.PHONY: crictl
crictl: ## the client of container runtimes, which tests use beside the kubelet
	@scripts/crictl.sh $(CRI_TOOLS) $(BIN)/crictl

.PHONY: run
run: build-run ## a whole node of your own, with the kubelet's own code, in the terminal UI
	$(BIN)/podstep lab --dir $(LAB)

.PHONY: walk
walk: build ## start a real node with containerd and print one pod's way through it (root)
	BIN=$(BIN) LAB=$(LAB) scripts/walk.sh docs/examples/web.yaml

# Tests leave vetting to lint, which would look at all dependencies once more.
TEST := go test -vet=off -count=1
AGAIN := scripts/test-again.sh

.PHONY: test
test: ## unit tests: no root, no network
	go test -vet=off -tags $(NOPLUGINS) ./...

.PHONY: test-sim
test-sim: build ## tests on the simulated node, the UI in a terminal among them (tmux); no root
	PODSTEP_BIN=$(CURDIR)/$(BIN) $(AGAIN) './agent/lab/... ./agent/attach/... ./tui/...' -vet=off -count=1 -tags sim,$(NOPLUGINS) -timeout 30m -p 1

.PHONY: test-cri
test-cri: ## the CRI's own validation of the simulated runtime
	$(TEST) -tags critest -timeout 20m -v ./agent/lab/simcri/critest

.PHONY: test-node
test-node: build kubelet crictl dlv ## tests on the real node (root; `make node-deps` first)
	PODSTEP_BIN=$(CURDIR)/$(BIN) scripts/test-node.sh -vet=off -count=1 -tags node,$(NOPLUGINS) -timeout 40m -p 1

.PHONY: test-long
test-long: build ## two hours of the soak, of which test-node has ten minutes (root)
	PODSTEP_BIN=$(CURDIR)/$(BIN) PODSTEP_SOAK=$${PODSTEP_SOAK:-2h} $(TEST) -tags node,$(NOPLUGINS) -timeout 170m -v -run TestSoak ./agent/lab/soak

.PHONY: test-versions
test-versions: build kubelet kubelets kubelets-debug containerd2 crictl ## real nodes of other kubelets and of containerd 2 (root)
	PODSTEP_BIN=$(CURDIR)/$(BIN) $(TEST) -tags node,$(NOPLUGINS) -timeout 40m -v -p 1 -run 'Versions|TestStreams' ./agent/lab ./agent/attach

.PHONY: test-vm
test-vm: build-run kubelet ## podstep attach in a virtual machine of Debian 12: its kernel, systemd, SELinux (root; `make vm-deps` first)
	@scripts/vm.sh $(BIN)/vm
	PODSTEP_BIN=$(CURDIR)/$(BIN) PODSTEP_VM=$(CURDIR)/$(BIN)/vm $(TEST) -tags vm,$(NOPLUGINS) -timeout 120m -v ./agent/lab/vm

.PHONY: test-harmless
test-harmless: ## the kubelet's own unit tests, woven and not, must agree
	$(TEST) -tags harmless -timeout 60m -v ./agent/host/harmless

.PHONY: fuzz
fuzz: ## each fuzz target for a while
	scripts/fuzz.sh

.PHONY: bench
bench: build kubelet dlv ## measure against peers, in one run (root)
	PODSTEP_BIN=$(CURDIR)/$(BIN) scripts/bench.sh

# Build tags of tests.
TAGS := node sim critest bench harmless pictures vm
# For each set of tags vet looks at all dependencies anew, which takes as long as a quarter of their build. So there are
# two sets: files for sim are instead of those for node. That what has one tag alone compiles, staticcheck finds out.

.PHONY: lint
lint: ## formatting, vet, staticcheck, and the arrows between packages
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these" >&2; exit 1; }
	go vet -tags $$(echo $(filter-out sim,$(TAGS)) $(NOPLUGINS) | tr ' ' ,) ./...
	go vet -tags sim,$(NOPLUGINS) $$(git grep -l '^//go:build.*\<sim\>' '*.go' | xargs -n 1 dirname | sort -u | sed 's,^,./,')
	{ echo "plain: -tags=$(NOPLUGINS)"; for tag in $(TAGS); do echo "$$tag: -tags=$$tag,$(NOPLUGINS)"; done; } | go tool staticcheck -matrix ./...
	go test -vet=off -run 'TestArrows|TestNever|TestArchitecture|TestPackageComments' .

.PHONY: generate
generate: ## what is made from something else: protocol, docs pages
	scripts/generate-proto.sh
	go generate ./...

.PHONY: pictures
pictures: build kubelet ## the pictures in docs/pictures, taken of the screen on a simulated node (tmux); that beside a running kubelet takes root
	PODSTEP_BIN=$(CURDIR)/$(BIN) $(TEST) -tags pictures -timeout 10m -run TestPictures ./docs/pictures

.PHONY: node-deps
node-deps: ## install containerd, runc, CNI plugins and busybox (Debian, root)
	scripts/node-deps.sh

.PHONY: vm-deps
vm-deps: ## install what makes and runs the virtual machine of test-vm (Debian, root)
	apt-get install -y --no-install-recommends debootstrap e2fsprogs qemu-system-x86 busybox-static

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
