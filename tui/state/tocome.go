package state

import "encoding/json"

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
func (l *layouter) toCome(c chapter) {
	if l.p == l.s.pods[0] || l.now.removed || l.now.ended && c != termination || c == running {
		return
	}
	w := l.crew()
	if c == termination {
		if w.sandbox && !w.stopped {
			for _, name := range w.names {
				if w.started[name] && !w.ended[name] {
					l.comes(stepStop, name)
				}
			}
			l.comes(stepStopSandbox, "")
		}
		return
	}
	if !w.sandbox {
		l.comes(stepRunSandbox, "")
	}
	for _, name := range w.names {
		if !w.created[name] {
			l.comes(stepCreate, name)
		}
		if !w.started[name] {
			l.comes(stepStarted, name)
		}
	}
}

func (l *layouter) comes(step stepName, of string) {
	id := l.s.steps.byName[string(step)]
	if st := l.s.steps.at(id); st.here == nil || !st.here.GetSeen() || len(l.out) > 0 && l.out[len(l.out)-1].key.a >= maxToCome && l.out[len(l.out)-1].key.kind == keyToCome {
		return
	}
	n := 0
	if len(l.out) > 0 && l.out[len(l.out)-1].key.kind == keyToCome {
		n = l.out[len(l.out)-1].key.a + 1
	}
	l.add(line{key: lineKey{kind: keyToCome, a: n, b: int(id)}, kind: RowExpected, depth: 1, span: none, item: none, step: id, of: of})
}

// crew looks back at what was done for the pod's containers, as far as to the
// last time that its sandbox was made.
func (l *layouter) crew() crew {
	s := l.s
	w := crew{names: l.containers(), created: map[string]bool{}, started: map[string]bool{}, ended: map[string]bool{}}
	s.back(l.p.place, l.at, func(_ int, sp *span) bool {
		name, enter := stepName(s.steps.at(sp.step).name), s.arena.at(sp.enter)
		if failed := sp.failed && sp.over(l.at); failed && s.steps.role(sp.step) != roleReport {
			return false
		}
		who := func() string { return l.p.container(lookup(enter, "containerID").String()) }
		switch name {
		case stepRunSandbox, stepHasSandbox:
			w.sandbox = true
			return true
		case stepStopSandbox:
			w.stopped = true
		case stepCreate:
			w.created[lookup(enter, "container").String()] = true
		case stepStarted:
			w.runs(who())
			w.says(who(), false)
		case stepStop:
			w.says(who(), true)
		case stepContainer:
			w.heard(lookup(enter, "container").String(), lookup(enter, "state").String())
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
	sp := l.s.spans.at(l.p.bound)
	if sp == nil || sp.enter >= l.at {
		return nil
	}
	if json.Unmarshal(lookup(l.s.arena.at(sp.enter), "containers").text, &names) != nil {
		return nil
	}
	return names
}
