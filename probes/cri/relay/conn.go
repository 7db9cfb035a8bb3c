package relay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sort"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Call is one gRPC call of the client.
type Call struct {
	Method   string    // "/runtime.v1.RuntimeService/RunPodSandbox"
	Began    time.Time // when its headers came
	Deadline time.Time // by grpc-timeout; zero: none
	State    any       // the watcher's own
}

// Watcher gets the calls. Its methods run on the connection's own goroutines
// and must be quick: the connection waits for them.
type Watcher interface {
	// Wants reports whether the watcher is to see calls of a method. Other calls pass. It must accept unary methods
	// only.
	Wants(method string) bool

	// Request gets the whole request message, uncompressed, before any of it is forwarded. It may keep the message,
	// but must not change it. With a nil gate the message is forwarded at once. Otherwise gate runs on a goroutine
	// of its own. When it returns nil the message goes on; when it returns an error the call is not forwarded, and
	// the client is answered with the error's status. The gate's context ends when the client gives up or the call
	// ends in another way; then the message is never forwarded.
	//
	// Request is not called for a message that is larger than 16 MiB or compressed in an unknown way, nor while
	// more than 64 MiB are kept back on the connection.
	Request(c *Call, message []byte) (gate func(ctx context.Context) error)

	// Passed is called after Request, when the message was let go on and is written, if it had come in one piece.
	// Work that nothing waits for is best begun here: even to wake another goroutine takes the runtime a processor
	// that it is about to need.
	Passed()

	// End is called once for each call that Request was called for, before the client sees the end of the answer.
	// answer is nil if none could be kept. A call that the client gave up ends as Canceled, or as DeadlineExceeded
	// if it was past its deadline; one whose connection broke ends as Unavailable.
	End(c *Call, answer []byte, st *status.Status, at time.Time)
}

// Conn relays one connection.
type Conn struct {
	client, runtime net.Conn
	watcher         Watcher
	meter           func(Times)
	unseen          func(error)

	up, down     *pump // client to runtime, runtime to client
	toRuntime    *output
	toClient     *output
	helpers      sync.WaitGroup
	ended        chan struct{}
	clientStream uint32 // the client's last stream; only up uses it

	mu       sync.Mutex
	err      error          // why it was closed, or is no longer looked at
	why      *status.Status // the status of calls that end with the connection; nil while it is there
	closed   bool
	raw      bool // passes as bytes, not looked at
	upDone   bool // the client sends no more
	downDone bool // the runtime sends no more
	speaks   bool // the runtime's first SETTINGS went on: HTTP/2 may follow
	drain    bool // the client is to be asked to go
	away     bool // the client was asked to go, by the runtime or from here
	plain    bool // the runtime's header blocks are written anew
	calls    map[uint32]*call
	replies  uint64  // calls that the runtime has answered
	released []*call // have bytes that may go on when there is window for them
	toBeSent []*call // were released, and are written next
	answered answeredCalls
	account  account
	maxFrame [2]int // of the frames that up and down may meet
}

// New relays between a client and the runtime. With a nil watcher everything
// passes as bytes.
func New(client, runtime net.Conn, w Watcher) *Conn {
	c := &Conn{
		client: client, runtime: runtime, watcher: w, meter: func(Times) {}, unseen: func(error) {}, raw: w == nil,
		ended: make(chan struct{}), calls: map[uint32]*call{},
		account: newAccount(), maxFrame: [2]int{minMaxFrame, minMaxFrame},
	}
	c.toRuntime, c.toClient = newOutput(runtime), newOutput(client)
	c.toRuntime.wrote = c.releasedSent
	c.up = newPump(c, client, c.toRuntime, upward)
	c.down = newPump(c, runtime, c.toClient, downward)
	return c
}

// Run relays until both sides are done, and closes both. The error is why the connection was closed early, or why
// it was no longer looked at.
func (c *Conn) Run() error {
	c.helpers.Go(func() { c.toRuntime.run(c.ended, c.moreToRuntime) })
	c.helpers.Go(func() { c.toClient.run(c.ended, c.moreToClient) })
	down := make(chan struct{})
	go func() {
		defer close(down)
		c.runtimeGone(c.down.run())
	}()
	c.clientGone(c.up.run())
	<-down
	// Released bytes that wait for a window, which will not come now, are lost with the connection, as they would
	// be in the client's own socket.
	c.fail(nil)
	close(c.ended)
	c.helpers.Wait()
	c.endAll(anyCall, c.endStatus(""))
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Drain asks the client to open no new calls here. Those under way go on; a gRPC client closes the connection after
// them. A connection that passes as bytes cannot be asked. If the runtime has asked already, Drain need not.
func (c *Conn) Drain() {
	c.mu.Lock()
	c.drain = true
	c.mu.Unlock()
	c.toClient.poke()
}

// mustAskClient reports whether the client is to be asked to go now. If the runtime has asked meanwhile, it has named the
// last call that it serves. To name a later one after that is an error that costs the client its connection.
func (c *Conn) mustAskClient() bool { return c.drain && !c.away && c.speaks && !c.raw }

// Calls returns the calls under way, oldest first, without their State. It returns none for a client that has
// closed its connection: such a client waits for none, however long the runtime takes.
func (c *Conn) Calls() []Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]Call, 0, len(c.calls))
	if c.upDone && closed(c.client) {
		return out
	}
	for _, k := range c.calls {
		out = append(out, Call{Method: k.Method, Began: k.Began, Deadline: k.Deadline})
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Began.Before(out[j].Began) })
	return out
}

// Answered returns how many calls the runtime has answered, well or not.
func (c *Conn) Answered() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replies
}

// Unseen makes the connection call a function when it stops looking at the calls, with the reason: it passes them as bytes
// from then on, or ends if it cannot. The function must be quick. Unseen must be called before Run.
func (c *Conn) Unseen(call func(error)) { c.unseen = call }

// Busy returns, for each direction, when the relay began to handle what it handles now, in nanoseconds since 1970; 0: it
// waits for either side.
func (c *Conn) Busy() [2]int64 { return [2]int64{c.up.busy.Load(), c.down.busy.Load()} }

// Close ends the connection now.
func (c *Conn) Close() error {
	c.fail(nil)
	return nil
}

// fail closes both connections, which ends the pumps. The first error is kept.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return
	}
	c.closed = true
	if c.err == nil {
		c.err = err
	}
	if c.why == nil {
		c.why = ended("")
	}
	c.mu.Unlock()
	c.client.Close()
	c.runtime.Close()
}

// stopLooking stops looking, because something unknown came. If nothing is kept back the connection goes on as bytes;
// otherwise it cannot, and is closed.
func (c *Conn) stopLooking(why error) {
	why = fmt.Errorf("read HTTP/2: %w", why)
	ends, ok := c.loseSight(why)
	if fault := (*PanicError)(nil); ok || errors.As(why, &fault) {
		c.unseen(why)
	}
	if !ok {
		c.fail(why)
		return
	}
	// A pump that waits for the rest of a frame has to pass on what it has.
	past := time.Unix(1, 0)
	c.client.SetReadDeadline(past)  //nolint:errcheck // on a closed connection the read fails by itself
	c.runtime.SetReadDeadline(past) //nolint:errcheck
	for _, end := range ends {
		end()
	}
}

func (c *Conn) loseSight(why error) (ends []func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw {
		return nil, true
	}
	if c.closed || c.entangled() {
		return nil, false
	}
	c.raw = true
	if c.err == nil && !errors.Is(why, errNotHTTP2) {
		c.err = why
	}
	return c.endWhich(anyCall, status.New(codes.Unknown, "the connection could not be followed any further")), true
}

// entangled reports whether the two sides depend on the relay: what one sends is not all that the other receives.
func (c *Conn) entangled() bool {
	if c.plain || c.mustAskClient() || c.account.entangled() || c.toClient.pending() || c.toRuntime.pending() {
		return true
	}
	for _, k := range c.calls {
		if k.entangled() {
			return true
		}
	}
	return false
}

func (c *Conn) isRaw() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw
}

// clientGone is called after the last byte that goes from the client to the runtime. A client with a held call has
// given it up. Other calls under way may still be answered, if only the client's sending side is closed.
func (c *Conn) clientGone(gone side) {
	c.endAll((*call).givenUp, c.endStatus(gone))
	c.mu.Lock()
	c.upDone = true
	c.mu.Unlock()
	c.toRuntime.poke()
}

// runtimeGone is called after the last byte that goes from the runtime to the client: no call will be answered.
func (c *Conn) runtimeGone(gone side) {
	c.endAll(anyCall, c.endStatus(gone))
	c.mu.Lock()
	c.downDone = true
	c.mu.Unlock()
	c.toClient.poke()
}

// endStatus returns the status of calls that end with the connection. The side that went first is to blame: the other
// goes because of that.
func (c *Conn) endStatus(gone side) *status.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.why == nil {
		c.why = ended(gone)
	}
	return c.why
}

func ended(gone side) *status.Status {
	if gone == "" {
		return status.New(codes.Unavailable, "the connection ended")
	}
	return status.Newf(codes.Unavailable, "the %s's connection ended", gone)
}

func anyCall(*call) bool { return true }

// endAll ends the calls for which which returns true.
func (c *Conn) endAll(which func(*call) bool, st *status.Status) {
	c.mu.Lock()
	ends := c.endWhich(which, st)
	c.mu.Unlock()
	for _, end := range ends {
		end()
	}
}

func (c *Conn) endWhich(which func(*call) bool, st *status.Status) []func() {
	now := time.Now()
	var ends []func()
	for _, k := range c.calls {
		if which(k) {
			ends = append(ends, c.endCall(k, st, now))
		}
	}
	return ends
}
