package gather

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// The lengths of pods' UIDs: those of the API server, and those that the kubelet makes
// for static pods.
const (
	longUID  = 0x24
	shortUID = 0x20
)

var uidText = regexp.MustCompile(`^(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})$`)

// memory reads texts from a process's memory; nil reads none.
type memory func(t text) string

// maxText bounds a text that is read from the kubelet's memory, in bytes.
const maxText = 4 << 10

// memoryOf reads the memory of a process, which takes root.
func memoryOf(pid int) (read memory, closer func()) {
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/mem")
	if err != nil {
		return nil, func() {}
	}
	return func(t text) string {
		if t.len <= 0 || t.len > maxText || t.at > 1<<62 {
			return ""
		}
		b := make([]byte, t.len)
		if _, err := f.ReadAt(b, int64(t.at)); err != nil {
			return ""
		}
		return string(b)
	}, func() { _ = f.Close() }
}

// own finds out which pods the goroutines of the dump belong to, and keeps those of this pod
// and of the node. The caller holds the lock.
func (p *port) own(of *Subject, s *evidence.Snapshot) {
	if len(p.dump) == 0 {
		return
	}
	o := owners{name: of.Name.UID, uid: of.Kubelet.UID, pods: p.pods, known: p.known, whose: map[int64]string{}}
	if o.uid == "" && s.KubeletPod != nil {
		o.name, o.uid = string(s.KubeletPod.UID), string(s.KubeletPod.UID)
	}
	if p.near != nil && p.near.Same() {
		read, closer := memoryOf(p.near.PID)
		defer closer()
		o.read = read
	}
	kept, doubtful := o.sort(p.dump)
	s.Kubelet.Goroutines = kept
	if doubtful > 0 {
		s.Missed(evidence.Port, "whose "+strconv.Itoa(doubtful)+" goroutines are", evidence.Forbidden, "root on the node can see it in the kubelet's memory")
	}
}

// owners finds out which pods goroutines belong to.
type owners struct {
	name, uid string // the pod's UID, as the API server and as the kubelet has it
	pods      []podOf
	known     bool
	read      memory
	whose     map[int64]string // by the goroutine; "?": some pod's
	byID      map[int64]*routine
}

// somebodys stands for the owner of a goroutine that belongs to an unknown pod.
const somebodys = "?"

// probeWorker is the function in which each health probe has a goroutine.
const probeWorker = "/prober.(*worker).run"

// maxKept bounds how many goroutines go into a snapshot.
const maxKept = 100

// sort returns the goroutines of the pod and of the node. A goroutine of an unknown pod counts
// as this pod's, with no UID, if no other pod can have it. doubtful counts the goroutines that
// others can have, too.
func (o *owners) sort(all []routine) (kept []evidence.Goroutine, doubtful int) {
	o.askMemory(all)
	o.byID = map[int64]*routine{}
	for i := range all {
		o.byID[all[i].ID] = &all[i]
	}
	var guessed []evidence.Goroutine
	workers := 0
	for i := range all {
		r := &all[i]
		g, whose := r.Goroutine, o.whose[r.ID]
		switch {
		case r.kind == ofNode:
			kept = append(kept, g)
		case strings.HasSuffix(r.Frames[0], probeWorker):
		case whose == o.uid && whose != "":
			g.Pod = o.name
			kept = append(kept, g)
		case whose != somebodys || r.isIdle() || !o.canBeIts(o.worker(r)):
		case !o.isOnly(o.worker(r)):
			doubtful++
		default:
			guessed = append(guessed, g)
			if r.uid.at != 0 {
				workers++
			}
		}
	}
	// A pod has one worker. If there are several, the others belong to pods that do not look like it.
	if workers > 1 {
		guessed, doubtful = nil, doubtful+len(guessed)
	}
	kept = append(kept, guessed...)
	return kept[:min(len(kept), maxKept)], doubtful
}

// askMemory finds out which pods the goroutines belong to. A goroutine that another one started
// is of the same pod.
func (o *owners) askMemory(all []routine) {
	for i := range all {
		o.whose[all[i].ID] = o.owner(&all[i])
	}
	for range maxDepth {
		for i := range all {
			r := &all[i]
			if by := o.whose[r.parent]; o.whose[r.ID] == somebodys && by != "" {
				o.whose[r.ID] = by
			}
		}
	}
}

// worker returns the pod's worker that started a goroutine, or the goroutine itself.
func (o *owners) worker(r *routine) *routine {
	for range maxDepth {
		by := o.byID[r.parent]
		if by == nil || by.kind != ofPod {
			break
		}
		r = by
	}
	return r
}

// isIdle reports whether a goroutine waits for work: a pod's worker, or one of its
// health probes.
func (r *routine) isIdle() bool {
	return strings.HasSuffix(r.Frames[0], podWorker) || strings.HasSuffix(r.Frames[0], probeWorker)
}

// owner returns the UID of the pod that a goroutine belongs to.
func (o *owners) owner(r *routine) string {
	if r.kind == ofNode {
		return ""
	}
	if o.read == nil {
		return somebodys
	}
	if r.uid.at != 0 {
		uid := o.read(r.uid)
		if uidText.MatchString(uid) {
			return uid
		}
		return somebodys
	}
	for _, t := range r.texts {
		has := o.read(t)
		for _, uid := range o.uids() {
			if has != "" && strings.Contains(has, uid) {
				return uid
			}
		}
	}
	return somebodys
}

// uids returns the UIDs of the known pods.
func (o *owners) uids() (out []string) {
	for _, p := range o.pods {
		if uidText.MatchString(p.uid) {
			out = append(out, p.uid)
		}
	}
	if uidText.MatchString(o.uid) && !slices.Contains(out, o.uid) {
		out = append(out, o.uid)
	}
	return out
}

// canBeIts reports whether a goroutine may be of the pod that is looked for.
func (o *owners) canBeIts(r *routine) bool {
	i := slices.IndexFunc(o.pods, func(p podOf) bool { return p.uid == o.uid })
	return i >= 0 && r.fits(o.pods[i])
}

// isOnly reports whether no more than one of the kubelet's pods can have a goroutine.
func (o *owners) isOnly(r *routine) bool {
	n := 0
	for _, p := range o.pods {
		if r.fits(p) {
			n++
		}
	}
	return o.known && n == 1
}

// leaving matches functions of workers whose pod ends.
var leaving = regexp.MustCompile(`kubelet\.\(\*Kubelet\)\.SyncTerminat(?:ing|ed)`)

// fits reports whether a pod can have a goroutine. A pod that is ready needs no work that takes
// long. A pod that is being deleted may still be worked on as before.
func (r *routine) fits(p podOf) bool {
	if slices.ContainsFunc(r.Frames, leaving.MatchString) {
		return p.leaving
	}
	return p.leaving || !p.ready
}
