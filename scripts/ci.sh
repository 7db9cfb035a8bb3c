#!/usr/bin/env bash
# CI: ci.sh [PART...] runs all parts of the proof, or those: unit tests, then three labs at a time, then one lab at a time; what
# only computes runs beside the labs. The output of a part is printed when the part ends. At the end the script prints the time of
# each part, the slowest tests, and each test that needed a second run.
set -uo pipefail
cd "$(dirname "$0")/.."
export PODSTEP_BIN=$PWD/bin REPORTS=$PWD/bin/reports
# The soak is shorter here, with fewer pods, and podstep is killed less often, than where these tests run by themselves (docs/testing.md).
export PODSTEP_SOAK=${PODSTEP_SOAK:-4m} PODSTEP_SOAK_PODS=${PODSTEP_SOAK_PODS:-30} PODSTEP_WAVES=${PODSTEP_WAVES:-4}
export PODSTEP_KILLS=${PODSTEP_KILLS:-3} PODSTEP_FAULTS=${PODSTEP_FAULTS:-8} PODSTEP_RESTARTS=${PODSTEP_RESTARTS:-2}
chosen=" $* "
for part; do
	[[ " lint test test-install cross test-cri $(scripts/tests.sh | tr '\n' ' ') " == *" $part "* ]] || { echo "ci.sh: there is no part $part" >&2; exit 2; }
done
rm -rf "$REPORTS"
mkdir -p "$REPORTS"
began=$(date +%s)

# timed PART COMMAND...: runs a part, if it is to run. PART.out gets its output; the file "times" gets its duration, the processor
# time of what it ran, and its exit code.
timed() {
	local part=$1 status=0 real cpu
	[[ $chosen =~ ^\ *$ || $chosen == *" $part "* || $part == build ]] || return 0
	shift
	local TIMEFORMAT='%0R %0U %0S'
	{ time "$@" >"$REPORTS/$part.out" 2>&1 || status=$?; } 2>"$REPORTS/$part.time"
	read -r real cpu <<<"$(awk '{print $1, $2 + $3}' "$REPORTS/$part.time")"
	printf '%s %s %s %s\n' "$real" "$cpu" "$part" "$status" >>"$REPORTS/times"
	(
		flock 9
		printf '\n== %s\n' "$part"
		cat "$REPORTS/$part.out"
		printf '== %s: %s after %d s\n' "$part" "$([ "$status" -eq 0 ] && echo passed || echo "FAILED ($status)")" "$real"
	) 9>"$REPORTS/lock"
	return "$status"
}

# Labs collect their garbage later here, which saves a fifth of their processor time. Three parts judge how much memory the
# kubelet and podstep take, so there they are as people run them.
tests() {
	case $1 in
	test-cri) timed test-cri make test-cri ;;
	node-harm | node-abuse | node-soak) timed "$1" scripts/tests.sh "$1" ;;
	*) GOGC=400 timed "$1" scripts/tests.sh "$1" ;;
	esac
}

# Machines differ, and one machine at different times: what a fixed piece of work takes says how fast this one is.
fixed_work() { for ((i = 0; i < 500000; i++)); do :; done; }
machine=$(TIMEFORMAT=%U; { time fixed_work; } 2>&1)

# All other parts need the programs.
timed build make build mishaps kubelet crictl dlv tools || exit 1

# nicely LEVEL COMMAND...: runs a command that leaves the processors to others. Processes of one session may count as one
# (autogroup), so the command gets a session, with that level.
nicely() {
	setsid --wait sh -c '{ echo "$1" >/proc/self/autogroup; } 2>/dev/null; level=$1; shift; exec nice -n "$level" "$@"' sh "$@"
}

computing() {
	timed lint nicely 15 make lint
	timed test-install nicely 15 make test-install
	timed cross nicely 15 make cross SYSTEMS=darwin-arm64
}

# take_part prints the next part that waits, and takes it off the list.
take_part() {
	(
		flock 9
		head -n 1 "$REPORTS/waiting"
		sed -i 1d "$REPORTS/waiting"
	) 9>"$REPORTS/lock"
}

# lane: runs whatever waits, one part after the other.
lane() {
	local part
	while part=$(take_part) && [ -n "$part" ]; do tests "$part"; done
}

# Unit tests keep all processors busy, and wait for processes of their own. Beside labs they took four times as long, and some
# waits too long. So they run alone.
timed test make test

# What only computes runs beside all labs, until the end: each of them leaves a processor idle at times. It is nicer than a lab,
# since a kubelet that gets no processor for seconds is ill.
computing &
computing=$!

# node-lab looks at what a lab leaves on the machine, so no other lab runs beside it.
tests node-lab

# A lab waits for its pods two thirds of its time. So three run at a time, those first that take longest. node-hold holds a pod
# for ten minutes beside them, and costs little.
printf '%s\n' node-attach sim-lab sim-stuck node-kubelet node-harm node-stuck sim-screen node-delve node-screen node-probes test-cri node-apart >"$REPORTS/waiting"
tests node-hold &
lanes=$!
for _ in 1 2 3; do
	lane &
	lanes+=" $!"
done
wait $lanes

# node-abuse keeps all processors busy, and looks at what becomes of the kubelet. The soak judges the kubelet's memory and whether
# the node stays Ready. No other lab runs beside them.
tests node-abuse
tests node-soak
wait $computing

# results prints what became of each test of the parts on nodes.
results() { cat "$REPORTS"/*.json 2>/dev/null; }

printf '\n== time and processor time of each part, in seconds; %d s in all, on a machine where a fixed loop took %s s\n' "$(($(date +%s) - began))" "$machine"
sort -rn "$REPORTS/times" | awk '{printf "%6d %6d  %s%s\n", $1, $2, $3, $4 == 0 ? "" : "  FAILED"}'
printf '\n== the 20 slowest tests\n'
results | bin/tools/gotestsum tool slowest --threshold 1s | head -n 20
printf '\n== tests that needed a second run\n'
if ! cat "$REPORTS"/*.again 2>/dev/null | grep .; then echo none; fi
failed=$(awk '$4 != 0 {print $3}' "$REPORTS/times")
printf '\n== DONE: %d tests passed, %d skipped; parts that failed: %s\n' \
	"$(results | grep -c '"Action":"pass".*"Test"')" "$(results | grep -c '"Action":"skip".*"Test"')" "${failed:-none}"
[ -z "$failed" ]
