#!/bin/sh
# Builds an unmodified kubelet: kubelet.sh VERSION OUT [FORM], such as: kubelet.sh v1.34.4 bin/kubelet-v1.34.4. Does nothing if
# OUT already is that. FORM is how it is built, all without the paths of the machine that built it:
#   released    stripped and static; the default
#   cgo         stripped, and linked to the system's C library
#   pie         the same, position independent
#   combined    as cgo, in one program with kube-proxy: agent/labtest/testdata/combined
#   dwarf       static, with debug information
#   plain       the same, not optimised
#   fork        released, with other types: fork.sh
set -eu
cd "$(dirname "$0")/.."
export GOWORK=off GONOSUMDB=k8s.io/legacy-cloud-providers # the checksum database lacks this module of v1.27

version=$1 out=$2 form=${3:-released}
module=k8s.io/kubernetes@$version
built=$(dirname "$out")/.$(basename "$out").built
stamp="-X k8s.io/component-base/version.gitVersion=$version" cgo=0
case $form in
released | fork) set -- -ldflags "-s -w $stamp" ;;
cgo | combined) cgo=1; set -- -ldflags "-s -w $stamp" ;;
pie) cgo=1; set -- -buildmode=pie -ldflags "-s -w $stamp" ;;
dwarf) set -- -ldflags "$stamp" ;;
plain) set -- -gcflags 'all=-N -l' -ldflags "$stamp" ;;
*) echo "kubelet.sh: there is no form $form" >&2; exit 2 ;;
esac

if [ -x "$out" ] && [ "$(cat "$built" 2>/dev/null)" = "$module $form" ]; then
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
case $form in
combined) # a module of its own, which has only its main package
	sed -i "s|^module .*|module combined|; \$a require k8s.io/kubernetes $version" "$work/go.mod"
	cp agent/labtest/testdata/combined/main.go "$work"
	source=$work package=.
	;;
fork)
	scripts/fork.sh "$source" "$work"
	source=$work/kubernetes package=./cmd/kubelet
	;;
*) package=./cmd/kubelet ;;
esac
CGO_ENABLED=$cgo go -C "$source" build -mod=mod -modfile="$work/go.mod" -trimpath -tags selinux,notest "$@" -o "$work/kubelet" $package

# A kubelet that is running from OUT keeps its old file.
mv -f "$work/kubelet" "$out"
echo "$module $form" >"$built"
echo "$out is built"
