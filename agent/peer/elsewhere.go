package peer

import (
	"bytes"
	"io"
	"net"
)

// elsewhere is what a process writes first on a connection that it passes on to another machine. It is shorter than
// what each client of HTTP/2 writes first.
const elsewhere = "podstep from elsewhere\n"

// MarkElsewhere tells the agent that the client of a new connection is on another machine.
func MarkElsewhere(c net.Conn) error {
	_, err := io.WriteString(c, elsewhere)
	return err
}

// IsElsewhere reads whether the client of a new connection is on another machine. The connection that it returns has
// what the client sends after the mark.
func IsElsewhere(c net.Conn) (net.Conn, bool, error) {
	first := make([]byte, len(elsewhere))
	n, err := io.ReadFull(c, first)
	switch {
	case err != nil:
		return nil, false, err
	case string(first) == elsewhere:
		return c, true, nil
	}
	return &begun{c, io.MultiReader(bytes.NewReader(first[:n]), c)}, false, nil
}

// begun is a connection from which something was read already. in has that, and what comes after it.
type begun struct {
	net.Conn
	in io.Reader
}

func (b *begun) Read(p []byte) (int, error) { return b.in.Read(p) }
