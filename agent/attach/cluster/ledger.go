package cluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podstep/podstep/probes"
)

// maxPods bounds how many pods are followed. A node has a few hundred.
const maxPods = 20_000

// ledger remembers what all sources have reported of each pod, so that nothing is reported twice.
type ledger struct {
	sink func(Report)
	note func(string, error)
	now  func() time.Time

	mu      sync.Mutex
	pods    map[types.UID]*entry
	mirrors map[types.UID]types.UID // the pod that an object of the API server mirrors
	early   []happening             // events of pods that are not known yet
	apiUp   bool                    // the API server reports what changes
	full    bool                    // it was noted that there are too many pods

	news chan struct{} // the kubelet may have something new

	waiting int      // sources that have not reported the past yet
	begun   bool     // the past was reported
	past    []Report // reports that wait until the whole past is known
}

// entry is one pod.
type entry struct {
	api      *v1.Pod // as the API server has it; nil: it does not
	left     bool    // the API server had it once
	kubelet  bool    // the kubelet has it
	reported *v1.Pod // the object whose status was reported last
	by       source  // where that object came from
	events   map[types.UID]int32
}

func newLedger(o Options) *ledger {
	return &ledger{
		sink: o.Report, note: o.Note, now: time.Now, pods: map[types.UID]*entry{}, mirrors: map[types.UID]types.UID{},
		news: make(chan struct{}, 1),
	}
}

// await holds reports back until that many sources have reported the past, or until givePast is called, so that the past
// is reported in the order in which it happened.
func (l *ledger) await(sources int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting = sources; sources == 0 {
		l.begun = true
	}
}

// ready is called by each source once it has reported the past, or cannot report it.
func (l *ledger) ready() {
	l.mu.Lock()
	l.waiting--
	last := l.waiting == 0
	l.mu.Unlock()
	if last {
		l.givePast()
	}
}

// givePast gives the reports of the past, in the order of their times.
func (l *ledger) givePast() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.begun {
		return
	}
	l.begun = true
	slices.SortStableFunc(l.past, func(a, b Report) int { return a.At.Compare(b.At) })
	for _, s := range l.past {
		l.sink(s)
	}
	l.past = nil
}

// emit gives the reports of a source, or keeps them for givePast. The
// caller holds mu.
func (l *ledger) emit(by probes.Witness, all ...Report) {
	for _, s := range all {
		s.By = by
		if l.begun {
			l.sink(s)
		} else {
			l.past = append(l.past, s)
		}
	}
}

// uid returns the uid under which a pod is known. The API server has mirrors of static pods, with uids of their own;
// the runtime and the kubelet use the original's uid.
func uid(p *v1.Pod) types.UID {
	if original := p.Annotations[v1.MirrorPodAnnotationKey]; original != "" {
		return types.UID(original)
	}
	return p.UID
}

// entry returns the entry of a pod, a new one for a new pod, or nil if there are too many. The caller holds mu.
func (l *ledger) entry(id types.UID) *entry {
	if e := l.pods[id]; e != nil {
		return e
	}
	if len(l.pods) >= maxPods {
		if !l.full {
			l.full = true
			l.note("pods beyond the first "+fmt.Sprint(maxPods)+" of this node are not followed", nil)
		}
		return nil
	}
	e := &entry{}
	l.pods[id] = e
	return e
}

// connected sets whether the API server reports what changes. While it does not, the kubelet's list counts.
func (l *ledger) connected(up bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.apiUp = up
}

// object reports what is new in a pod's object at the API server.
func (l *ledger) object(p *v1.Pod, from source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := uid(p)
	e := l.entry(id)
	if e == nil || e.api != nil && e.api.ResourceVersion == p.ResourceVersion && e.api.UID == p.UID {
		return
	}
	if id != p.UID {
		l.mirrors[p.UID] = id
	}
	h := observation{p, from, l.now()}
	wanted := h.wanted(e.api)
	l.emit(probes.ByAPI, wanted...)
	if len(wanted) > 0 {
		l.wake()
	}
	e.api, e.left = p, false
	// After an absence the API server may still have an older status than the kubelet has reported meanwhile. Newer
	// ones come by the watch.
	if from == live || e.by != fromKubelet {
		l.report(probes.ByAPI, e, &h)
	}
	l.late(id, e)
}

// report emits what is new in the status. The caller holds mu.
func (l *ledger) report(by probes.Witness, e *entry, h *observation) {
	l.emit(by, h.reported(e.reported)...)
	e.reported, e.by = h.pod, h.from
}

// gone reports that a pod is gone from the API server. p is its last state, or nil if the API server gave none.
func (l *ledger) gone(object types.UID, p *v1.Pod, from source) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := object
	if original, ok := l.mirrors[object]; ok {
		id = original
		delete(l.mirrors, object)
	}
	e := l.pods[id]
	if e == nil || e.api == nil || e.api.UID != object {
		return
	}
	if p == nil {
		p = e.api
	}
	h := observation{p, from, l.now()}
	if from == live {
		l.emit(probes.ByAPI, h.wanted(e.api)...)
		l.report(probes.ByAPI, e, &h)
	}
	l.emit(probes.ByAPI, h.gone())
	e.api, e.left = nil, true
	l.wake()
	l.forgetIfGone(id, e)
}

// keepOnly is called with the uids of all pods that the API server has, after these were reported one by one. It
// reports the others as gone.
func (l *ledger) keepOnly(has map[types.UID]bool) {
	l.mu.Lock()
	var missing []types.UID
	for _, e := range l.pods {
		if e.api != nil && !has[e.api.UID] {
			missing = append(missing, e.api.UID)
		}
	}
	l.mu.Unlock()
	for _, id := range missing {
		l.gone(id, nil, fromObject)
	}
}

// wake makes the poll ask the kubelet soon: the API server tells the kubelet the same.
func (l *ledger) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// forgetIfGone forgets a pod that neither the API server nor the kubelet has. The caller holds mu.
func (l *ledger) forgetIfGone(id types.UID, e *entry) {
	if e.api == nil && !e.kubelet {
		delete(l.pods, id)
	}
}

// list takes in the kubelet's list of its pods, and returns whether anything was new.
func (l *ledger) list(pods []*v1.Pod, first bool) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	has := make(map[types.UID]bool, len(pods))
	for _, p := range pods {
		id := uid(p)
		has[id] = true
		e := l.entry(id)
		if e == nil {
			continue
		}
		if !e.kubelet {
			e.kubelet, news = true, true
			from := live
			if first {
				from = fromObject
			}
			h := observation{p, from, now}
			l.emit(probes.ByKubelet, h.known())
		}
		if e.reported != p && (!l.apiUp || e.api == nil && !e.left) {
			from := fromKubelet
			if e.reported == nil && first {
				from = fromObject
			}
			h := observation{p, from, now}
			l.report(probes.ByKubelet, e, &h)
			e.by = fromKubelet
			l.late(id, e)
		}
	}
	return l.kubeletLacks(has, now) || news
}

// kubeletLacks reports the pods that are gone from the kubelet's list. The caller holds mu.
func (l *ledger) kubeletLacks(has map[types.UID]bool, now time.Time) (news bool) {
	for id, e := range l.pods {
		if !e.kubelet || has[id] {
			continue
		}
		e.kubelet, news = false, true
		p := e.reported
		if p == nil {
			p = e.api
		}
		if p != nil {
			h := observation{p, live, now}
			l.emit(probes.ByKubelet, h.report(stepKubelet, now, false, nil))
		}
		l.forgetIfGone(id, e)
	}
	return news
}

// known reports a pod that is new in the kubelet's list.
func (h *observation) known() Report {
	// An annotation that cannot be read gives the zero time.
	seen, _ := time.Parse(time.RFC3339Nano, h.pod.Annotations[probes.AnnotationSeen])
	return h.reportDated(stepKubelet, seen, true, some(h.pod.Annotations[probes.AnnotationSource]))
}
