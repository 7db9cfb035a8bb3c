package view

// hold draws the banner of what is held. It takes the place of the line under
// the header, so that nothing moves when a hold begins or ends.
func (f *frame) hold() {
	h := f.s.Hold
	if h == nil || f.lay.Hold.empty() {
		return
	}
	line := f.lay.Hold
	f.c.fill(line, inkPlain.on(onHeld))
	f.zone(line, Target{Kind: OnHold})
	x := f.put(line, " "+f.m.held+" "+f.say(wordHELD)+" ", inkHeldChip)
	rest := after(line, x+1)
	rest.W = max(0, rest.W-1)

	left := f.sayf(wordGoesOn, clock(h.Left))
	if rest.W < 46 || h.Node && rest.W < 72 {
		left = clock(h.Left)
	}
	rest = f.putRight(rest, left, inkHeld.on(onHeld), 0)
	if rest.W > 64 {
		rest = f.putRight(rest, f.heldTimer(), inkHeldText.on(onHeld), 40)
	}
	f.heldWhere(rest)
}

// heldTimer names what the hold takes time from.
func (f *frame) heldTimer() string {
	h := f.s.Hold
	switch {
	case h.Node:
		return f.say(wordNodeHeld)
	case h.Timer == "":
		return f.say(wordNoTimer)
	}
	return f.sayf(wordTimer, h.Timer)
}

// heldWhere says which pod is held where: the step first if there is little
// room, for the pod is in the list as well.
func (f *frame) heldWhere(line Rect) {
	h := f.s.Hold
	ground := onHeld
	x := f.put(line, fitMiddle(h.Pod, max(10, line.W-width(h.Step)-9), f.m.ellipsis), inkStrong.on(ground))
	rest := after(line, x+1)
	side := wordBefore
	if h.On == "exit" {
		side = wordAfter
	}
	x = f.put(rest, f.sayf(side, h.Step), inkHeldText.on(ground))
	if h.Count > 1 {
		f.put(after(line, x+2), f.sayf(wordMorePods, h.Count-1), inkHeldText.on(ground))
	}
	if h.Node && line.W <= 64 {
		f.put(after(line, x+2), f.say(wordNodeHeld), inkHeld.on(ground))
	}
}
