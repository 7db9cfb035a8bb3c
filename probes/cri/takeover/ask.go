package takeover

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// goAway is an HTTP/2 GOAWAY frame without an error, that ends no stream: it names the last stream that there can
// be. A client that gets it makes new calls on a new connection, and lets those under way end on this one.
var goAway = []byte{
	0, 0, 8, // length
	7,          // GOAWAY
	0,          // no flags
	0, 0, 0, 0, // of the connection
	0x7f, 0xff, 0xff, 0xff, // last stream
	0, 0, 0, 0, // no error
}

// quietSteps are how long a connection must have been quiet for a frame of ours to fall between two frames of the
// runtime's. A connection that is busy all the time is never quiet for long; then less must do. In the end it must
// do that nothing is on its way, if only small frames go over it: a gRPC server hands less than 32 KiB to the
// kernel in one piece, which is whole frames.
var quietSteps = []struct{ after, quiet time.Duration }{
	{0, 5 * time.Millisecond},
	{250 * time.Millisecond, time.Millisecond},
	{500 * time.Millisecond, 200 * time.Microsecond},
	{750 * time.Millisecond, 0},
}

const (
	askPatience = 1500 * time.Millisecond
	askPitch    = 50 * time.Microsecond
	smallWrites = 24 << 10
)

var (
	errBusy  = errors.New("it is never quiet")
	errShort = errors.New("the frame was written in part")
)

// askToMove writes a GOAWAY into the runtime's end of a connection, at a moment at which nothing is on its way in
// either direction. speaks is what the client was seen to speak before; it returns what it knows now. If sure is
// set, it writes nothing before it has seen HTTP/2.
func askToMove(fd int, speaks speech, sure bool) (speech, error) {
	start := time.Now()
	lastBusy, largest := start, 0
	for {
		if speaks == unseen {
			speaks = seeSpeech(fd)
		}
		if speaks == speaksElse {
			return speaks, errElse
		}
		pending, err := onTheWay(fd)
		if err != nil {
			return speaks, err
		}
		now := time.Now()
		may := speaks == speaksGRPC || !sure
		if pending > 0 {
			lastBusy, largest = now, max(largest, pending)
		} else if quiet, ok := quietAfter(now.Sub(start), largest); may && ok && now.Sub(lastBusy) >= quiet {
			return speaks, sendGoAway(fd)
		}
		left := askPatience - now.Sub(start)
		switch {
		case left < 0 && !may:
			return speaks, errUnseen
		case left < 0:
			return speaks, errBusy
		case !may && pending == 0:
			awaitData(fd, left)
		default:
			time.Sleep(askPitch)
		}
	}
}

// quietAfter returns how long the connection must have been quiet, after that time since the first look, with that
// many bytes on their way at most.
func quietAfter(passed time.Duration, largest int) (quiet time.Duration, ok bool) {
	for _, s := range quietSteps {
		if passed >= s.after {
			quiet, ok = s.quiet, s.quiet > 0 || largest < smallWrites
		}
	}
	return quiet, ok
}

// onTheWay returns how many bytes the runtime and its peer have not read yet.
func onTheWay(fd int) (int, error) {
	in, err := unix.IoctlGetInt(fd, unix.SIOCINQ)
	if err != nil {
		return 0, fmt.Errorf("look at connection: %w", err)
	}
	out, err := unix.IoctlGetInt(fd, unix.SIOCOUTQ)
	if err != nil {
		return 0, fmt.Errorf("look at connection: %w", err)
	}
	return in + out, nil
}

func sendGoAway(fd int) error {
	n, err := unix.SendmsgN(fd, goAway, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	if err != nil {
		return fmt.Errorf("write to connection: %w", err)
	}
	if n < len(goAway) {
		return errShort
	}
	return nil
}
