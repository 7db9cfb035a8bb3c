#!/bin/sh
# Runs every fuzz target of the project for FUZZTIME each, by default 20s.
set -eu
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "== $target in $(dirname "$file")"
		minimize=60s
		# FuzzRelay passes bytes between goroutines: its coverage differs from run to
		# run, so minimizing an input never ends. In FuzzPlaces nearly every input
		# covers more of a decoder's tables.
		case "$target" in FuzzRelay | FuzzPlaces) minimize=1x ;; esac
		# The go command runs in the package's own module.
		(cd "$(dirname "$file")" && go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" -fuzzminimizetime "$minimize" .)
	done
done
