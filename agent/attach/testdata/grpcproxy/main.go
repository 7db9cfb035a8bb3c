// Command grpcproxy is a proxy to which benchmarks compare podstep's relay. It ends gRPC and speaks it anew, put
// together from a library as in the library's own example. It is a module of its own, so that podstep need not depend
// on the library.
package main

import (
	"fmt"
	"io"
	"net"
	"os"

	"github.com/mwitkow/grpc-proxy/proxy"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// maxMessage is the largest message that the CRI's clients and servers accept.
const maxMessage = 16 << 20

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: grpcproxy LISTEN TO")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves until standard input ends.
func run(listen, to string) error {
	backend, err := grpc.NewClient("unix:"+to, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return err
	}
	l, err := net.Listen("unix", listen)
	if err != nil {
		return err
	}
	s := proxy.NewProxy(backend, grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage))
	go s.Serve(l) //nolint:errcheck // ends with Stop
	fmt.Println("ready")
	_, err = io.Copy(io.Discard, os.Stdin)
	s.Stop()
	return err
}
