#!/bin/sh
# Builds containerd, its shim and ctr from their module, unchanged: containerd.sh VERSION DIR, such as
# containerd.sh v2.2.9 bin/containerd-2. Does nothing if DIR already has this version.
set -eu
cd "$(dirname "$0")/.."

version=$1 dir=$2
package=github.com/containerd/containerd/v2
module=$package@$version

if [ "$(cat "$dir/.built" 2>/dev/null)" = "$module" ]; then
	echo "$dir is there"
	exit 0
fi
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
rm -f "$dir/.built"

go mod download "$module"
source=$(go list -m -f '{{.Dir}}' "$module")
build() { # PROGRAM TAGS
	GOWORK=off CGO_ENABLED=0 go -C "$source" build -trimpath -tags "$2" \
		-ldflags "-s -w -X $package/version.Version=$version -X $package/version.Package=$package" -o "$dir/" "./cmd/$1"
}
# These are the tags of containerd's releases.
build containerd urfave_cli_no_docs
build ctr urfave_cli_no_docs
build containerd-shim-runc-v2 urfave_cli_no_docs,no_grpc
echo "$module" >"$dir/.built"
echo "$dir is built"
