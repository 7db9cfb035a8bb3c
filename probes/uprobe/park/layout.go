//go:build linux && !arm64

package park

// A parked goroutine's record stands in the frame from which it waits, above the seven words that the called function
// may use.
const (
	recordAt   = 7 * 8
	recordSize = 64

	blockedAt = 0
	timeoutAt = 8
	magicAt   = 24
	idAt      = 32
	sinceAt   = 40
	placeAt   = 48
	untilAt   = 56
)
