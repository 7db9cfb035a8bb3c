package trace

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// Bounds on the counts of a trace file. Compression makes a count of millions out of a few bytes, so memory is never
// taken for what a file says: each count is compared with a bound, or with the bytes that were read for it.
const (
	maxEvents = 1 << 16
	maxPlain  = 16 << 20 // bytes of a block before it is compressed, and of its events
	maxPacked = 16 << 20
	maxWindow = maxPlain // of zstd

	// maxPods bounds the pods of a block, and of a small file. A larger file may have one more for each podBytes: a pod
	// has a UID, which takes at least that much however well it is compressed.
	maxPods    = 1 << 16
	podBytes   = 4
	maxPodText = 1 << 10 // of its namespace, its name and its UID, in bytes each

	maxHeader  = 4 << 20 // bytes of the header's JSON
	maxMembers = 1 << 14 // of the agent's Info: its steps and goroutines, mostly

	// maxTexts bounds the texts that the model keeps, in bytes. Writers keep fewer.
	maxTexts = 64 << 20
)

// boundError is the error for a count that is beyond its bound.
type boundError struct {
	what  string
	bound int64
}

func (e *boundError) Error() string { return fmt.Sprintf("it has more than %d %s", e.bound, e.what) }

func tooMany(bound int64, what string) error { return &boundError{what, bound} }

// checkInfo counts the members of an encoded message before memory is taken for them: an empty step takes two bytes in
// the file, and a hundred times that in memory.
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
