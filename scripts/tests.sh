#!/usr/bin/env bash
# Runs tests on a node, simulated or real: tests.sh PART...   Without a part it prints all of them.
#
# A part is a build tag and packages of one module. It runs only the tests in files with that tag; all others run in
# `make test`. A test that fails runs again, alone, twice at most, since other work on the machine can disturb it. All runs
# are printed, and REPORTS gets the result of each test. A test that needs a second run still has a fault to be found.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${PODSTEP_BIN:=$PWD/bin}" "${REPORTS:=$PWD/bin/reports}"
export PODSTEP_BIN
TAGS=$(sed -n "s/^TAGS := //p" Makefile)
tools=$PODSTEP_BIN/tools

# Tests of agent/attach in which something is killed, stopped or replaced again and again: half of its time, so a part of their own.
harm='^(TestFaultTable|TestRestartsUnderChurn|TestCycles|TestRuntimeRestarts|TestKubeletRestarts|TestReplacedVersions|TestStoppedForLong)$'

# PART: MODULE TAG FLAGS PACKAGES. Parts may run at the same time (scripts/ci.sh starts them so).
part() {
	case $1 in
	sim-screen)   run . sim '' ./tui/... ./agent/attach/... ./agent/dap ;;
	sim-lab)      run lab sim '' . ./explore ;;
	sim-stuck)    run lab sim '' ./stuck ;;
	node-hold)    run lab node '-run ^TestHoldTenMinutes$' ./cmd/podstep-kubelet ;;
	node-soak)    run lab node '' ./soak ;;
	node-kubelet) run lab node '-skip ^(TestHoldTenMinutes|TestAbuse)$' ./cmd/podstep-kubelet ;;
	node-abuse)   run lab node '-run ^TestAbuse$' ./cmd/podstep-kubelet ;;
	node-probes)  run . node '' ./probes/... ;;
	node-attach)  run . node "-skip ^(TestDelve|TestDebugger)|$harm" ./agent/attach/... ;;
	node-harm)    run . node "-run $harm" ./agent/attach ;;
	node-delve)   run . node '-run ^(TestDelve|TestDebugger)' ./agent/attach ;;
	node-screen)  run . node '' ./tui/... ;;
	node-lab)     run lab node '-skip ^TestPartsWorkApart$' . ;;
	node-apart)   run lab node '-run ^TestPartsWorkApart$' . ;;
	node-stuck)   run lab node '' ./stuck ;;
	*) echo "tests.sh: there is no part $1; there are: $(parts | tr '\n' ' ')" >&2; exit 2 ;;
	esac
}

parts() { sed -n 's/^\t\([a-z]*-[a-z]*\)) *run .*/\1/p' "$0"; }

# run MODULE TAG FLAGS PACKAGE...: runs the tests in files with the tag.
run() {
	local module=$1 tag=$2 flags=$3
	shift 3
	local files packages names
	files=$(cd "$module" && find $(printf '%s\n' "$@" | sed 's,/\.\.\.$,,') -name '*_test.go' $(printf '%s\n' "$@" | grep -q '\.\.\.$' || echo '-maxdepth 1') \
		-exec grep -lE "^//go:build .*\b$tag\b" {} + | sort)
	packages=$(for file in $files; do dirname "$file"; done | sort -u | sed 's,^\([^.]\),./\1,' | tr '\n' ' ')
	names=$(cd "$module" && sed -n 's/^func \(Test[A-Za-z0-9_]*\)(.*/\1/p' $files | grep -v '^TestMain$' | paste -sd '|')
	case $flags in *-run*) ;; *) flags="-run ^($names)$ $flags" ;; esac
	mkdir -p "$REPORTS"
	(cd "$module" && exec "$tools/gotestsum" --format standard-quiet --rerun-fails=2 --rerun-fails-max-failures=3 --rerun-fails-run-root-test \
		--jsonfile-timing-events "$REPORTS/$name.json" --rerun-fails-report "$REPORTS/$name.again" --packages "$packages" \
		-- -vet=off -count=1 -tags "$tag,$TAGS" -timeout 60m -p 1 $flags)
}

[ $# -gt 0 ] || { parts; exit 0; }
failed=0
for name; do
	part "$name" || { failed=$?; [ "$failed" -ne 2 ] || exit 2; }
done
exit "$failed"
