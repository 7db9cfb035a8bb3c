#!/bin/sh
# Writes the table of probes/memory for the kubelet of a version: memory.sh v1.34.4.
# The table of the catalogue's own version comes with go generate.
set -eu
cd "$(dirname "$0")/.."

version=$1
module=k8s.io/kubernetes@$version
gen=$(mktemp) work=$(mktemp -d)
trap 'rm -rf "$gen" "$work"' EXIT
go build -o "$gen" ./probes/memory/gen

# The kubelet's libraries are directories beside it, which the module proxy serves as modules of their own: those of v1.34.4 are v0.34.4.
go mod download "$module"
source=$(go list -m -f '{{.Dir}}' "$module")
sed "s|^module .*|module tables|; s|=> \./staging/src/\(k8s\.io/[^ ]*\)\$|=> \1 v0.${version#v1.}|" "$source/go.mod" >"$work/go.mod"
echo "require k8s.io/kubernetes $version" >>"$work/go.mod"
cat "$source/go.sum" >"$work/go.sum"
export GOWORK=off GOFLAGS=-mod=mod
go -C "$work" list -deps k8s.io/kubernetes/cmd/kubelet >"$work/deps" # gets the modules
cd probes/memory
"$gen" -dir "$work"
