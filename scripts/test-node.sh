#!/usr/bin/env bash
# Runs the tests on the real node: test-node.sh FLAGS OF GO TEST...
#
# One of them holds a pod for ten minutes, and waits. It has a node of its own, so others run at the same time. Those of
# the lab look at what a lab leaves on the machine, and the soak at what its own leaves idle: they run when it has ended.
set -uo pipefail
cd "$(dirname "$0")/.."

long='^TestHoldTenMinutes$'
with=./cmd/podstep-kubelet
output=$(mktemp)
failed=0

set -m # a process group of its own, to end it with its children
scripts/test-again.sh "$with" "$@" -run "$long" >"$output" 2>&1 &
pid=$!
set +m
trap 'rm -f "$output"; kill -INT -- "-$pid" 2>/dev/null && wait "$pid"' EXIT
trap 'exit 130' INT TERM

scripts/test-again.sh "$with ./tui/... ./probes ./probes/kubelets ./probes/uprobe/... ./agent/attach" "$@" -skip "$long" || failed=1

wait "$pid" || failed=1
cat "$output"
if grep -q 'no tests to run' "$output"; then
	echo "test-node.sh: $with has no test $long" >&2
	failed=1
fi

scripts/test-again.sh ./agent/lab/... "$@" || failed=1
exit "$failed"
