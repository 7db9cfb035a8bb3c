#!/bin/sh
# Compiles the program to an object for each architecture, for probes/uprobe to load: generate.sh DIR. It needs clang and
# llvm-strip.
set -eu
cd "$(dirname "$0")"

for arch in amd64 arm64; do
	out=$1/steps.$arch.bpf.o
	clang -O2 -g -target bpf -mcpu=v3 -Wall -Werror -ffile-prefix-map="$PWD=." -I "$arch" -c steps.bpf.c -o "$out"
	llvm-strip -g "$out" # what debuggers want; BTF stays
done
