package holdproc

import (
	"net"

	"github.com/podstep/podstep/probes/companion"
)

// newLink makes the stream of messages between podstep and the hold process.
func newLink(c net.Conn) *companion.Duplex[message] {
	return companion.NewDuplex(c, message{Beat: true}, func(n int) message { return message{Lost: n} })
}
