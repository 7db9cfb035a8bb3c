#!/bin/sh
# Generates agent/agentpb from its .proto. Needs protoc. The plugins are
# tools in go.mod.
set -eu
cd "$(dirname "$0")/.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin" google.golang.org/protobuf/cmd/protoc-gen-go google.golang.org/grpc/cmd/protoc-gen-go-grpc
PATH="$bin:$PATH" protoc -I agent/agentpb \
	--go_out="${1:-agent/agentpb}" --go_opt=paths=source_relative \
	--go-grpc_out="${1:-agent/agentpb}" --go-grpc_opt=paths=source_relative \
	agent.proto
