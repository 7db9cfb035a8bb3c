#!/bin/sh
# Runs every fuzz target of the project for a while: FUZZTIME, 20s each.
set -eu
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "== $target in $(dirname "$file")"
		minimize=60s
		# FuzzRelay carries bytes between goroutines: what it covers differs from run
		# to run, so that making an input smaller never ends. In FuzzPlaces nearly
		# every input covers more of a decoder's tables.
		case "$target" in FuzzRelay | FuzzPlaces) minimize=1x ;; esac
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" -fuzzminimizetime "$minimize" "$(dirname "$file")"
	done
done
