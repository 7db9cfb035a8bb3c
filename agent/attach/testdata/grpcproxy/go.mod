module grpcproxy

go 1.26.0

require (
	github.com/mwitkow/grpc-proxy v0.0.0-20230212185441-f345521cb9c9
	google.golang.org/grpc v1.79.3
)

require (
	golang.org/x/net v0.49.0 // indirect
	golang.org/x/sys v0.40.0 // indirect
	golang.org/x/text v0.33.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260217215200-42d3e9bedb6d // indirect
	google.golang.org/protobuf v1.36.11 // indirect
)
