#!/usr/bin/env bash
# Runs tests, and those that fail again, twice at most: test-again.sh 'PACKAGE ...' FLAGS OF GO TEST...
#
# Tests on a node share the machine with all that happens on it, and the kubelet has timeouts of its own. Up to three
# tests that fail run again, each alone; a test that fails three times fails. All runs are printed.
set -euo pipefail
packages=$1
shift
exec go tool gotestsum --format standard-quiet --rerun-fails=2 --rerun-fails-max-failures=3 \
	--rerun-fails-run-root-test --packages "$packages" -- "$@"
