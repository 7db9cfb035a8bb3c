package state

import (
	"encoding/json"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/outline"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/screen"
)

// crew is how far the containers of a pod are, as its calls and reports tell.
type crew struct {
	names            []string // in the order in which they are started
	sandbox, stopped bool
	created, started map[string]bool
	ended            map[string]bool // by what was told last; true: it has, or is being stopped
}

// maxToCome bounds the rows of what is to come.
const maxToCome = 40

// toCome lays out the calls that come next in a chapter, if nothing goes wrong:
// without turns to go by, what is still missing.
func (l *layouter) toCome(c outline.Chapter) {
	if l.p == l.s.of(0) || l.now.Removed || l.now.Ended && c != outline.Termination || c == outline.Running {
		return
	}
	w := l.crew()
	if c == outline.Termination {
		if w.sandbox && !w.stopped {
			for _, name := range w.names {
				if w.started[name] && !w.ended[name] {
					l.comes(probes.RoleStop, name)
				}
			}
			l.comes(probes.RoleStopSandbox, "")
		}
		return
	}
	if !w.sandbox {
		l.comes(probes.RoleSandbox, "")
	}
	for _, name := range w.names {
		if !w.created[name] {
			l.comes(probes.RoleCreate, name)
		}
		if !w.started[name] {
			l.comes(probes.RoleStart, name)
		}
	}
}

func (l *layouter) comes(r probes.Role, of string) {
	id := l.s.h.StepFor(r)
	if st := l.s.h.Step(id); st.Here == nil || !st.Here.GetSeen() || len(l.out) > 0 && l.out[len(l.out)-1].key.a >= maxToCome && l.out[len(l.out)-1].key.kind == keyToCome {
		return
	}
	n := 0
	if len(l.out) > 0 && l.out[len(l.out)-1].key.kind == keyToCome {
		n = l.out[len(l.out)-1].key.a + 1
	}
	l.add(line{key: lineKey{kind: keyToCome, a: n, b: int(id)}, kind: screen.RowExpected, depth: 1, span: none, item: none, step: id, of: of})
}

// crew looks back at what was done for the pod's containers, as far as to the
// last time that its sandbox was made.
func (l *layouter) crew() crew {
	s := l.s
	w := crew{names: l.containers(), created: map[string]bool{}, started: map[string]bool{}, ended: map[string]bool{}}
	s.h.Back(l.p.Place, l.at, func(_ int, sp *history.Span) bool {
		enter := s.h.Raw(sp.Enter)
		if failed := sp.Failed && sp.Over(l.at); failed && !s.h.Reported(sp.Step) {
			return false
		}
		who := func() string { return l.p.Container(wire.Lookup(enter, "containerID").String()) }
		switch s.h.Role(sp.Step) {
		case probes.RoleSandbox, probes.RoleSandboxState:
			w.sandbox = true
			return true
		case probes.RoleStopSandbox:
			w.stopped = true
		case probes.RoleCreate:
			w.created[wire.Lookup(enter, "container").String()] = true
		case probes.RoleStart:
			w.runs(who())
			w.says(who(), false)
		case probes.RoleStop:
			w.says(who(), true)
		case probes.RoleContainerState:
			w.heard(wire.Lookup(enter, "container").String(), wire.Lookup(enter, "state").String())
		}
		return false
	})
	return w
}

// heard takes what is reported of a container that is not known from its calls:
// they may have been made before the probe came.
func (w *crew) heard(name, is string) {
	if is != "running" && is != "terminated" {
		return
	}
	w.sandbox = true
	w.runs(name)
	w.says(name, is == "terminated")
}

// runs notes that a container was started at some time.
func (w *crew) runs(name string) { w.created[name], w.started[name] = true, true }

// says notes whether a container has ended. It is told of going back in time, so
// what is said first holds.
func (w *crew) says(name string, ended bool) {
	if _, told := w.ended[name]; !told {
		w.ended[name] = ended
	}
}

// containers are the names of the pod's containers as its object has them.
func (l *layouter) containers() (names []string) {
	sp := l.s.h.Span(l.p.Bound)
	if sp == nil || sp.Enter >= l.at {
		return nil
	}
	if json.Unmarshal(wire.Lookup(l.s.h.Raw(sp.Enter), "containers").Text, &names) != nil {
		return nil
	}
	return names
}
