package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
	"google.golang.org/protobuf/types/known/durationpb"
)

// liveHold is a hold as the agent sent it last, with when it ends.
type liveHold struct {
	*agentpb.HoldInfo
	pod int
	holdEnd
}

// holdEnd is when the agent lets a pod go by itself, and why.
type holdEnd struct {
	at int64 // on the clock of whoever made it
	// timer is the kubelet's timer before which the pod goes on; empty: the
	// lease is over sooner.
	timer string
	// free: no timer of the kubelet runs, so the hold costs nothing.
	free bool
}

// endOf is when a hold ends that the agent sent at a time.
func endOf(h *agentpb.HoldInfo, at time.Time) holdEnd { return endAfter(h, at.UnixNano()) }

// endOfEvent is when a hold ends, by the event of its beginning.
func endOfEvent(raw []byte, began int64) holdEnd {
	h := &agentpb.HoldInfo{Lease: durationOf(raw, "lease"), Ends: durationOf(raw, "ends"), EndsBy: wire.Lookup(raw, "endsBy").String()}
	if left := durationOf(raw, "budget"); left != nil {
		h.Budget = &agentpb.Budget{Left: left, Timer: wire.Lookup(raw, "timer").String()}
	}
	return endAfter(h, began)
}

// durationOf is a field of an event; nil if it has none that is a duration.
func durationOf(raw []byte, name string) *durationpb.Duration {
	if d, ok := wire.Lookup(raw, name).Duration(); ok {
		return durationpb.New(d)
	}
	return nil
}

// endAfter is when a hold ends, by what was left of it from a time on.
func endAfter(h *agentpb.HoldInfo, from int64) holdEnd {
	in, timer := h.End()
	return holdEnd{at: from + int64(in), timer: words.Clean(timer), free: h.GetBudget() == nil}
}

// SetHolds sets which pods are held, as of a time.
func (s *State) SetHolds(holds []*agentpb.HoldInfo, at time.Time) {
	s.version++
	s.holds = s.holds[:0]
	for _, h := range holds {
		s.holds = append(s.holds, liveHold{h, s.podOf(h.GetPod()), endOf(h, at)})
	}
	slices.SortFunc(s.holds, func(a, b liveHold) int { return cmp.Compare(a.at, b.at) })
}

// podOf finds a pod by what an agent says it is; -1 if it is not known yet.
func (s *State) podOf(p *agentpb.Pod) int {
	if i, ok := s.h.PodOf(p.GetUid()); ok {
		return i
	}
	return none
}

// SetPods sets what the agent says of every pod.
func (s *State) SetPods(pods []*agentpb.PodState) {
	s.version++
	s.states = make(map[string]*agentpb.PodState, len(pods))
	for _, p := range pods {
		if p.GetPod().GetUid() == "" {
			continue
		}
		s.states[words.Clean(p.Pod.Uid)] = p
		s.lives.Adopt(s.h.Learn(p.Pod), p)
	}
}

// Held is the hold of a pod, nil if it is not held.
func (s *State) Held(k screen.PodKey) *agentpb.HoldInfo {
	for i := range s.holds {
		if s.holds[i].pod == int(k) {
			return s.holds[i].HoldInfo
		}
	}
	return nil
}

// heldStep is the step at which a pod is held.
func (s *State) heldStep(p *life.Pod) string {
	if e, ok := s.h.Event(p.HeldAt); ok {
		return words.Clean(e.Step)
	}
	return s.h.Step(p.Step).Name
}

// holdEnds is how long a pod stays held at most, and why no longer. Live, the
// agent says so; else the events do.
func (s *State) holdEnds(pod int, p *life.Pod, v *view) (left time.Duration, why holdEnd) {
	if v.at == s.h.End() {
		for i := range s.holds {
			if h := &s.holds[i]; h.pod == pod {
				return history.Since(s.clock, h.at), h.holdEnd
			}
		}
	}
	raw := s.h.Raw(p.HeldAt)
	if raw == nil {
		return 0, holdEnd{}
	}
	why = endOfEvent(raw, s.h.TimeAt(p.HeldAt))
	return history.Since(v.now, why.at), why
}

// banner shows all holds: of the selected pod's if it is held, else of the
// one that goes on first. Live, it shows those there are, wherever the reader
// looks.
func (s *State) banner(v *view) *screen.HoldBanner {
	if s.link == screen.LinkReplay {
		return s.bannerOfEvents(v)
	}
	if len(s.holds) == 0 {
		return nil
	}
	at := max(0, slices.IndexFunc(s.holds, func(h liveHold) bool { return h.pod == s.pod }))
	h := &s.holds[at]
	b := &screen.HoldBanner{
		Pod: podTitle(h.GetPod().GetNamespace(), h.GetPod().GetName()), UID: h.GetPod().GetUid(), Selected: h.pod == s.pod,
		Step: words.Clean(h.Step), On: words.Clean(h.On), Left: history.Since(s.clock, h.at), Timer: h.timer, Free: h.free,
	}
	pods := map[string]bool{}
	for i := range s.holds {
		b.Node = b.Node || s.holds[i].GetNode()
		pods[s.holds[i].GetPod().GetUid()] = true
	}
	b.Count = len(pods)
	return b
}

func podTitle(namespace, name string) string {
	return words.Clean(probes.Pod{Namespace: namespace, Name: name}.NamespacedName())
}

// bannerOfEvents is for a trace file.
func (s *State) bannerOfEvents(v *view) *screen.HoldBanner {
	var b *screen.HoldBanner
	for i := range v.w.Pods {
		p := &v.w.Pods[i]
		if p.Holds == 0 {
			continue
		}
		if b == nil {
			b = &screen.HoldBanner{}
		}
		b.Count++
		left, end := s.holdEnds(i, p, v)
		if b.Count > 1 && (b.Selected || i != s.pod && left >= b.Left) {
			continue
		}
		e := &s.of(i).Entity
		b.Pod, b.UID, b.Step, b.Left, b.Timer, b.Free = podTitle(e.Namespace, e.Name), e.UID, s.heldStep(p), left, end.timer, end.free
		b.On, b.Selected = words.Clean(wire.Lookup(s.h.Raw(p.HeldAt), "on").String()), i == s.pod
	}
	return b
}

// heldWords says of the pod that is held until when, and what ends the hold.
func (s *State) heldWords(i int, p *life.Pod, v *view) string {
	left, end := s.holdEnds(i, p, v)
	l, in := s.lang, words.Took(left.Round(time.Second))
	switch {
	case end.timer != "":
		return l.Inf(words.Text("Goes on by itself in %s, before the kubelet's timer %s runs out.", "%s 后自行继续，赶在 kubelet 的计时器 %s 到期之前。"), in, end.timer)
	case end.free:
		return l.Inf(words.Text("No timer of the kubelet runs, so the hold costs nothing. Goes on by itself in %s, when its lease ends.",
			"没有 kubelet 计时器在走，停住不消耗任何时限。%s 后租约到期，自行继续。"), in)
	}
	return l.Inf(words.Text("Goes on by itself in %s, when its lease ends.", "%s 后租约到期，自行继续。"), in)
}

// askedBy says which process asked for a hold, by the event of its beginning;
// empty if that is not there, or does not say.
func (s *State) askedBy(p *life.Pod) string {
	raw := s.h.Raw(p.HeldAt)
	if raw == nil {
		return ""
	}
	uid, pid := wire.Lookup(raw, "uid"), wire.Lookup(raw, "pid")
	if uid.Kind != wire.NumberValue || pid.Kind != wire.NumberValue {
		return ""
	}
	return s.lang.Inf(words.Text("Process %d of user %d asked for it.", "由用户 %[2]d 的进程 %[1]d 发起。"), pid.Num, uid.Num)
}
