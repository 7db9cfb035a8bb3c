package relay

import (
	"errors"
	"time"

	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errPush = errors.New("the runtime pushes, which gRPC does not")

// fromRuntimeFrame looks at a frame of the runtime and reports whether it passes.
func (c *Conn) fromRuntimeFrame(p *pump, f *frame) (bool, error) {
	if p.headers.open != nil && f.kind != frameContinuation {
		return false, errBlockOrder
	}
	switch f.kind {
	case frameHeaders, frameContinuation:
		return c.runtimeHeaders(p, f)
	case frameData:
		return c.runtimeData(p, f)
	case frameReset:
		return c.runtimeReset(p, f)
	case frameWindow:
		return c.runtimeWindow(p, f)
	case frameSettings:
		return true, f.settings(c.runtimeSetting)
	case frameGoAway:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.away = true
		c.letGo()
	case framePush:
		return false, errPush
	}
	return true, nil
}

func (c *Conn) runtimeSetting(id uint16, value uint32) {
	switch id {
	case settingTableSize:
		c.up.headers.allow(value)
	case settingMaxFrame:
		c.allowFrame(upward, value)
	case settingInitialWindow:
		c.mu.Lock()
		defer c.mu.Unlock()
		more := int64(value) - c.account.initial
		c.account.initial = int64(value)
		for _, k := range c.calls {
			k.window += more
		}
		c.toRuntime.poke()
	}
}

// runtimeHeaders begins or ends an answer.
func (c *Conn) runtimeHeaders(p *pump, f *frame) (bool, error) {
	b, fields, err := p.headers.read(f)
	if err != nil || b == nil {
		return false, err
	}
	how, report := c.answering(b, fields, p.now)
	report()
	switch {
	case how == dropped:
		return false, nil
	case how == plain:
		p.put(appendHeaders(nil, b.stream, encodePlain(fields), b.endStream))
		return false, nil
	case b.frames != nil:
		p.put(b.frames)
		return false, nil
	}
	return true, nil
}

// form is what becomes of a header block of the runtime.
type form int

const (
	asItCame form = iota
	plain         // written anew
	dropped
)

func (c *Conn) answering(b *block, fields []hpack.HeaderField, at time.Time) (how form, report func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	report = func() {}
	if k := c.calls[b.stream]; k != nil && b.endStream {
		c.replies++
		report = c.answerEnds(k, readStatus(fields), at)
	} else if k != nil {
		k.begun = true
		k.answer.encoding = field(fields, "grpc-encoding")
	}
	switch {
	case c.answered.has(b.stream):
		how = dropped
	case c.plain:
		how = plain
	}
	return how, report
}

// answerEnds ends a call that the runtime has answered. The call's times are known when the answer is sent on. A
// request that the watcher is being shown at the moment has not been sent, so it has no times.
func (c *Conn) answerEnds(k *call, st *status.Status, at time.Time) (report func()) {
	if k.phase != asking {
		k.watch.answered, k.code = at, st.Code()
		c.down.answers = append(c.down.answers, k)
	}
	return c.endCall(k, st, at)
}

func (c *Conn) runtimeData(p *pump, f *frame) (bool, error) {
	data, err := f.body()
	if err != nil {
		return false, err
	}
	pass, report := c.answerData(f, data, p.now)
	report()
	return pass, nil
}

func (c *Conn) answerData(f *frame, data []byte, at time.Time) (pass bool, report func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	report = func() {}
	if c.answered.has(f.stream) {
		c.toRuntime.credit += int64(len(f.payload()))
		c.toRuntime.poke()
		return false, report
	}
	k := c.calls[f.stream]
	if k == nil {
		return true, report
	}
	if k.watched {
		c.account.answers += k.answer.add(data, maxKept-c.account.answers)
	}
	if f.has(flagEndStream) {
		report = c.endCall(k, status.New(codes.Unknown, "the answer ended without a status"), at)
	}
	return true, report
}

func (c *Conn) runtimeReset(p *pump, f *frame) (bool, error) {
	code, err := f.number()
	if err != nil {
		return false, err
	}
	return c.reset(f.stream, "runtime", code, p.now), nil
}

// runtimeWindow keeps back, from the runtime's grants, what the client was lent.
func (c *Conn) runtimeWindow(p *pump, f *frame) (bool, error) {
	number, err := f.number()
	if err != nil {
		return false, err
	}
	n := int64(number & maxStreamID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.answered.has(f.stream) {
		return false, nil
	}
	pass := n
	if f.stream == 0 {
		pass = c.account.grant(n)
	} else if k := c.calls[f.stream]; k != nil {
		pass = k.grant(n)
	}
	if len(c.released) > 0 {
		c.toRuntime.poke()
	}
	if pass == n {
		return true, nil
	}
	if pass > 0 {
		p.put(appendWindow(nil, f.stream, pass))
	}
	return false, nil
}

// grant books a grant on the stream, and returns how much of it is passed on.
func (k *call) grant(n int64) int64 {
	k.window += n
	due := k.debt
	if !k.queued {
		due = max(0, due-int64(len(k.kept)))
	}
	paid := min(n, due)
	k.debt -= paid
	return n - paid
}

// runtimeSpeaks is called after the runtime's first frame.
func (c *Conn) runtimeSpeaks() {
	c.mu.Lock()
	c.speaks = true
	c.mu.Unlock()
	c.toClient.poke()
}

// frameLimit returns how large the payload of a frame may be that a pump meets.
func (c *Conn) frameLimit(way direction) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.maxFrame[way]
}

// allowFrame notes how large the frames are that a side accepts.
func (c *Conn) allowFrame(way direction, size uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.maxFrame[way] = max(c.maxFrame[way], int(min(size, 1<<24-1)))
}

// batchDone is called after all whole frames of a read.
func (c *Conn) batchDone(way direction) {
	if way == downward {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grantClient(c.account.lend())
}
