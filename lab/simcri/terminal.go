package simcri

import (
	"errors"
	"io"
	"sync"
)

// terminal does the few things of a terminal's line discipline that a shell needs: kubectl has put its own terminal
// into raw mode, and sends every key.
type terminal struct {
	echo io.Writer

	mu          sync.Mutex
	typed       *sync.Cond    // signalled when a key was typed
	line        []byte        // typed, not ended
	ready       []byte        // ended, not read
	interrupt   chan struct{} // closed by the interrupt key
	interrupted bool
	err         error
}

// newTerminal reads keys on a goroutine that ends with its input.
func newTerminal(in io.Reader, echo io.Writer) *terminal {
	t := &terminal{echo: echo, interrupt: make(chan struct{})}
	t.typed = sync.NewCond(&t.mu)
	go t.pump(in)
	return t
}

const (
	keyInterrupt = 0x03
	keyEnd       = 0x04
	keyBackspace = 0x08
	keyKill      = 0x15
	keyDelete    = 0x7f
)

// maxTyped bounds a line, as the kernel does. maxAhead bounds the lines that are not read yet.
const (
	maxTyped = 4096
	maxAhead = 64 << 10
)

func (t *terminal) pump(in io.Reader) {
	var keys [256]byte
	for {
		n, err := in.Read(keys[:])
		t.mu.Lock()
		for _, k := range keys[:n] {
			t.key(k)
		}
		if err != nil && t.err == nil {
			t.err = err
		}
		ended := t.err != nil
		t.typed.Broadcast()
		t.mu.Unlock()
		if ended {
			return
		}
	}
}

var errInterrupted = errors.New("interrupted")

// Read reads from the lines that were ended.
func (t *terminal) Read(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.ready) == 0 && t.err == nil && !t.interrupted {
		t.typed.Wait()
	}
	switch {
	case t.interrupted:
		return 0, errInterrupted
	case len(t.ready) == 0:
		return 0, t.err
	}
	n := copy(p, t.ready)
	t.ready = t.ready[n:]
	return n, nil
}

// begin begins a line; see ash.Env.Interrupt.
func (t *terminal) begin() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.interrupted {
		t.interrupt, t.interrupted = make(chan struct{}), false
	}
	return t.interrupt
}

// key handles one key. t.mu is held.
func (t *terminal) key(k byte) {
	switch k {
	case '\r', '\n':
		t.echo.Write([]byte("\n"))
		t.endLine()
	case keyBackspace, keyDelete:
		if n := len(t.line); n > 0 {
			t.line = t.line[:n-1]
			t.echo.Write([]byte("\b \b"))
		}
	case keyKill:
		for ; len(t.line) > 0; t.line = t.line[1:] {
			t.echo.Write([]byte("\b \b"))
		}
	case keyInterrupt:
		t.line, t.ready = nil, nil
		t.echo.Write([]byte("^C\n"))
		if !t.interrupted {
			t.interrupted = true
			close(t.interrupt)
		}
	case keyEnd:
		if len(t.line) == 0 {
			t.err = io.EOF
		}
	default:
		if k >= ' ' && len(t.line) < maxTyped {
			t.line = append(t.line, k)
			t.echo.Write([]byte{k})
		}
	}
}

// endLine makes the line ready to be read. t.mu is held.
func (t *terminal) endLine() {
	if len(t.ready)+len(t.line) < maxAhead {
		t.ready = append(append(t.ready, t.line...), '\n')
	}
	t.line = nil
}
