package logstory

import (
	"encoding/json"
	"strings"
	"time"
)

// pod is a pod of which lines tell.
type pod struct {
	id              uint32 // in the stream of events
	namespace, name string
	uid             string
	turns           uint32
	open            []*call // the calls that go on, the outermost first
	reported        map[string]string
	// containers are the names of its containers by id, attempts and exits by name: what the runtime's log shows of
	// them.
	containers map[string]string
	attempts   map[string]int
	exits      map[string]*terminated
}

// pods finds the pods that lines are about.
type pods struct {
	survey *survey
	byUID  map[string]*pod
	byCRI  map[string]*pod // by the id of a sandbox or container
	fresh  []*pod          // those that were not sent yet
	last   uint32
}

// maxIDs bounds the ids of sandboxes and containers that are kept.
const maxIDs = 1 << 17

func newPods(s *survey) *pods {
	return &pods{survey: s, byUID: map[string]*pod{}, byCRI: map[string]*pod{}}
}

// get returns the pod of a UID. Its name is learned as soon as a line has it.
func (p *pods) get(uid, namespacedName string) *pod {
	namespace, name, ok := strings.Cut(namespacedName, "/")
	if uid == "" {
		return nil
	}
	if known := p.byUID[uid]; known != nil {
		return known
	}
	if !ok { // the name is not known yet
		if namespace, name = p.nameOf(uid); name == "" {
			return nil
		}
	}
	p.last++
	q := &pod{id: p.last, namespace: namespace, name: name, uid: uid}
	p.byUID[uid] = q
	p.fresh = append(p.fresh, q)
	return q
}

// nameOf returns the name under which a UID is seen anywhere in the logs.
func (p *pods) nameOf(uid string) (namespace, name string) {
	full := p.survey.fullNames[uid]
	namespace, name, _ = strings.Cut(full, "/")
	return namespace, name
}

// of returns the pods that a line is about.
func (p *pods) of(f *found, list string, at time.Time, isNew bool) (out []*pod) {
	if f.uid != "" {
		if q := p.get(f.uid, f.pod); q != nil {
			return []*pod{q}
		}
		return nil
	}
	names := []string{f.pod}
	if f.pod == "" && list != "" && json.Unmarshal([]byte(list), &names) != nil {
		return nil
	}
	for _, name := range names {
		if uid := p.survey.uidAt(name, at, isNew); uid != "" {
			if q := p.get(uid, name); q != nil {
				out = append(out, q)
			}
		}
	}
	return out
}

// learn notes whose a sandbox or container is.
func (p *pods) learn(id string, of *pod) {
	if id != "" && of != nil && len(p.byCRI) < maxIDs {
		p.byCRI[bareID(id)] = of
	}
}

// bareID returns an id without the runtime's name that the kubelet puts before it.
func bareID(id string) string {
	if _, bare, ok := strings.Cut(id, "://"); ok {
		return bare
	}
	return id
}
