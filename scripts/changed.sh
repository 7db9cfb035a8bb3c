#!/usr/bin/env bash
# Prints the parts of scripts/ci.sh that prove a change: changed.sh BASE, such as: changed.sh origin/main. The change is all in
# which the work tree differs from where it left BASE. proofs.txt says which parts prove what; scripts/ci.sh without parts
# proves all.
set -euo pipefail
cd "$(dirname "$0")/.."
[ $# -eq 1 ] || { echo "changed.sh: which commit does the change begin at? e.g. changed.sh origin/main" >&2; exit 2; }
base=$(git merge-base "$1" HEAD) || { echo "changed.sh: $1 is no commit that HEAD comes from" >&2; exit 2; }

# A test that needs no lab is a unit test, and no page but a tour is part of a program.
in_labs() {
	local file
	while read -r file; do
		case $file in
		*.md) ;;
		*_test.go) [ -e "$file" ] && ! head -n 1 "$file" | grep -qE '^//go:build .*\b(sim|node|critest)\b' || echo "$file" ;;
		*) echo "$file" ;;
		esac
	done
}

# parts_of prints the parts of the longest path in proofs.txt that each file lies below.
parts_of() {
	awk 'NR == FNR { if (NF > 1 && $1 != "#") { path = $1; $1 = ""; parts[path] = $0 }; next }
		{ for (path = $0; !(path in parts);) if (!sub("/[^/]*$", "", path)) path = "."; print parts[path] }' scripts/proofs.txt - | tr ' ' '\n'
}

parts=$({ git diff --name-only "$base"; git ls-files --others --exclude-standard; } | in_labs | parts_of | sed '/^-*$/d' | sort -u)
grep -qx all <<<"$parts" || echo lint test $parts
