#!/bin/sh
# Starts a real node, creates and deletes one pod on it, and prints the pod's
# story. The node ends with the script.
set -eu

manifest=$1
: "${BIN:=bin}" "${LAB:=.lab}"
pod=$(basename "$manifest" .yaml)

log=$(mktemp)
end() {
	if [ -n "${lab:-}" ]; then
		kill "$lab" 2>/dev/null || true
		wait "$lab" || true
	fi
	rm -f "$log"
}
trap end EXIT
trap 'exit 130' INT TERM

"$BIN/podstep-lab" --dir "$LAB" --runtime containerd >"$log" &
lab=$!
until grep -q '^ready' "$log"; do
	if ! kill -0 "$lab" 2>/dev/null; then
		lab=
		exit 1 # podstep-lab has printed why
	fi
	sleep 0.1
done
cat "$log"
export PODSTEP_SOCKET="$LAB/agent.sock"
kubectl() { "$BIN/podstep-lab" kubectl --dir "$LAB" "$@"; }

printf '\n== kubectl apply -f %s: the pod comes to be\n\n' "$manifest"
"$BIN/podstep" trace "$pod" --until ready --for 3m &
trace=$!
kubectl apply -f "$manifest" >&2
wait $trace

printf '\n== kubectl delete pod %s: the pod ends\n\n' "$pod"
"$BIN/podstep" trace "$pod" --no-history --until deleted --for 3m &
trace=$!
kubectl delete pod "$pod" --wait=false >&2
wait $trace
printf '\nTo do this by hand: %s --dir %s --runtime containerd, and in another terminal\n' "$BIN/podstep-lab" "$LAB"
printf '  export PODSTEP_SOCKET=%s; %s pods, trace, hold, step, continue\n' "$PODSTEP_SOCKET" "$BIN/podstep"
