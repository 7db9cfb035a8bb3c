package logstory

import (
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/probes/klog"
)

// survey is what was found out about logs before their story is told.
type survey struct {
	first, last time.Time
	// verbosity is the kubelet's -v, as far as its lines show it.
	verbosity int
	// kubelet and runtime: there are lines of it.
	kubelet, runtime int
	version, node    string
	// names are, by namespace/name, the pods that had the name, in order.
	names map[string][]named
	// fullNames are the names by UID.
	fullNames map[string]string
}

// named is when a pod is first seen under its name.
type named struct {
	uid string
	at  time.Time
}

// maxNames bounds the pods whose names are kept.
const maxNames = 1 << 17

// read looks at all entries of a log.
func (s *survey) read(r interface{ read() (entry, error) }) error {
	for {
		e, err := r.read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		s.add(&e)
	}
}

// add looks at an entry.
func (s *survey) add(e *entry) {
	if s.first.IsZero() || e.at.Before(s.first) {
		s.first = e.at
	}
	if e.at.After(s.last) {
		s.last = e.at
	}
	if e.runtime {
		s.runtime++
		if strings.Contains(e.text, "RunPodSandbox for") {
			s.sandbox(e)
		}
		return
	}
	s.kubelet++
	for _, rule := range theRules().of(e) {
		s.verbosity = max(s.verbosity, rule.V)
		if rule.hasUID && !s.isNamed(e.text) {
			s.learnUID(rule, e)
		}
	}
	s.learn(e)
}

// forget drops what is known of a pod's names.
func (s *survey) forget(uid string) {
	name := s.fullNames[uid]
	delete(s.fullNames, uid)
	s.names[name] = slices.DeleteFunc(s.names[name], func(n named) bool { return n.uid == uid })
	if len(s.names[name]) == 0 {
		delete(s.names, name)
	}
}

// sandbox takes the pod that a line of the runtime names.
func (s *survey) sandbox(e *entry) {
	if c, ok := readCRI(e.text); ok && c.uid != "" {
		s.saw(c.namespace+"/"+c.name, c.uid, e.at)
	}
}

// learn takes the pod that a line of the kubelet names by both its name and its UID, and what the kubelet says of
// itself.
func (s *survey) learn(e *entry) {
	switch {
	case strings.Contains(e.text, "podUID"):
		if s.isNamed(e.text) {
			return
		}
		if k, ok := s.parse(e); ok {
			if name, uid := k.Text("pod"), k.Text("podUID"); strings.Contains(name, "/") && uid != "" {
				s.saw(name, uid, e.at)
			}
		}
	case s.version == "" && strings.Contains(e.text, "kubeletVersion"):
		if k, ok := s.parse(e); ok {
			s.version = k.Text("kubeletVersion")
		}
	case s.node == "" && strings.Contains(e.text, "egister") && strings.Contains(e.text, "node"):
		if k, ok := s.parse(e); ok && (k.Message == "Attempting to register node" || k.Message == "Successfully registered node") {
			s.node = k.Text("node")
		}
	}
}

// isNamed reports whether a line names a pod by its name and by the UID that is known for it. It looks at no more than it
// must: most lines do.
func (s *survey) isNamed(text string) bool {
	_, rest, ok := strings.Cut(text, ` pod="`)
	name, _, end := strings.Cut(rest, `"`)
	known := s.names[name]
	return ok && end && len(known) > 0 && strings.Contains(text, known[len(known)-1].uid)
}

// learnUID takes the pod that a line names in its values, with the UID in its text.
func (s *survey) learnUID(r *rule, e *entry) {
	if k, ok := s.parse(e); ok {
		if f, ok := r.read(&k); ok && strings.Contains(f.pod, "/") && f.uid != "" {
			s.saw(f.pod, f.uid, e.at)
		}
	}
}

func (s *survey) parse(e *entry) (klog.Entry, bool) { return klog.Parse(e.text, e.at) }

func (s *survey) saw(name, uid string, at time.Time) {
	if s.fullNames[uid] != "" || len(s.fullNames) >= maxNames {
		return
	}
	if s.names == nil {
		s.names, s.fullNames = map[string][]named{}, map[string]string{}
	}
	s.names[name] = append(s.names[name], named{uid, at})
	s.fullNames[uid] = name
}

// soon bounds the time from the line that adds a pod by its name to the first line that has its UID, too.
const soon = 10 * time.Second

// uidAt returns the UID of the pod that a line names at a time; empty: no line has it. isNew: the line adds the pod,
// so it may come before those with the UID.
func (s *survey) uidAt(name string, at time.Time, isNew bool) string {
	uid := ""
	for i, n := range s.names[name] {
		switch {
		case isNew && !n.at.Before(at) && n.at.Sub(at) < soon:
			return n.uid
		case i == 0, !n.at.After(at):
			uid = n.uid
		}
	}
	return uid
}
