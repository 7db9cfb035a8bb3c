package pods

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podstep/podstep/probes"
)

// FromValue returns the pod that a value of woven code is about, or nil.
func (t *Table[S]) FromValue(v any) *Entry[S] {
	switch v := v.(type) {
	case *v1.Pod:
		return t.Object(v)
	case probes.PodRef:
		return t.Ref(v)
	case types.UID:
		return t.UID(string(v))
	case *runtimeapi.PodSandboxConfig:
		return t.Sandbox(v)
	case string:
		if p := t.CRI(v); p != nil {
			return p
		}
		t.mu.RLock()
		defer t.mu.RUnlock()
		return t.byUID[v]
	}
	return nil
}

// Listed is a pod of a list, and the uid of the object by which the list has it.
type Listed[S any] struct {
	Pod *Entry[S]
	UID types.UID
}

// FromList returns the pods of a list. With changed, it returns only those whose resource version it has not seen
// before.
func (t *Table[S]) FromList(v any, changed bool) (out []Listed[S]) {
	add := func(o *v1.Pod) {
		// If a source has shown the object before, only its version is read: the kubelet's next goroutine writes to the
		// object's annotations, and reading a map meanwhile ends the process.
		if o == nil || (changed && t.wasShown(o)) {
			return
		}
		p := t.Object(o)
		if p == nil {
			return
		}
		if changed {
			t.show(o, p)
		}
		out = append(out, Listed[S]{p, o.UID})
	}
	switch v := v.(type) {
	case []probes.PodRef:
		return t.fromRefs(v, changed)
	case []*v1.Pod:
		for _, o := range v {
			add(o)
		}
	case []any:
		for _, o := range v {
			if o, ok := o.(*v1.Pod); ok {
				add(o)
			}
		}
	}
	return out
}

// fromRefs is FromList for pods that a probe has read from the kubelet's memory.
func (t *Table[S]) fromRefs(all []probes.PodRef, changed bool) (out []Listed[S]) {
	for _, r := range all {
		uid, version := types.UID(r.UID), cmp.Or(r.Version, versionOfFile)
		if changed && t.showed(uid, version) {
			continue
		}
		p := t.Ref(r)
		if p == nil {
			continue
		}
		if changed {
			t.showVersion(uid, version, p)
		}
		out = append(out, Listed[S]{p, uid})
	}
	return out
}

// wasShown reports whether a source has shown this version of an object before.
func (t *Table[S]) wasShown(o *v1.Pod) bool { return t.showed(o.UID, shownVersion(o)) }

func (t *Table[S]) showed(uid types.UID, version string) bool {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.shown[uid].version == version
}

func (t *Table[S]) show(o *v1.Pod, p *Entry[S]) { t.showVersion(o.UID, shownVersion(o), p) }

func (t *Table[S]) showVersion(uid types.UID, version string, p *Entry[S]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shown[uid] = shown[S]{version, p}
}

// Hide forgets that an object was shown. A file that comes back has no version that would tell it from the file before.
func (t *Table[S]) Hide(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.shown, uid)
}

// versionOfFile stands for the version of an object that has none.
const versionOfFile = "file"

// shownVersion returns the version of an object; it is never empty. Pods of a file have no version: they are news once.
func shownVersion(o *v1.Pod) string {
	if o.DeletionTimestamp != nil {
		return o.ResourceVersion + " deleting"
	}
	if o.ResourceVersion == "" {
		return versionOfFile
	}
	return o.ResourceVersion
}
