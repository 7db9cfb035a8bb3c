package dap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
)

// dataFields are what a data breakpoint may be about, as the scope of the pod names them.
var dataFields = []string{"phase", "state", "ready", "deleting", "error"}

// dataOf returns a field of a pod before a position; "" if nothing is known.
func (st *story) dataOf(place, at int, field string) string {
	w := st.world(at)
	if place >= len(w.Pods) {
		return ""
	}
	p := w.Pod(place)
	switch field {
	case "phase":
		return p.Phase.String()
	case "state":
		state, _ := st.lives.StateAt(w, place, w.Time)
		return state.Text().En
	case "ready":
		return strconv.FormatBool(p.Ready)
	case "deleting":
		return strconv.FormatBool(p.Deleting)
	case "error":
		return words.Clean(st.lives.ErrorOf(p))
	}
	return ""
}

// dataBreakpointInfo answers whether a variable can have a data breakpoint.
func (s *session) dataBreakpointInfo(r *dap.DataBreakpointInfoRequest) {
	name := r.Arguments.Name
	body := dap.DataBreakpointInfoResponseBody{Description: fmt.Sprintf("podstep follows no changes of this; it does those of %s, in the scope Pod", strings.Join(dataFields, ", "))}
	if of, ok := s.refs.all[r.Arguments.VariablesReference]; ok && of.pod && slices.Contains(dataFields, name) {
		body = dap.DataBreakpointInfoResponseBody{
			DataId: fmt.Sprintf("%d %s", of.place, name), Description: name + " of " + s.target.story().name(of.place), AccessTypes: []dap.DataBreakpointAccessType{"write"},
		}
	}
	s.out.put(&dap.DataBreakpointInfoResponse{Response: done(r), Body: body})
}

// setDataBreakpoints sets breakpoints at changes of what the kubelet knows of a pod.
func (s *session) setDataBreakpoints(r *dap.SetDataBreakpointsRequest) {
	var wanted []*point
	for _, b := range r.Arguments.Breakpoints {
		p := &point{key: b.DataId, reason: "data breakpoint"}
		s.read(p, "", "")
		place, field, _ := strings.Cut(b.DataId, " ")
		n, err := strconv.Atoi(place)
		switch {
		case err != nil || s.known(n) != nil || !slices.Contains(dataFields, field):
			p.fail(fmt.Errorf("%q names nothing whose changes podstep follows", b.DataId))
		case b.Condition != "" || b.HitCondition != "":
			p.fail(fmt.Errorf("a data breakpoint takes no condition here: it acts at each change"))
		default:
			p.data = &dataPoint{place: n, field: field}
		}
		wanted = append(wanted, p)
	}
	s.out.put(&dap.SetDataBreakpointsResponse{Response: done(r), Body: dap.SetDataBreakpointsResponseBody{Breakpoints: s.set("data", wanted)}})
}

// dataPoint is a data breakpoint: a field of a pod. Where the pod lives, last is its last value; in a recording, changes
// are the positions of the events that change it.
type dataPoint struct {
	place   int
	field   string
	last    string
	changes []int
}

// armData begins to follow a field. A hold is decided before the kubelet changes anything, so no pod is held.
func (l *live) armData(p *point) {
	p.data.last = l.st.dataOf(p.data.place, l.st.h.End(), p.data.field)
	p.verified, p.message = true, "prints each change, and holds no pod: where a pod may be held, the kubelet has not made the change yet"
}

// changed prints what has changed of a pod, by the events until now.
func (l *live) changed(r *history.Record) {
	for _, p := range l.ps.groups["data"] {
		if p.data == nil || p.data.place != r.Pod {
			continue
		}
		now := l.st.dataOf(r.Pod, r.Pos+1, p.data.field)
		if now == p.data.last {
			continue
		}
		l.s.output(console, "%s: %s is %q now, and was %q; %s", l.st.name(r.Pod), p.data.field, now, p.data.last, words.Clean(l.st.h.Step(r.Step).Name))
		p.data.last = now
	}
}

// changedAt returns the data breakpoint of a pod that an event of a recording changes; nil: there is none.
func (p *replay) changedAt(place, pos int) *point {
	for _, d := range p.ps.groups["data"] {
		if d.data == nil || d.data.place != place {
			continue
		}
		if _, changes := slices.BinarySearch(d.data.changes, pos); changes {
			return d
		}
	}
	return nil
}

// armData finds the events of a recording that change a field. It goes through the pod's story once, forwards, which is
// the way in which the states of a pod are found fast.
func (p *replay) armData(d *dataPoint) {
	last := ""
	for i, pos := range p.events(d.place) {
		now := p.st.dataOf(d.place, pos+1, d.field)
		if i > 0 && now != last {
			d.changes = append(d.changes, pos)
		}
		last = now
	}
}
