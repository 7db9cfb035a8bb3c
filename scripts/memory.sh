#!/bin/sh
# Writes the table of probes/memory for the kubelet of a version: memory.sh v1.34.4.
# For the catalogue's own version, go generate writes it.
set -eu
cd "$(dirname "$0")/.."

version=$1
module=k8s.io/kubernetes@$version
gen=$(mktemp) work=$(mktemp -d)
trap 'rm -rf "$gen" "$work"' EXIT
go build -o "$gen" ./cmd/gen

# In Kubernetes' repository the kubelet's libraries are directories beside it. The module proxy serves them as modules of
# their own: the libraries of v1.34.4 are v0.34.4.
go mod download "$module"
source=$(go list -m -f '{{.Dir}}' "$module")
sed "s|^module .*|module tables|; s|=> \./staging/src/\(k8s\.io/[^ ]*\)\$|=> \1 v0.${version#v1.}|" "$source/go.mod" >"$work/go.mod"
echo "require k8s.io/kubernetes $version" >>"$work/go.mod"
cat "$source/go.sum" >"$work/go.sum"
export GOWORK=off GOFLAGS=-mod=mod
# The checksum database lacks this module of v1.27. The table needs it only so that the other packages can be read.
export GONOSUMDB=k8s.io/legacy-cloud-providers
go -C "$work" list -deps k8s.io/kubernetes/cmd/kubelet >"$work/deps" # downloads the modules
"$gen" -kubelet "$work" memory
