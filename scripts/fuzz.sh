#!/bin/sh
# Runs every fuzz target of the project for a while: FUZZTIME, 20s each.
set -eu
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' . | while read -r file; do
	for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
		echo "== $target in $(dirname "$file")"
		go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-20s}" "$(dirname "$file")"
	done
done
