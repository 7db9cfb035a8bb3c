#!/bin/sh
# Compiles the program to an object, for probes/uprobe to load: generate.sh OUT. It needs clang and llvm-strip.
set -eu
cd "$(dirname "$0")"

clang -O2 -g -target bpf -mcpu=v3 -Wall -Werror -ffile-prefix-map="$PWD=." -c steps.bpf.c -o "$1"
llvm-strip -g "$1" # what debuggers want; BTF stays
