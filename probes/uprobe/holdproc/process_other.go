//go:build !amd64 && !arm64

package holdproc

import (
	"fmt"
	"os"
	"runtime"

	"github.com/podstep/podstep/probes/companion"
)

// Main is the main function of the hold process. It returns the exit code.
func Main() int {
	c, err := companion.Link()
	if err != nil {
		fmt.Fprintln(os.Stderr, "podstep hold process: podstep attach starts it, not a person")
		return 2
	}
	l := companion.NewDuplex[message](c)
	l.Send(message{Failed: "goroutines can be held inside a kubelet on amd64 and arm64 only, and this is " + runtime.GOARCH})
	l.Close()
	return 1
}
