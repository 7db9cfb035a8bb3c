//go:build !unix

package dap

import (
	"errors"
	"net"
)

// Listen fails: this system does not tell which user an editor is of.
func Listen(string) (net.Listener, error) {
	return nil, errors.New("podstep dap listens on Linux and macOS only; here it speaks over its standard input and output")
}
