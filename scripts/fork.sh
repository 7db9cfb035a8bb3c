#!/bin/sh
# Makes a fork of Kubernetes in which the table of its version no longer fits: fork.sh SOURCE WORK copies SOURCE to
# WORK/kubernetes and changes types there, and in a copy of the apimachinery that WORK/go.mod names. Members of one type are
# swapped, and a structure begins with another member. No function begins on another line.
set -eu
source=$1 work=$2

# change FILE SED: changes a file of the copies.
change() {
	sed -E "$2" "$work/$1" >"$work/changed"
	if cmp -s "$work/$1" "$work/changed"; then
		echo "fork.sh: $1 has nothing to change" >&2
		exit 1
	fi
	mv "$work/changed" "$work/$1"
}

apimachinery=$(go -C "$source" list -mod=mod -modfile="$work/go.mod" -m -f '{{.Dir}}' k8s.io/apimachinery)
cp -r "$source" "$work/kubernetes"
cp -r "$apimachinery" "$work/apimachinery"
chmod -R u+w "$work/kubernetes" "$work/apimachinery"
go mod edit -replace "k8s.io/apimachinery=$work/apimachinery" "$work/go.mod"

# A pod's name is where its namespace was, in the API's type and in the runtime's.
change apimachinery/pkg/apis/meta/v1/types.go '/^type ObjectMeta struct/,/^}/ {
	s/^\tName string `.*/\tNamespace string `json:"namespace,omitempty" protobuf:"bytes,3,opt,name=namespace"`/
	t
	s/^\tNamespace string `.*/\tName string `json:"name,omitempty" protobuf:"bytes,1,opt,name=name"`/
}'
change kubernetes/pkg/kubelet/container/runtime.go '/^type (Pod|PodStatus) struct/,/^}/ {
	s/^\tName +string$/\tNamespace string/
	t
	s/^\tNamespace +string$/\tName string/
}'
# All members lie 24 bytes further on.
change kubernetes/pkg/kubelet/pod_workers.go 's/^type UpdatePodOptions struct \{$/& forked [24]byte/'
