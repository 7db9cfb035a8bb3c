package far

import (
	"context"
	"errors"
	"io"
	"net"
	"time"
)

// greeting is the first line that agent-stdio writes once it has reached the agent. What comes before it is of others,
// such as of a shell that greets its user.
const greeting = "podstep agent-stdio 1\n"

// maxNoise bounds what may come before the greeting, in bytes.
const maxNoise = 64 << 10

// lastAnswers is how long an agent may take to close a connection whose client sends nothing more.
const lastAnswers = 10 * time.Second

// errNoise is returned for a stream in which no greeting comes.
var errNoise = errors.New("what answers is not podstep agent-stdio")

// halfCloser is a connection of which one direction can be closed, as those over unix sockets are.
type halfCloser interface {
	net.Conn
	CloseWrite() error
}

// Join greets on out, then copies from in to an agent's connection and from there to out. It returns when the agent
// closes the connection or ctx ends, or, some seconds after the end of in, when the agent does not close it. It fails if
// out cannot be written to. A Read of in may still be under way when it returns.
func Join(ctx context.Context, conn net.Conn, in io.Reader, out io.Writer) error {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := io.WriteString(out, greeting); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(conn, in) // if that fails, the other direction ends as well
		_ = conn.SetReadDeadline(time.Now().Add(lastAnswers))
		if half, can := conn.(halfCloser); can {
			_ = half.CloseWrite()
		}
	}()
	_, err := io.Copy(out, &source{from: conn})
	return err
}

// source is a reader whose errors are its end: the error of io.Copy is then the writer's.
type source struct{ from io.Reader }

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

// awaitGreeting reads up to the end of the greeting.
func awaitGreeting(from io.Reader) error {
	var last []byte
	one := make([]byte, 1)
	for range maxNoise {
		if _, err := io.ReadFull(from, one); err != nil {
			return err
		}
		if len(last) == len(greeting) {
			last = append(last[:0], last[1:]...)
		}
		if last = append(last, one[0]); string(last) == greeting {
			return nil
		}
	}
	return errNoise
}
