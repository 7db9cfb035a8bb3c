#!/bin/sh
# Builds an unmodified kubelet as its release is built: stripped, static, without the paths of the machine that built it.
# kubelet.sh VERSION OUT, such as: kubelet.sh v1.34.4 bin/kubelet-v1.34.4. Does nothing if OUT already is this version.
set -eu
cd "$(dirname "$0")/.."

version=$1 out=$2
module=k8s.io/kubernetes@$version
built=$(dirname "$out")/.$(basename "$out").built

if [ -x "$out" ] && [ "$(cat "$built" 2>/dev/null)" = "$module" ]; then
	echo "$out is there"
	exit 0
fi
mkdir -p "$(dirname "$out")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# In Kubernetes' repository the kubelet's libraries are directories beside it. The module proxy serves them as modules of
# their own: the libraries of v1.34.4 are v0.34.4.
go mod download "$module"
source=$(go list -m -f '{{.Dir}}' "$module")
# Not all of them are served: those that show how to use the others are not, for some versions, and the kubelet needs none.
sed "/k8s\.io\/sample-/d; s|=> \./staging/src/\(k8s\.io/[^ ]*\)\$|=> \1 v0.${version#v1.}|" "$source/go.mod" >"$work/go.mod"
cat "$source/go.sum" >"$work/go.sum"
# The checksum database lacks this module of v1.27.
export GONOSUMDB=k8s.io/legacy-cloud-providers
GOWORK=off CGO_ENABLED=0 go -C "$source" build -mod=mod -modfile="$work/go.mod" -trimpath -tags selinux,notest \
	-ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$work/kubelet" ./cmd/kubelet

# A kubelet that is running from OUT keeps its old file.
mv -f "$work/kubelet" "$out"
echo "$module" >"$built"
echo "$out is built"
