# podstep is built here, and nothing is installed by hand: `make help`.

# The kubelet's version, as the kubelet reports it to its clients.
KUBERNETES := v1.36.3
LDFLAGS := -X k8s.io/component-base/version.gitVersion=$(KUBERNETES)
# These tags leave out gRPC's traces in HTML and kubectl's plugins in Go. Both look up methods by name, so the linker would
# keep every method of every package; the plugins also need the system's linker for podstep-lab. podstep uses neither. Vet
# and tests have the tags too, so that they share the compiled packages.
TAGS := grpcnotrace,kustomize_disable_go_plugin_support
# The lab is a module of its own, the only one that needs Kubernetes. podstep-lab is large, and nobody debugs it. Without
# symbols it is linked in half the time.
WEAVE = cd lab && $(OUT)/podstep-weave go build -tags $(TAGS) -ldflags "$(LDFLAGS)" -ldflags "./cmd/podstep-lab=$(LDFLAGS) -s -w" -o $(OUT)/
# Versions of Kubernetes of which there are woven kubelets beside that of the lab.
WOVEN := v1.34.4 v1.35.4 v1.37.1
# Versions of other programs with which podstep is tested: kubelets, containerds (2.4 has the CRI's list streams), crictl.
KUBELETS := v1.25.16 v1.26.15 v1.27.16 v1.28.15 v1.29.15 v1.30.14 v1.31.4 v1.32.13 v1.33.13 v1.34.4 v1.35.4 v1.37.1
# Versions of which there are kubelets that are built in other ways.
BUILT := v1.31.4 v1.34.4 $(KUBERNETES) v1.37.1
CONTAINERD2 := v2.2.9
CONTAINERD24 := v2.4.2
CRI_TOOLS := v1.36.0
BIN := bin
OUT = $(abspath $(BIN))
# The directory of `make run`'s node.
LAB := .lab

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: podstep weave ## all programs, into bin/; the kubelets are woven
	$(WEAVE) ./cmd/podstep-lab ./cmd/podstep-kubelet
	@$(BIN)/podstep-weave report $(BIN)/podstep-kubelet | tail -n 1

.PHONY: build-run
build-run: podstep weave
	$(WEAVE) ./cmd/podstep-lab

.PHONY: podstep
podstep: ## podstep alone
	@mkdir -p $(BIN)
	go build -tags $(TAGS) -o $(BIN)/ ./cmd/podstep

.PHONY: mishaps
mishaps: ## podstep for tests, in which goroutines block or panic where a test wants it
	@mkdir -p $(BIN)
	go build -tags mishaps,$(TAGS) -o $(BIN)/podstep-mishaps ./cmd/podstep

.PHONY: weave
weave:
	@mkdir -p $(BIN)
	go build -o $(BIN)/podstep-weave ./cmd/podstep-weave

# The systems for which `make cross` builds podstep, without the other programs.
SYSTEMS := linux-amd64 linux-arm64 darwin-amd64 darwin-arm64 windows-amd64.exe

.PHONY: cross
cross: ## podstep for other systems: builds all of them
	@mkdir -p $(BIN)
	@for s in $(SYSTEMS); do arch=$${s#*-}; \
		GOOS=$${s%-*} GOARCH=$${arch%.exe} CGO_ENABLED=0 go build -tags $(TAGS) -ldflags "-s -w" -o $(BIN)/podstep-$$s ./cmd/podstep || exit 1; done

.PHONY: release
release: ## archives, packages, an image, a chart and manifests of podstep, into dist/; VERSION=0.1.0 (docs/release.md)
	cd release && go run . --out $(abspath dist) $(if $(VERSION),--version $(VERSION))

.PHONY: deb
deb: ## a Debian package of podstep for this machine's architecture, into bin/deb
	cd release && go run . --deb --out $(OUT)/deb

# Programs for another architecture than this machine's are in a directory of their own.
.PHONY: arm64
arm64:
	@mkdir -p $(BIN)/arm64
	CGO_ENABLED=0 GOARCH=arm64 go build -tags $(TAGS) -o $(BIN)/arm64/ ./cmd/podstep
	@GOARCH=arm64 scripts/kubelet.sh $(KUBERNETES) $(BIN)/arm64/kubelet
	cd release && go run . --deb --arch arm64 --out $(OUT)/arm64/deb

.PHONY: test-chart
test-chart: ## the chart, rendered and linted by Helm's library: two minutes of building the first time
	cd release && go vet -tags chart ./... && go test -vet=off -tags chart -run TestChart ./...

.PHONY: release-check
release-check: ## makes the release of the commit twice, in two places, once of nothing compiled, and compares all bytes
	scripts/release-check.sh

.PHONY: kubelet
kubelet: ## an unmodified kubelet, to compare with
	@mkdir -p $(BIN)
	cd lab && go build -ldflags "$(LDFLAGS) -s -w" -o $(OUT)/kubelet k8s.io/kubernetes/cmd/kubelet

.PHONY: kubelets
kubelets: ## unmodified kubelets of other versions, as they are released (some minutes each)
	@for version in $(KUBELETS); do scripts/kubelet.sh $$version $(BIN)/kubelet-$$version || exit 1; done

.PHONY: woven
woven: weave ## woven kubelets of other versions, into bin/podstep-kubelet-VERSION; WOVEN=v1.35.4 for one
	@for version in $(WOVEN); do out=$(BIN)/podstep-kubelet-$$version; \
		$(BIN)/podstep-weave kubelet --kubernetes $$version -o $$out || exit 1; $(BIN)/podstep-weave report $$out | tail -n 1; done

.PHONY: kubelet-builds
kubelet-builds: ## unmodified kubelets that are built in other ways than released ones, and a fork (hours); BUILT=v1.36.3 for one version
	@for version in $(BUILT); do for form in cgo pie combined dwarf plain; do \
		scripts/kubelet.sh $$version $(BIN)/kubelet-$$form-$$version $$form || exit 1; done; done
	@scripts/kubelet.sh $(KUBERNETES) $(BIN)/kubelet-fork-$(KUBERNETES) fork

.PHONY: dlv
dlv: ## Delve's own command, for tests and comparisons
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
walk: build ## start a real node with containerd and print the story of one pod (root)
	BIN=$(BIN) LAB=$(LAB) scripts/walk.sh docs/examples/web.yaml

# Tests do not vet: lint does, and vetting would look at all dependencies once more.
TEST := go test -vet=off -count=1

.PHONY: tools
tools: ## gotestsum and staticcheck, in go.mod's versions
	@mkdir -p $(BIN)/tools
	go build -o $(BIN)/tools/ gotest.tools/gotestsum honnef.co/go/tools/cmd/staticcheck

# A quarter of the processor time of unit tests was for collecting garbage. With this there may be more of it.
.PHONY: test
test: export GOGC = 400
test: ## unit tests: no root, no network
	go test -vet=off -timeout 30m -p 4 -tags $(TAGS) ./...
	cd lab && go test -vet=off -timeout 30m -p 4 -tags $(TAGS) ./...
	cd release && go test -vet=off ./...

# Where a change begins that is to be proven.
BASE := origin/main

.PHONY: test-change
test-change: ## what proves the change since BASE: the parts of CI that scripts/changed.sh names (root; `make node-deps` first)
	@parts=$$(scripts/changed.sh $(BASE)) && echo "== runs $${parts:-all parts}" && scripts/ci.sh $$parts

.PHONY: test-install
test-install: ## go install of podstep in a new home, from a module proxy of files
	$(TEST) -tags install -timeout 60m -v -run TestGoInstall ./cmd/podstep

.PHONY: explore
explore: build ## breaks each call of a kubelet about a pod, and judges podstep why: an hour; goes on where it was (docs/explored.md)
	$(BIN)/podstep-lab explore --dir $(LAB)-explore --results $(BIN)/explored.jsonl --recordings $(BIN)/explored --page docs/explored.md

.PHONY: test-sim
test-sim: build tools ## tests on the simulated node, the UI in a terminal among them (tmux); no root
	PODSTEP_BIN=$(OUT) scripts/tests.sh sim-screen sim-lab sim-stuck

.PHONY: test-cri
test-cri: podstep ## the CRI's own validation of the simulated runtime, directly and through podstep attach (as root)
	cd lab && PODSTEP_BIN=$(OUT) $(TEST) -tags critest,$(TAGS) -timeout 20m -v ./simcri/critest

.PHONY: test-node
test-node: build mishaps kubelet crictl dlv tools ## tests on the real node (root; `make node-deps` first)
	PODSTEP_BIN=$(OUT) scripts/tests.sh $$(scripts/tests.sh | grep ^node-)

.PHONY: test-long
test-long: build mishaps kubelet ## two hours of the soak, and 500 faults of podstep's processes; CI has some of both (root)
	cd lab && PODSTEP_BIN=$(OUT) PODSTEP_SOAK=$${PODSTEP_SOAK:-2h} $(TEST) -tags node,$(TAGS) -timeout 170m -v -run TestSoak ./soak
	PODSTEP_BIN=$(OUT) PODSTEP_FAULTS=$${PODSTEP_FAULTS:-500} PODSTEP_RESTARTS=$${PODSTEP_RESTARTS:-20} PODSTEP_STOPPED_SECONDS=60 $(TEST) -tags node,$(TAGS) -timeout 170m -v -run 'TestFaultTable|TestStoppedForLong|TestRestartsUnderChurn' ./agent/attach

VERSIONS := $(TEST) -tags node,$(TAGS) -timeout 170m -v -p 1 -run 'Versions|TestStreams'
.PHONY: test-versions
test-versions: build kubelet kubelets kubelet-builds containerd2 crictl ## real nodes of other kubelets and of containerd 2 (root)
	PODSTEP_BIN=$(OUT) PODSTEP_LIES=$${PODSTEP_LIES:-150} $(VERSIONS) ./agent/attach
	cd lab && PODSTEP_BIN=$(OUT) $(VERSIONS) .
	cd lab && $(TEST) -tags $(TAGS) -v -run TestMinors ./stuck

# The architecture of test-vm's machine, with the programs for it: amd64 or arm64.
ARCH := amd64
PROGRAMS_amd64 := kubelet deb
PROGRAMS_arm64 := arm64
VM = $(OUT)/vm-$(ARCH)

.PHONY: test-vm
test-vm: build-run $(PROGRAMS_$(ARCH)) ## podstep attach in a virtual machine of Debian 12: its kernel, systemd, SELinux; ARCH=arm64 (root; `make vm-deps` first)
	@scripts/vm.sh $(VM) $(ARCH)
	cd lab && PODSTEP_BIN=$(OUT) PODSTEP_VM=$(VM) PODSTEP_VM_ARCH=$(ARCH) $(TEST) -tags vm,$(TAGS) -timeout 180m -v ./vm

.PHONY: test-harmless
test-harmless: ## the kubelet's own unit tests, woven and not, must agree
	cd lab && $(TEST) -tags harmless -timeout 60m -v ./harmless

.PHONY: fuzz
fuzz: ## each fuzz target for a while
	scripts/fuzz.sh

.PHONY: bench
bench: build kubelet dlv ## measure against peers, in one run (root)
	PODSTEP_BIN=$(OUT) scripts/bench.sh

# Build tags of tests. Files for sim replace files for node, so there are two sets. All other tags can be set together.
# Vet and staticcheck look at a package anew for each set, so for sim they get only the packages with files for it, and
# without tags those with files that a tag leaves out. What is not used there may be used by the other files.
NODE_TAGS := node,mishaps,install,critest,bench,harmless,pictures,vm,$(TAGS)
SIM_TAGS := sim,$(TAGS)
USED_ELSEWHERE := inherit,-U1000
# with_tag returns the packages of the present module with files whose build tags match.
with_tag = $$(git grep -lE '^//go:build .*$(1)' -- '*.go' ':!lab' | xargs -n1 dirname | sort -u | sed 's,^,./,')
SIM_PACKAGES = $(call with_tag,\bsim\b)

.PHONY: lint
lint: export GOGC = 400
lint: tools ## formatting, vet and staticcheck of all modules
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "run gofmt -w on these" >&2; exit 1; }
	go vet -tags $(NODE_TAGS) ./...
	go vet -tags $(SIM_TAGS) $(SIM_PACKAGES)
	GOARCH=arm64 go vet ./probes/inside/... ./probes/uprobe/...
	$(BIN)/tools/staticcheck -tags $(NODE_TAGS) ./...
	$(BIN)/tools/staticcheck -tags $(SIM_TAGS) -checks $(USED_ELSEWHERE) $(SIM_PACKAGES)
	$(BIN)/tools/staticcheck -tags $(TAGS) -checks $(USED_ELSEWHERE) $(call with_tag,!(mishaps|node|sim)\b)
	cd lab && go vet -tags $(NODE_TAGS) ./...
	cd lab && go vet -tags $(SIM_TAGS) $(SIM_PACKAGES)
	cd lab && $(OUT)/tools/staticcheck -tags $(NODE_TAGS) ./...
	cd lab && $(OUT)/tools/staticcheck -tags $(SIM_TAGS) -checks $(USED_ELSEWHERE) $(SIM_PACKAGES)
	cd release && go vet ./... && $(OUT)/tools/staticcheck ./...

.PHONY: generate
generate: ## make all generated files again: protocol, docs pages
	scripts/generate-proto.sh
	go run ./cmd/gen
	go generate ./probes/uprobe ./cmd/podstep

.PHONY: pictures
pictures: build kubelet ## the pictures in docs/pictures, taken of the screen on a simulated node (tmux); the one of podstep attach takes root
	PODSTEP_BIN=$(OUT) $(TEST) -tags pictures,$(TAGS) -timeout 10m -run TestPictures ./docs/pictures

.PHONY: node-deps
node-deps: ## install containerd, runc, CNI plugins and busybox (Debian, root)
	scripts/node-deps.sh

.PHONY: vm-deps
vm-deps: ## install the programs that make and run the virtual machines of test-vm (Debian, root)
	apt-get install -y --no-install-recommends debootstrap e2fsprogs qemu-system-x86 qemu-system-arm qemu-user-static

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
