#!/bin/sh
# Runs all measurements, each with the one that it is compared with. Needs a quiet machine.
# BENCH_BUILD=no leaves out the cold builds, which take some minutes.
set -eu
cd "$(dirname "$0")/.."
: "${PODSTEP_BIN:=$PWD/bin}" "${BENCH_BUILD:=yes}"
export PODSTEP_BIN
flags="-X k8s.io/component-base/version.gitVersion=v1.36.3"
now() { date +%s.%N; }

echo "== hook, events, memory"
go test -run '^$' -bench 'Hook|Throughput' -benchtime 1000000x ./agent | tee "$PODSTEP_BIN/bench.out"
go test -run '^$' -bench 'Memory|Churn|History' -benchtime 1x ./agent ./agent/journal | grep Benchmark
awk '/HookOn\/podstep/ {p=$3} /HookOn\/klog/ {k=$3} /HookOn\/otel/ {o=$3}
	END {printf "enter plus exit, watched: %d ns (aim 600); %.2f of a klog V(4) line, %.2f of an OpenTelemetry span (aim 0.20)\n", p, p/k, p/o}' "$PODSTEP_BIN/bench.out"

# TestBenchDelve compares this, the cost of a woven hit, with those of other probes.
HOOK_NS=$(awk '/HookOn\/podstep/ {print $3; exit}' "$PODSTEP_BIN/bench.out")
export HOOK_NS

echo "== trace files"
go test -tags bench -run '^$' -bench 'Open|Size' -benchtime 1x ./agent/trace | tee "$PODSTEP_BIN/bench.out"
awk '{sub(/-[0-9]+$/, "", $1); for (i = 3; i < NF; i += 2) v[$1 " " $(i+1)] = $i}
	END {o = "BenchmarkOpen "; s = "BenchmarkSize "
	printf "an event on disk: %.1f bytes (aim 20); %.2f of a line of JSON in gzip\n", v[s "B/event"], v[s "size-ratio"]
	printf "a file of 1,000,000 events read: %.2f s, %d MiB; %.3f and %.2f of the same as JSON in gzip\n", v[o "s/open"], v[o "MiB-live"], v[o "time-ratio"], v[o "MiB-live"]/v[o "json-MiB-live"]}' "$PODSTEP_BIN/bench.out"

echo "== the screen"
go test -tags bench -v -count=1 -timeout 20m -run TestBench ./tui

echo "== a simulated node"
(cd lab && go test -tags bench -v -count=1 -timeout 10m -run TestBench .)

echo "== calls that pass through podstep attach"
go test -tags bench -v -count=1 -timeout 10m -run TestBench ./agent/attach

echo "== what it takes to look into a kubelet"
go test -tags bench -run '^$' -bench 'Read|Load' -benchtime 20x ./probes/uprobe
go test -tags bench -run '^$' -bench Hit -benchtime 20000x ./probes/uprobe

echo "== what podstep attach costs the API server"
go test -tags bench -v -count=1 -timeout 20m -run TestBench ./agent/attach/cluster

echo "== pods on the real node"
(cd lab && go test -tags bench -v -count=1 -timeout 30m -run TestBench ./cmd/podstep-kubelet)

[ "$BENCH_BUILD" = yes ] || exit 0
echo "== cold builds of the kubelet"
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
cd lab
t0=$(now)
GOCACHE="$cache/plain" go build -ldflags "$flags" -o "$cache/kubelet" k8s.io/kubernetes/cmd/kubelet
t1=$(now)
GOCACHE="$cache/woven" "$PODSTEP_BIN/podstep-weave" go build -ldflags "$flags" -o "$cache/podstep-kubelet" ./cmd/podstep-kubelet
t2=$(now)
GOCACHE="$cache/plain" "$PODSTEP_BIN/podstep-weave" go build -ldflags "$flags" -o "$cache/podstep-kubelet" ./cmd/podstep-kubelet
t3=$(now)
awk -v a="$t0" -v b="$t1" -v c="$t2" -v d="$t3" 'BEGIN {
	printf "plain %.0f s, woven %.0f s, ratio %.2f (aim 1.25); woven on top of plain %.0f s\n", b-a, c-b, (c-b)/(b-a), d-c}'
