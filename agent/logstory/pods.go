package logstory

import (
	"strings"
	"time"

	"github.com/podstep/podstep/probes"
)

// pod is a pod of which lines tell.
type pod struct {
	id              uint32 // in the stream of events
	namespace, name string
	uid             string
	turns           uint32
	seen            time.Time // of the last entry about it
	open            []*Call   // the calls that go on, the outermost first
	reported        map[string]string
	// containers are the names of its containers by id, attempts and exits by name: what the runtime's log shows of
	// them.
	containers map[string]string
	attempts   map[string]int
	exits      map[string]*terminated
}

func (p *pod) ref() probes.PodRef {
	return probes.PodRef{Namespace: p.namespace, Name: p.name, UID: p.uid}
}

// pods finds the pods that lines are about.
type pods struct {
	survey *survey
	byUID  map[string]*pod
	byCRI  map[string]*pod // by the id of a sandbox or container
	fresh  []*pod          // those that were not sent yet
	last   uint32
	others Known
}

// Known is what others know of pods, which logs may not show.
type Known interface {
	// Owner returns the pod of a sandbox or container; without a UID: it is not known.
	Owner(id string) probes.PodRef
	// UID returns the UID of the pod that has a name, NAMESPACE/NAME; empty: it is not known.
	UID(name string) (uid string)
}

// nothing is known by nobody.
type nothing struct{}

func (nothing) Owner(string) (none probes.PodRef) { return none }
func (nothing) UID(string) string                 { return "" }

// maxIDs bounds the ids of sandboxes and containers that are kept.
const maxIDs = 1 << 17

func newPods(s *survey) *pods {
	return &pods{survey: s, byUID: map[string]*pod{}, byCRI: map[string]*pod{}, others: nothing{}}
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
	if f.pod == "" && list != "" {
		names = namesIn(list)
	}
	for _, name := range names {
		if q := p.named(name, at, isNew); q != nil {
			out = append(out, q)
		}
	}
	return out
}

// named returns the pod that has a name, NAMESPACE/NAME, at a time; nil: no line has its UID. isNew: it is new.
func (p *pods) named(name string, at time.Time, isNew bool) *pod {
	uid := p.survey.uidAt(name, at, isNew)
	if uid == "" {
		uid = p.others.UID(name)
	}
	return p.get(uid, name)
}

// ofID returns the pod of a sandbox or container; nil: it is not known.
func (p *pods) ofID(id string) *pod {
	if q := p.byCRI[id]; q != nil || id == "" {
		return q
	}
	owner := p.others.Owner(id)
	return p.get(owner.UID, owner.Namespace+"/"+owner.Name)
}

// forget drops the pods that no entry was about since a time, and of which no call goes on.
func (p *pods) forget(since time.Time) {
	for uid, q := range p.byUID {
		if q.seen.Before(since) && len(q.open) == 0 {
			delete(p.byUID, uid)
			p.survey.forget(uid)
		}
	}
	for id, q := range p.byCRI {
		if p.byUID[q.uid] != q {
			delete(p.byCRI, id)
		}
	}
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
