#!/usr/bin/env bash
# Runs the tests on the real node: test-node.sh FLAGS OF GO TEST...
#
# Two of them mostly wait, and have a node of their own: one holds a pod for ten minutes, the soak has pods come and go
# for as long. Others run beside them, but for those of the lab, which look at what a lab leaves on the machine.
set -uo pipefail
cd "$(dirname "$0")/.."

output=$(mktemp)
failed=0
pid=
flags=("$@")

# run PACKAGES FLAGS...: tests, and again those that fail.
run() {
	scripts/test-again.sh "$1" "${flags[@]}" "${@:2}" || failed=1
}

# beside PACKAGE FLAGS...: the same, while others run.
beside() {
	set -m # a process group of its own, to end it with its children
	scripts/test-again.sh "$1" "${flags[@]}" "${@:2}" >"$output" 2>&1 &
	pid=$!
	set +m
}

# join TEST: waits for what runs beside, and prints what it printed.
join() {
	wait "$pid" || failed=1
	pid=
	cat "$output"
	if grep -q 'no tests to run' "$output"; then
		echo "test-node.sh: there is no test $1" >&2
		failed=1
	fi
}

trap 'rm -f "$output"; [ -z "$pid" ] || { kill -INT -- "-$pid" 2>/dev/null && wait "$pid"; }' EXIT
trap 'exit 130' INT TERM

long='^TestHoldTenMinutes$'
kubelet=./cmd/podstep-kubelet
beside "$kubelet" -run "$long"
run "$kubelet ./tui/... ./probes ./probes/kubelets ./probes/uprobe/... ./agent/attach" -skip "$long"
join "$long"

run "$(go list ./agent/lab/... | grep -v -e /soak$ -e /stuck$ | tr '\n' ' ')"

soak='^TestSoak$'
beside ./agent/lab/soak -run "$soak"
run ./agent/lab/stuck
join "$soak"
exit "$failed"
