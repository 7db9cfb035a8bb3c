package alert

import (
	"slices"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes"
)

// hit takes that a part matches a pod. The first part begins a sequence; another one takes those that wait for it
// further, or ends them.
func (m *Matcher) hit(p *pod, part int, at int64, seen Part) {
	if part == 0 {
		m.reach(p, 1, at, []Part{seen})
		return
	}
	waiting := slices.Clone(p.waiting[part])
	for _, d := range waiting {
		m.unwait(p, d)
	}
	want := &m.alert.parts[part]
	if want.absent || len(waiting) == 0 {
		return
	}
	d := waiting[len(waiting)-1]
	if want.within == 0 || at <= d.at {
		m.reach(p, part+1, at, append(slices.Clip(d.head), seen))
	}
}

// reach takes a sequence to a part, for which it then waits; after the last part it has matched.
func (m *Matcher) reach(p *pod, part int, at int64, head []Part) {
	if part == len(m.alert.parts) {
		m.report(p, head)
		return
	}
	want := &m.alert.parts[part]
	if want.kind == ofState {
		// It matches if the pod is in the state already.
		if seen, _, matches := m.inState(p, part, at); matches {
			if !want.absent {
				m.reach(p, part+1, at, append(slices.Clip(head), seen))
			}
			return
		}
	}
	if !want.absent {
		// A later sequence takes the place of the one that waits: whatever the earlier one would still match, it does.
		for _, d := range slices.Clone(p.waiting[part]) {
			m.unwait(p, d)
		}
	}
	if !m.room(p) {
		return
	}
	d := &due{at: at + int64(want.within), part: part, place: p.place, span: history.None, head: head}
	p.waiting[part] = append(p.waiting[part], d)
	if want.absent {
		m.addDue(p, d)
		return
	}
	p.count++
	m.count++
}

// room reports whether one more call or sequence of a pod can be followed, and counts those that cannot.
func (m *Matcher) room(p *pod) bool {
	if p.count < mostOfPod && m.count < mostOfAll {
		return true
	}
	m.dropped++
	return false
}

func (m *Matcher) addDue(p *pod, d *due) {
	p.count++
	m.count++
	m.dues.add(d)
}

// drop gives up what was followed.
func (m *Matcher) drop(p *pod, d *due) {
	d.over = true
	p.count--
	m.count--
	m.dues.sweep(m.count)
}

// unwait ends the wait of a sequence.
func (m *Matcher) unwait(p *pod, d *due) {
	p.waiting[d.part] = slices.DeleteFunc(p.waiting[d.part], func(o *due) bool { return o == d })
	m.drop(p, d)
}

// report reports a match.
func (m *Matcher) report(p *pod, parts []Part) {
	if m.silent {
		return
	}
	out := &Match{Alert: m.alert.text, Parts: parts, Time: parts[len(parts)-1].Time}
	if p.place != 0 {
		about := m.h.Pod(p.place).Entity
		out.Pod = &probes.Pod{Namespace: about.Namespace, Name: about.Name, UID: about.UID}
	}
	m.o.Match(out)
}
