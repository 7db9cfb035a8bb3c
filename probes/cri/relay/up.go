package relay

import "time"

// fromClientFrame looks at a frame of the client and reports whether it passes.
func (c *Conn) fromClientFrame(p *pump, f *frame) (bool, error) {
	if p.headers.open != nil && f.kind != frameContinuation {
		return false, errBlockOrder
	}
	switch f.kind {
	case frameHeaders, frameContinuation:
		return c.clientHeaders(p, f)
	case frameData:
		return c.clientData(p, f)
	case frameReset:
		return c.clientReset(p, f)
	case frameWindow:
		c.mu.Lock()
		defer c.mu.Unlock()
		return !c.answered.has(f.stream), nil
	case frameSettings:
		return true, f.settings(func(id uint16, value uint32) {
			switch id {
			case settingTableSize:
				c.down.headers.allow(value)
			case settingMaxFrame:
				c.allowFrame(downward, value)
			}
		})
	}
	return true, nil
}

// clientHeaders begins a call. Header blocks always go on, in their order: each builds on those before.
func (c *Conn) clientHeaders(p *pump, f *frame) (bool, error) {
	b, fields, err := p.headers.read(f)
	if err != nil || b == nil {
		return false, err
	}
	if b.stream > c.clientStream {
		c.clientStream = b.stream
		c.beginCall(b, readRequest(fields), p.now)
	} else if err := c.clientTrailers(b); err != nil {
		return false, err
	}
	if b.frames != nil {
		p.put(b.frames)
		return false, nil
	}
	return true, nil
}

func (c *Conn) beginCall(b *block, r request, now time.Time) {
	k := &call{Call: Call{Method: r.path, Began: now}, id: b.stream, encoding: r.encoding}
	if r.timeout >= 0 {
		k.Deadline = now.Add(r.timeout)
	}
	wanted := !b.endStream && c.watcher.Wants(r.path)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.raw {
		return
	}
	if wanted {
		k.phase = gathering
	}
	k.window = c.account.initial
	c.calls[k.id] = k
	if b.endStream {
		k.came(now)
		c.up.passed(k)
	}
}

// clientTrailers handles a second header block on a stream, which gRPC does not have. It cannot wait for what is
// kept back, since later blocks build on it.
func (c *Conn) clientTrailers(b *block) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[b.stream]
	switch {
	case k == nil:
	case k.hasUnsent() || k.phase == held:
		return errBlockOrder
	case b.endStream:
		k.phase = passing
	}
	return nil
}

// clientData keeps the message of a call that is to be seen until it is whole.
func (c *Conn) clientData(p *pump, f *frame) (bool, error) {
	data, err := f.body()
	if err != nil {
		return false, err
	}
	d := piece{data: data, size: int64(len(f.payload())), end: f.has(flagEndStream)}
	pass, whole := c.takeData(f.stream, &d)
	if whole == nil {
		return pass, nil
	}
	p.asked = true
	return c.askWatcher(whole, &d), nil
}

// piece is the part of a request that is in a frame.
type piece struct {
	data []byte
	size int64 // with padding: windows count that
	end  bool  // the last
	all  bool  // it is all that is kept of a call, as it came

	whole []byte // the message that it made whole, with its prefix
}

// takeData books data, and reports whether it passes. If the data completes a message that is to be shown, takeData
// returns its call.
func (c *Conn) takeData(stream uint32, d *piece) (pass bool, whole *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[stream]
	if k != nil {
		k.came(c.up.now)
	}
	switch {
	case k == nil:
		return c.strayData(stream, d.size), nil
	case !k.keeping() && c.fits(k, d.size):
		c.spend(k, d.size)
		c.up.passed(k)
		return true, nil
	}
	d.all = len(k.kept) == 0 && d.size == int64(len(d.data))
	c.keep(k, d)
	switch {
	case k.phase == gathering:
		if c.gather(k) {
			k.phase = asking
			d.whole = k.kept[:messageLen(k.kept)]
			return false, k
		}
	case !k.keeping():
		c.release(k)
	}
	return false, nil
}

// spend books data that goes on.
func (c *Conn) spend(k *call, size int64) {
	c.account.window -= size
	k.window -= size
}

// strayData handles data of a call that is over. It grants the client again what the runtime has no room for, and
// data of calls that were answered here.
func (c *Conn) strayData(stream uint32, size int64) bool {
	if !c.answered.has(stream) && (size <= c.account.window || c.account.debt == 0) {
		c.account.window -= size
		return true
	}
	c.account.kept += size
	c.grantClient(c.account.drop(size))
	return false
}

// fits reports whether data may go on now. A client that was lent nothing minds the runtime's windows itself.
func (c *Conn) fits(k *call, size int64) bool {
	a := &c.account
	return (a.debt == 0 || (size <= a.window && !a.starved)) && (k.debt == 0 || size <= k.window)
}

// keep keeps data back. Padding is not kept: the client gets its window back.
func (c *Conn) keep(k *call, d *piece) {
	if need := messageLen(k.kept); k.phase == gathering && need <= maxMessage+prefixLen {
		k.kept = grow(k.kept, d.data, max(need, int64(len(d.data))))
	} else {
		k.kept = append(k.kept, d.data...)
	}
	k.keptEnd = d.end
	c.account.kept += d.size
	if padding := d.size - int64(len(d.data)); padding > 0 {
		c.grantClient(c.account.drop(padding))
		c.grantClientStream(k, padding)
	}
}

// gather reports whether the kept message is whole. A message that cannot be looked at goes on.
func (c *Conn) gather(k *call) bool {
	need, got := messageLen(k.kept), int64(len(k.kept))
	switch {
	case need > 0 && got >= need && k.reserved > 0:
		return true
	case k.keptEnd && (need == 0 || got < need), need > maxMessage+prefixLen:
		c.release(k)
		return false
	case need == 0:
		return false
	}
	const overhead = 512 // what else a call takes that is kept back
	if k.reserved == 0 {
		if !c.account.reserve(need + overhead) {
			c.release(k)
			return false
		}
		k.reserved = need + overhead
	}
	if got >= need {
		return true
	}
	// The whole message must fit into the stream's window.
	if lack := need - got - (k.window - got + k.debt); lack > 0 {
		k.debt += lack
		c.grantClientStream(k, lack)
	}
	return false
}

func (c *Conn) grantClientStream(k *call, n int64) {
	c.toClient.side = appendWindow(c.toClient.side, k.id, n)
	c.toClient.poke()
}

// clientReset handles the client giving a call up.
func (c *Conn) clientReset(p *pump, f *frame) (bool, error) {
	code, err := f.number()
	if err != nil {
		return false, err
	}
	return c.reset(f.stream, "client", code, p.now), nil
}

// reset ends a call that one side reset, and reports whether the other side is to know.
func (c *Conn) reset(stream uint32, by string, code uint32, at time.Time) bool {
	answered, report := c.endReset(stream, by, code, at)
	report()
	return !answered
}

func (c *Conn) endReset(stream uint32, by string, code uint32, at time.Time) (answered bool, report func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.calls[stream]; k != nil {
		return false, c.endCall(k, resetStatus(by, code, k.Deadline, at), at)
	}
	return c.answered.has(stream), func() {}
}
