//go:build !amd64 && !arm64

package hook

import (
	"bytes"
	"runtime"
	"strconv"
)

// Goroutine identifies the calling goroutine. Here it returns the number that stack traces show, which costs a
// microsecond.
func Goroutine() uintptr {
	var buf [64]byte
	words := bytes.Fields(buf[:runtime.Stack(buf[:], false)])
	if len(words) < 2 {
		return 0
	}
	id, _ := strconv.ParseUint(string(words[1]), 10, 64)
	return uintptr(id)
}
