package pods

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxPods bounds the pods that the agent remembers, and maxIDs the containers
// and sandboxes. Beyond that, pods that are gone are forgotten.
const (
	maxPods = 10_000
	maxIDs  = 50_000
)

// Table finds pods by uid, and by the ids that the runtime gave to their
// sandboxes and containers.
type Table[S any] struct {
	// Added and Forgotten are called with each pod that the table adds and forgets, under mu. Each may be nil.
	Added, Forgotten func(*Entry[S])

	recent recentPods[S]

	mu    sync.RWMutex
	byUID map[string]*Entry[S]
	byID  map[string]*Entry[S] // CRI ids
	shown map[types.UID]shown[S]
	// mirrors has the static pods by the uids of their mirrors.
	mirrors map[types.UID]*Entry[S]
	most    int // the most entries that the maps had since they were made
	last    uint32
}

// shown is what a source last showed of an object. It is kept by the object's own uid.
type shown[S any] struct {
	version string
	pod     *Entry[S]
}

// Init makes the table ready.
func (t *Table[S]) Init() {
	t.byUID = map[string]*Entry[S]{}
	t.byID = map[string]*Entry[S]{}
	t.shown = map[types.UID]shown[S]{}
	t.mirrors = map[types.UID]*Entry[S]{}
}

// UID returns the pod with that uid, and adds it if it is new. It returns nil for an empty uid.
func (t *Table[S]) UID(uid string) *Entry[S] {
	if uid == "" {
		return nil
	}
	p := t.recent.find(uid)
	if p != nil {
		return p
	}
	t.mu.RLock()
	if p = t.byUID[uid]; p != nil {
		t.recent.add(p)
	}
	t.mu.RUnlock()
	if p != nil {
		return p
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.byUID[uid]; p != nil {
		return p
	}
	if len(t.byUID) >= maxPods {
		t.forget((*Entry[S]).Gone)
	}
	t.last++
	p = &Entry[S]{Pod: Pod{ID: t.last, UID: uid}}
	if t.Added != nil {
		t.Added(p)
	}
	t.byUID[uid] = p
	return p
}

// forget drops pods. The caller holds mu.
func (t *Table[S]) forget(which func(*Entry[S]) bool) {
	t.recent.clear()
	t.most = max(t.most, len(t.byUID)+len(t.byID)+len(t.shown))
	for uid, p := range t.byUID {
		if which(p) {
			delete(t.byUID, uid)
			if t.Forgotten != nil {
				t.Forgotten(p)
			}
		}
	}
	for id, p := range t.byID {
		if t.byUID[p.UID] != p {
			delete(t.byID, id)
		}
	}
	for uid, s := range t.shown {
		if t.byUID[s.pod.UID] != s.pod {
			delete(t.shown, uid)
		}
	}
	for uid, p := range t.mirrors {
		if t.byUID[p.UID] != p {
			delete(t.mirrors, uid)
		}
	}
	t.shrink()
}

// noteMirror notes that the object with this uid is the mirror of p.
func (t *Table[S]) noteMirror(uid types.UID, p *Entry[S]) {
	if t.mirrorOf(uid) == p {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.mirrors) < maxPods {
		t.mirrors[uid] = p
	}
}

// mirrorOf returns the static pod whose mirror has the uid, or nil.
func (t *Table[S]) mirrorOf(uid types.UID) *Entry[S] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.mirrors[uid]
}

// shrink makes the maps anew if they had four times as many entries once: a map gives no memory back by itself. The
// caller holds mu.
func (t *Table[S]) shrink() {
	n := len(t.byUID) + len(t.byID) + len(t.shown)
	if 4*n+256 > t.most {
		return
	}
	t.most = n
	t.byUID, t.byID, t.shown = remade(t.byUID), remade(t.byID), remade(t.shown)
}

func remade[K comparable, V any](m map[K]V) map[K]V {
	out := make(map[K]V, len(m))
	maps.Copy(out, m)
	return out
}

// CRI returns the pod of a sandbox or container, or nil.
func (t *Table[S]) CRI(id string) *Entry[S] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byID[id]
}

// Learn notes that the sandbox or container with this id is of p.
func (t *Table[S]) Learn(id string, p *Entry[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.byID) >= maxIDs {
		t.forget((*Entry[S]).Gone)
	}
	if len(t.byID) >= maxIDs {
		clear(t.byID) // too many are of living pods; each is learned again when it is asked for
	}
	t.byID[id] = p
}

// All returns the pods that are known.
func (t *Table[S]) All() []*Entry[S] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	out := make([]*Entry[S], 0, len(t.byUID))
	for _, p := range t.byUID {
		out = append(out, p)
	}
	return out
}

// Known returns the pod with that uid, or nil.
func (t *Table[S]) Known(uid string) *Entry[S] {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.byUID[uid]
}

// forgetAfter is how long a gone pod is remembered by its uid and its containers' ids, with its verdict. The kubelet
// collects the remains of a pod once a minute. The pod's story stays in the recorder.
const forgetAfter = 5 * time.Minute

// ForgetOld drops pods that have long been gone. now is in nanoseconds since 1970. It reports whether other pods are
// gone that are to be dropped later.
func (t *Table[S]) ForgetOld(now int64) (more bool) {
	old := func(p *Entry[S]) bool { return p.Gone() && now-p.goneSince.Load() > int64(forgetAfter) }
	gone, n := 0, 0
	t.mu.RLock()
	for _, p := range t.byUID {
		if p.Gone() {
			gone++
		}
		if old(p) {
			n++
		}
	}
	t.mu.RUnlock()
	if n > 0 { // callers that look up a pod wait meanwhile
		t.mu.Lock()
		defer t.mu.Unlock()
		t.forget(old)
	}
	return gone > n
}
