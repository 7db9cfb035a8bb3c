package state

import (
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
)

// liveHold is a hold as the agent told it last, with when it ends.
type liveHold struct {
	*agentpb.HoldInfo
	pod    int
	lease  int64 // wall clock
	budget int64 // 0: no timer runs
}

// end is when the pod goes on by itself, and the timer because of which, if it
// is not the lease.
func (h *liveHold) end() (int64, string) {
	if h.budget != 0 && h.budget < h.lease {
		return h.budget, h.Budget.GetTimer()
	}
	return h.lease, ""
}

// SetHolds tells which pods are held, as of a time.
func (s *State) SetHolds(holds []*agentpb.HoldInfo, at time.Time) {
	s.version++
	s.holds = s.holds[:0]
	for _, h := range holds {
		l := liveHold{HoldInfo: h, pod: s.podOf(h.GetPod()), lease: at.Add(h.GetLease().AsDuration()).UnixNano()}
		if h.GetBudget() != nil {
			l.budget = at.Add(h.Budget.GetLeft().AsDuration()).UnixNano()
		}
		s.holds = append(s.holds, l)
	}
	slices.SortFunc(s.holds, func(a, b liveHold) int {
		x, _ := a.end()
		y, _ := b.end()
		return int(min(max(x-y, -1), 1))
	})
}

// podOf finds a pod by what an agent says it is; -1 if it is not known yet.
func (s *State) podOf(p *agentpb.Pod) int {
	if i, ok := s.byUID[p.GetUid()]; ok && p.GetUid() != "" {
		return i
	}
	return none
}

// SetPods tells what the agent says of every pod.
func (s *State) SetPods(pods []*agentpb.PodState) {
	s.version++
	s.states = make(map[string]*agentpb.PodState, len(pods))
	for _, p := range pods {
		if p.GetPod().GetUid() == "" {
			continue
		}
		s.states[Clean(p.Pod.Uid)] = p
		s.learnPod(s.epoch, p.Pod)
	}
}

// Held is the hold of a pod, nil if it is not held.
func (s *State) Held(k PodKey) *agentpb.HoldInfo {
	for i := range s.holds {
		if s.holds[i].pod == int(k) {
			return s.holds[i].HoldInfo
		}
	}
	return nil
}

// holdLeft is how long a pod stays held at most, and the timer that ends it if
// it is not the lease. Live, the agent says so; else the events do.
func (s *State) holdLeft(pod int, p *podNow, v *view) (time.Duration, string) {
	if v.at == s.arena.end {
		for i := range s.holds {
			if h := &s.holds[i]; h.pod == pod {
				end, timer := h.end()
				return since(s.clock, end), timer
			}
		}
	}
	raw := s.arena.at(p.heldAt)
	if raw == nil {
		return 0, ""
	}
	from := s.timeAt(p.heldAt)
	lease, budget := lookup(raw, "lease"), lookup(raw, "budget")
	if budget.ok && budget.num < lease.num {
		return since(v.now, from+budget.num), Clean(lookup(raw, "timer").String())
	}
	return since(v.now, from+lease.num), ""
}

// banner tells of all holds; its pod is the one that goes on first. Live, it
// tells of those there are, wherever the reader looks.
func (s *State) banner(v *view) *HoldBanner {
	if s.link == LinkReplay {
		return s.bannerOfEvents(v)
	}
	if len(s.holds) == 0 {
		return nil
	}
	h := &s.holds[0]
	end, timer := h.end()
	b := &HoldBanner{
		Count: len(s.holds), Pod: Clean(h.GetPod().GetNamespace() + "/" + h.GetPod().GetName()), Step: Clean(h.Step), On: Clean(h.On),
		Left: since(s.clock, end), Timer: Clean(timer),
	}
	for i := range s.holds {
		b.Node = b.Node || s.holds[i].GetNode()
	}
	return b
}

// bannerOfEvents is for a trace file.
func (s *State) bannerOfEvents(v *view) *HoldBanner {
	var b *HoldBanner
	for i := range v.w.pods {
		p := &v.w.pods[i]
		if p.holds == 0 {
			continue
		}
		left, timer := s.holdLeft(i, p, v)
		if b == nil {
			b = &HoldBanner{Left: left + 1}
		}
		b.Count++
		if left < b.Left {
			e := &s.pods[i].entity
			b.Pod, b.Step, b.Left, b.Timer = e.Namespace+"/"+e.Name, s.heldStep(p), left, timer
			b.On = Clean(lookup(s.arena.at(p.heldAt), "on").String())
		}
	}
	return b
}

// SetBreakpoints tells which breakpoints there are, as of a time.
func (s *State) SetBreakpoints(b []*agentpb.Breakpoint, at time.Time) {
	s.breaks, s.breakAt = b, at
	s.breakRow = max(0, min(s.breakRow, len(b)-1))
}

func (s *State) breakList(rows int) *BreakList {
	l := &BreakList{Cursor: none}
	if len(s.breaks) == 0 {
		l.Empty = s.lang.Say(text("No breakpoints. One stops a pod when it comes to a step, also a pod that does not exist yet.",
			"没有断点。断点会在 Pod 走到某一步时把它停住，也适用于还不存在的 Pod。"))
		return l
	}
	top := window(0, s.breakRow, rows, len(s.breaks), 0)
	for i := top; i < min(top+max(rows, 1), len(s.breaks)); i++ {
		l.Rows = append(l.Rows, s.breakpoint(s.breaks[i]))
	}
	l.Cursor = s.breakRow - top
	return l
}

func (s *State) breakpoint(b *agentpb.Breakpoint) BreakRow {
	spec := b.GetSpec()
	r := BreakRow{ID: b.GetId(), Pods: s.podsOf(spec.GetPods()), Steps: Clean(spec.GetStep()), Hits: b.GetHits()}
	if t := b.GetExpires(); t != nil {
		r.Expires = since(max(s.clock, s.breakAt.UnixNano()), t.AsTime().UnixNano())
	}
	switch spec.GetOn() {
	case agentpb.On_ON_EXIT:
		r.When = s.lang.Say(text("exit", "返回时"))
	case agentpb.On_ON_ERROR:
		r.When = s.lang.Say(text("error", "出错时"))
	default:
		r.When = s.lang.Say(text("enter", "进入时"))
	}
	if d := spec.GetSlowerThan(); d != nil {
		r.When += s.lang.sayf(text(", slower than %s", "，慢于 %s"), took(d.AsDuration()))
	}
	switch a := spec.GetAction().(type) {
	case *agentpb.AddBreakpointRequest_Fail:
		r.Action = s.lang.sayf(text("fails: %s", "失败：%s"), oneLine(a.Fail))
	case *agentpb.AddBreakpointRequest_Delay:
		r.Action = s.lang.sayf(text("delays %s", "延迟 %s"), took(a.Delay.AsDuration()))
	default:
		r.Action = s.lang.Say(text("holds", "停住"))
	}
	var refused []string
	for _, f := range b.GetRefused() {
		refused = append(refused, Clean(f.GetStep())+": "+oneLine(f.GetWhy()))
	}
	r.Refused = strings.Join(refused, "; ")
	return r
}

func (s *State) podsOf(p *agentpb.PodSelector) string {
	name := p.GetName()
	if name == "" {
		name = "*"
	}
	if p.GetNamespace() != "" {
		name = p.GetNamespace() + "/" + name
	}
	if p.GetUid() != "" {
		name += " uid " + p.GetUid()
	}
	var labels []string
	for k, v := range p.GetLabels() {
		labels = append(labels, k+"="+v)
	}
	slices.Sort(labels)
	return Clean(strings.TrimSpace(name + " " + strings.Join(labels, ",")))
}
