package agent

// reported notes what is told of a pod that no worker is seen of: whether it is
// there, and whether a container of it cannot run.
func (p *pod) reported(s *span, err string, now int64) {
	w := &p.where
	switch s.step.Name {
	case stepBound:
		w.here(true)
	case stepKnown:
		w.here(s.flag("known"))
	case stepHasSandbox:
		// One that has stopped, of a pod that nobody else has told of, is what is
		// left until garbage collection comes by.
		if !w.wanted.Load() && !s.flag("ready") {
			w.here(false)
		}
	case stepContainer:
		if err != "" {
			w.failed.Store(s.step)
			w.err.Store(&err)
			w.since.Store(now)
		} else if w.failed.CompareAndSwap(s.step, nil) {
			w.err.Store(nil)
		}
	}
}

// here notes whether a pod is on the node at all.
func (w *podWhere) here(is bool) {
	if is {
		w.wanted.Store(true)
	}
	w.removed.Store(!is)
	w.finished.Store(!is)
}

// flag is a field that is true or false; false if it is not there.
func (s *span) flag(name string) bool {
	for _, f := range s.fields {
		if f.name == name {
			return f.num != 0
		}
	}
	return false
}
