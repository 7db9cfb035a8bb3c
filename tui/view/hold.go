package view

import (
	"fmt"

	"github.com/podstep/podstep/probes/words"
)

// hold draws the banner of the held pods. It takes the place of the line under the header, so that nothing moves
// when a hold begins or ends.
func (f *frame) hold() {
	h := f.s.Hold
	if h == nil || f.lay.Hold.empty() {
		return
	}
	line := f.lay.Hold
	f.c.fill(line, inkPlain.on(onHeld))
	f.zone(line, Target{Kind: OnHold})
	x := f.put(line, " "+f.m.held+" "+f.text(wordHELD)+" ", inkHeldChip)
	rest := restFrom(line, x+1)
	rest.W = max(0, rest.W-1)

	f.heldWhere(f.putRight(rest, f.heldLeft(rest.W), inkHeld.on(onHeld), 0), rest.W < nodeRoom)
}

// nodeRoom is the least width at which heldLeft says that the node stands still.
const nodeRoom = 72

// heldLeft says when the pod goes on by itself, what ends the hold, and whether it costs anything, as far as a line
// of w cells has room.
func (f *frame) heldLeft(w int) string {
	h := f.s.Hold
	if w < 16 {
		return words.Clock(h.Left) // on a screen with hardly any room
	}
	if w < 46 || h.Node && w < nodeRoom {
		return f.textf(wordLeft, words.Clock(h.Left))
	}
	left, why := f.textf(wordGoesOn, words.Clock(h.Left)), f.text(wordLease)
	if h.Timer != "" {
		why = f.textf(wordTimer, h.Timer)
	}
	if w > 90 || h.Timer != "" && w > 64 {
		left += f.textf(wordBecause, why)
	}
	switch {
	case h.Node:
		return f.joinAlso(f.text(wordNodeHeld), left)
	case h.Free && w > 90:
		return f.joinAlso(f.text(wordNoTimer), left)
	}
	return left
}

// joinAlso joins two texts that stand on their own.
func (f *frame) joinAlso(a, b string) string { return fmt.Sprintf(f.text(wordAlso), a, b) }

// heldWhere says which pod is held where. If there is little room, the step comes first, because the list has the
// pod as well. If the pod is not the selected one, the banner says so, because the keys act on the selected one. It
// says that the node stands still only if nothing else says so.
func (f *frame) heldWhere(line Rect, node bool) {
	h := f.s.Hold
	ground := onHeld
	others, room := "", width(h.Step)+9
	if h.Count == 2 {
		others = f.text(wordOneOther)
	} else if h.Count > 2 {
		others = f.textf(wordOthers, h.Count-1)
	}
	if others != "" {
		room += width(others) + 2
	}
	if !h.Selected {
		if not := f.text(wordNotSelected); line.W-width(not)-room > 12 {
			line = restFrom(line, f.put(line, not, inkHeldText.on(ground))+1)
		}
	}
	where := f.heldSide()
	if others != "" && line.W-room < min(width(h.Pod), 24) {
		where, room = "", width(others)+2
	}
	x := f.put(line, fitMiddle(h.Pod, max(12, line.W-room), f.m.ellipsis), inkStrong.on(ground))
	x = f.put(restFrom(line, x+1), where, inkHeldText.on(ground))
	if others != "" {
		x = f.put(restFrom(line, x+min(1, width(where))), others, inkHeldText.on(ground))
	}
	if h.Node && node {
		f.put(restFrom(line, x+2), f.text(wordNodeHeld), inkHeld.on(ground))
	}
}

// inside is the value of On for a pod that is held at a line inside of the step.
const inside = "inside"

// heldSide returns the step with the side of it at which the pod is held.
func (f *frame) heldSide() string {
	switch f.s.Hold.On {
	case "exit":
		return f.textf(wordAfter, f.s.Hold.Step)
	case inside:
		return f.textf(wordInside, f.s.Hold.Step)
	}
	return f.textf(wordBefore, f.s.Hold.Step)
}
