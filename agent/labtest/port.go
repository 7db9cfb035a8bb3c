package labtest

import (
	"net"
	"testing"
)

// FreePort returns a port of 127.0.0.1 that is free at the moment.
func FreePort(tb testing.TB) string {
	tb.Helper()
	return FreePorts(tb, 1)[0]
}

// FreePorts returns several of them, no two the same.
func FreePorts(tb testing.TB, n int) (ports []string) {
	tb.Helper()
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		defer l.Close()
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			tb.Fatal(err)
		}
		ports = append(ports, port)
	}
	return ports
}
