#!/bin/sh
# Builds crictl from its module, unchanged: crictl.sh VERSION OUT, such as crictl.sh v1.36.0 bin/crictl.
# Does nothing if OUT already is this version.
set -eu
cd "$(dirname "$0")/.."

version=$1 out=$2
package=sigs.k8s.io/cri-tools
module=$package@$version
built=$(dirname "$out")/.$(basename "$out").built

if [ -x "$out" ] && [ "$(cat "$built" 2>/dev/null)" = "$module" ]; then
	echo "$out is there"
	exit 0
fi
mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
rm -f "$built"

go mod download "$module"
source=$(go list -m -f '{{.Dir}}' "$module")
GOWORK=off CGO_ENABLED=0 go -C "$source" build -trimpath -ldflags "-s -w -X $package/pkg/version.Version=$version" -o "$out" ./cmd/crictl
echo "$module" >"$built"
echo "$out is built"
