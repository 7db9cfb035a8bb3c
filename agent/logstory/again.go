package logstory

import "time"

// again finds entries that were there already, in another log: files overlap, and a journal may have what files have,
// too. The text of an entry has its time. Entries of one log may be a little out of order.
type again struct {
	// now are the latest entries by their texts, with the log in which each was first, and before those that came
	// before them.
	now, before map[string]*pending
	since       time.Time // the first of now
}

// window is how long an entry is remembered at least.
const window = 2 * time.Second

// isKnown reports whether the next entry of a log was in another log already.
func (a *again) isKnown(p *pending) bool {
	if at := p.next.at; a.now == nil || at.Sub(a.since) > window {
		a.before, a.now, a.since = a.now, map[string]*pending{}, at
	}
	first := a.now[p.next.text]
	if first == nil {
		first = a.before[p.next.text]
	}
	if first == nil {
		a.now[p.next.text] = p
	}
	return first != nil && first != p
}
