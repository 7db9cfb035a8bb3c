#!/usr/bin/env bash
# Makes the release of the commit twice, and compares all bytes. The two differ in whatever must not matter: the directory,
# the time, the times and modes of the sources, the language, and what the go command has compiled before: the second one
# begins with an empty cache, which takes some minutes.
set -euo pipefail
cd "$(dirname "$0")/.."
make test-chart
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
epoch=$(git log -1 --format=%ct)

# made NAME UMASK DATE LOCALE: makes a release of the commit in a directory of its own.
made() {
	umask "$2"
	mkdir -p "$work/$1/src"
	git archive HEAD | tar -x -C "$work/$1/src"
	find "$work/$1/src" -exec touch -d "$3" {} +
	(cd "$work/$1/src/release" && GOFLAGS='' SOURCE_DATE_EPOCH=$epoch LC_ALL=$4 go run . --out "$work/$1/dist" ${VERSION:+--version "$VERSION"})
}
(made one 022 2020-02-02 C)
(GOCACHE=$work/cache made a/longer/path/two 077 2026-01-01 C.UTF-8)

cd "$work"
(cd one/dist && sha256sum --quiet -c SHA256SUMS)
diff -r one/dist a/longer/path/two/dist
echo "both releases have the same $(ls one/dist | wc -l) files:"
cat one/dist/SHA256SUMS
