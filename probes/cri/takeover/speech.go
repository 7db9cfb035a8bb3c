package takeover

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// speech is what a client was seen to speak. Unix sockets count nothing, and what was read is gone. So all that can
// be seen from outside the two processes is what the runtime has not read yet, for the moment until it does.
type speech int

const (
	unseen     speech = iota
	speaksGRPC        // HTTP/2
	speaksElse        // HTTP/1
)

// mixedRuntimes serve HTTP/1.1 on the same socket as gRPC. With CRI-O the kubelet speaks both. cAdvisor, which is a
// part of the kubelet, asks for containers in HTTP/1.1 over connections that stay. A GOAWAY in the place of an
// answer is an error there. So with these runtimes a connection is asked only once HTTP/2 was seen on it, which
// takes until the kubelet's next calls. A connection on which nothing is seen stays as it is: it has no calls then
// that could be missed. With other runtimes every client speaks gRPC.
var mixedRuntimes = []string{"crio", "cri-o"}

func speaksMore(pid int) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return slices.Contains(mixedRuntimes, strings.TrimSpace(string(b)))
}

var (
	errElse   = errors.New("it is not gRPC")
	errUnseen = errors.New("nothing was seen on it that says it is gRPC")
)

const (
	// peeked is enough for the first line of a request.
	peeked   = 512
	frameLen = 9
)

// seeSpeech looks at what the runtime is about to read.
func seeSpeech(fd int) speech {
	var b [peeked]byte
	n, _, err := unix.Recvfrom(fd, b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
	if err != nil {
		return unseen
	}
	return judge(b[:n])
}

// awaitData returns when data comes, or after a while. It is quicker than looking again and again.
func awaitData(fd int, atMost time.Duration) {
	polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, _ = unix.Poll(polled, int(max(1, atMost.Milliseconds())))
}

// judge returns what a client speaks that sent b. b begins with a frame or a request, unless it was read in the
// middle of one: then it shows nothing.
func judge(b []byte) speech {
	const preface = "PRI * HTTP/2.0"
	line, _, _ := bytes.Cut(b, []byte("\r\n"))
	switch {
	case bytes.HasPrefix(b, []byte(preface)), isFrame(b):
		return speaksGRPC
	case bytes.Contains(line, []byte(" HTTP/1.")):
		return speaksElse
	}
	return unseen
}

// isFrame recognizes the head of a frame of HTTP/2: its length, which is less than 64 KiB as long as no peer asked
// for more, its kind, and a stream if that kind has one.
func isFrame(b []byte) bool {
	const data, headers, reset, settings, ping, goAway, window = 0, 1, 3, 4, 6, 7, 8
	if len(b) < frameLen || b[0] != 0 || b[5]&0x80 != 0 {
		return false
	}
	ofStream := b[5]|b[6]|b[7]|b[8] != 0
	switch b[3] {
	case data, headers, reset:
		return ofStream && b[8]&1 == 1
	case settings, ping, goAway:
		return !ofStream
	case window:
		return true
	}
	return false
}
