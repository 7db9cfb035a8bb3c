//go:build mishaps

package companion

import (
	"fmt"
	"os"
	"strings"
)

// Mishap makes what a test wants happen to a goroutine of this process that comes to a place, by the file that a test has
// written: it blocks for ever, or panics. Only programs for tests have it.
func Mishap(place string) {
	how, err := os.ReadFile(fmt.Sprintf("/tmp/podstep-mishaps/%d/%s", os.Getpid(), place))
	switch {
	case err != nil:
	case strings.TrimSpace(string(how)) == "panic":
		panic("a test wants it at " + place)
	default:
		select {}
	}
}
