package trace

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Bounds of what a trace file may count. Compression makes a count of millions
// out of a few bytes, so what a file says is no reason to take memory: each
// count is held against a bound, or against the bytes that were read for it.
const (
	maxEvents = 1 << 16
	maxPlain  = 16 << 20 // bytes of a block before it is compressed, and of its events
	maxPacked = 16 << 20
	maxWindow = maxPlain // of zstd

	// maxPods bounds the pods of a block, and of a file that is small: a pod has
	// a UID, which takes podBytes at least however well it is compressed.
	maxPods    = 1 << 16
	podBytes   = 4
	maxPodText = 1 << 10 // of its namespace, its name and its UID, in bytes each

	maxHeader  = 4 << 20 // bytes of the header's JSON
	maxMembers = 1 << 14 // of the agent's Info: its steps and goroutines, mostly

	// maxTexts bounds what the model keeps of texts, in bytes. What a writer lets
	// it come to is less.
	maxTexts = 64 << 20
)

// boundError is what a count says that is beyond its bound.
type boundError struct {
	what  string
	bound int64
}

func (e *boundError) Error() string { return fmt.Sprintf("it has more than %d %s", e.bound, e.what) }

func tooMany(bound int64, what string) error { return &boundError{what, bound} }

// checkInfo counts the members of an encoded message before memory is taken for
// them: an empty step takes two bytes in the file, and a hundred times that when
// it is read.
func checkInfo(raw []byte) error {
	for n := 0; len(raw) > 0; n++ {
		if n == maxMembers {
			return tooMany(maxMembers, "steps and goroutines in its header")
		}
		_, _, size := protowire.ConsumeField(raw)
		if size < 0 {
			return protowire.ParseError(size)
		}
		raw = raw[size:]
	}
	return nil
}
