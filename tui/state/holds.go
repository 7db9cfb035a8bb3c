package state

import (
	"cmp"
	"slices"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// liveHold is a hold as the agent last sent it, with the time of its end.
type liveHold struct {
	*agentpb.HoldInfo
	pod int
	holdEnd
}

// holdEnd says when the agent lets a pod go by itself, and why.
type holdEnd struct {
	at int64 // wall clock for an agent's answer, session time for an event
	// timer is the kubelet's timer before which the pod goes on; empty if the lease ends sooner.
	timer string
	// free: no timer of the kubelet runs, so the hold costs nothing.
	free bool
}

// endOf returns the end of a hold that the agent sent at a time.
func endOf(h *agentpb.HoldInfo, at time.Time) holdEnd { return endAfter(h, at.UnixNano()) }

// endOfEvent returns the end of a hold, by the event of its beginning.
func endOfEvent(raw []byte, began int64) holdEnd { return endAfter(wire.Hold(raw), began) }

// endAfter returns the end of a hold, by the time that was left of it at from.
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

// podOf finds a pod by the agent's description; -1 if it is not known yet.
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

// Held returns the hold of a pod, nil if it is not held.
func (s *State) Held(k screen.PodKey) *agentpb.HoldInfo {
	for i := range s.holds {
		if s.holds[i].pod == int(k) {
			return s.holds[i].HoldInfo
		}
	}
	return nil
}

// heldStep returns the step at which a pod is held.
func (s *State) heldStep(p *life.Pod) string {
	if e, ok := s.h.Event(p.HeldAt); ok {
		return words.Clean(e.Step)
	}
	return s.h.Step(p.Step).Name
}

// holdEnds returns how long a pod stays held at most, and why no longer. Live, it goes by the agent's answer, else
// by the events.
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

// banner returns the banner of all holds. Its details are about the selected pod if that is held, else about the pod
// that goes on first. Live, it shows the present holds, whatever time the reader looks at.
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

// bannerOfEvents returns the banner for a trace file.
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
		e := &s.podAt(i).Entity
		b.Pod, b.UID, b.Step, b.Left, b.Timer, b.Free = podTitle(e.Namespace, e.Name), e.UID, s.heldStep(p), left, end.timer, end.free
		b.On, b.Selected = words.Clean(wire.Hold(s.h.Raw(p.HeldAt)).On), i == s.pod
	}
	return b
}

// heldWords says how long a held pod stays held, and what ends the hold.
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

// askedBy says which process asked for a hold, and with which message, by the event of its beginning; empty if that
// event is gone, or does not say.
func (s *State) askedBy(p *life.Pod, v *view) string {
	h := wire.Hold(s.h.Raw(p.HeldAt))
	out := s.askedByPeer(h.GetPeer(), v)
	if m := words.Clean(h.GetMessage()); m != "" {
		out = s.lang.Sentences(out, s.lang.Inf(words.Text("Its message: %s", "留言：%s"), m))
	}
	return out
}

func (s *State) askedByPeer(by *agentpb.Peer, v *view) string {
	switch {
	case by == nil:
		return ""
	case by.Same(s.h.EpochBefore(v.at).Info.GetYou()):
		return s.lang.In(words.Text("You asked for it.", "由你发起。"))
	}
	return s.lang.Inf(words.Text("Asked for by %s.", "由%s发起。"), s.lang.In(reason.Peer(by)))
}
