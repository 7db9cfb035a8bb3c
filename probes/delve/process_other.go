//go:build linux && !amd64

package delve

import (
	"errors"
	"fmt"
	"os"
)

// Main is the main function of the debugger process. It returns the exit code.
func Main() int {
	fmt.Fprintln(os.Stderr, "podstep debugger process: it reads the kubelet's values by tables that there are for amd64 only")
	return 2
}

// finder would look for places in the kubelet's code.
type finder struct{ options Options }

func (finder) find(string) ([]Found, error) {
	return nil, errors.New("podstep holds pods at lines on amd64 alone")
}

func (finder) close() {}
