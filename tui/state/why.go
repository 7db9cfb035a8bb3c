package state

import (
	"time"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/screen"
)

// lastError is the error of the last turn, and the event that tells it.
func (s *State) lastError(p *life.Pod) (string, *probes.Event) {
	e, ok := s.h.Event(p.Failed)
	if !ok {
		return "", nil
	}
	return e.Error, &e
}

// trouble is the second line of a pod in the list.
func (s *State) trouble(pp podPlace, p *life.Pod, v *view) string {
	l := s.lang
	switch {
	case pp.mark == life.Held:
		return s.heldPlace(p)
	case p.Refused:
		return l.In(words.Text("the kubelet refused it", "kubelet 拒绝了它"))
	case !s.seesTurns():
		return s.troubleBeside(p)
	case p.Tries > 0:
		err, _ := s.lastError(p)
		what := briefly(l, err)
		if p.Tries > 1 {
			what += l.In(words.Text(", ", "，")) + l.Nth(int(p.Tries))
		}
		return what
	}
	return s.title(s.h.Step(p.Step))
}

// heldStep is the step at which a pod is held.
func (s *State) heldStep(p *life.Pod) string {
	if e, ok := s.h.Event(p.HeldAt); ok {
		return words.Clean(e.Step)
	}
	return s.h.Step(p.Step).Name
}

// heldPlace says where a pod is held: before or after a step.
func (s *State) heldPlace(p *life.Pod) string {
	title, on, _ := s.whereHeld(p)
	switch {
	case title == "":
		return s.lang.In(words.Text("held", "停住"))
	case on == "exit":
		return s.lang.Inf(words.Text("after: %s", "之后：%s"), title)
	}
	return s.lang.Inf(words.Text("before: %s", "之前：%s"), title)
}

// whereHeld is the title of the step at which a pod is held, the side of it, and
// the event that tells so, if it has come. The title is empty if nothing does.
func (s *State) whereHeld(p *life.Pod) (title, on string, e *probes.Event) {
	ev, ok := s.h.Event(p.HeldAt)
	if !ok {
		return "", "", nil
	}
	return s.title(s.h.Step(s.h.StepNamed(ev.Step))), words.Short(ev.Fields["on"]), &ev
}

// whyOf says in one sentence why a pod is where it is, and what shows it.
func (s *State) whyOf(i int, v *view) screen.Why {
	p := v.pod(i)
	mark, from := s.verdict(i, p, v)
	w := screen.Why{Mark: mark}
	if i == 0 {
		w.Text = s.lang.In(words.Text("This is the node itself: what the kubelet does that is about no single pod.", "这是节点本身：kubelet 做的、不属于某个 Pod 的事情。"))
		return w
	}
	name := s.of(i).Entity.Name
	var evidence *probes.Event
	switch {
	case mark == life.Held:
		w.Text, evidence = s.whyHeld(name, p)
	case p.Former != 0:
		w.Text = s.lang.Inf(words.Text("%s is not known to the agent that is there now. The one before told of it.",
			"现在的代理不知道 %s，之前的代理报告过它。"), name)
	case p.Refused:
		w.Text, evidence = s.whyRefused(i, name, p)
	case !s.seesTurns():
		w.Text, evidence = s.whyBeside(i, name, p, mark, from, v)
	case mark == life.Gone:
		w.Text = s.lang.Inf(words.Text("%s is gone: its source has it no more.", "%s 已消失：它的来源里已经没有它。"), name)
		if c, ok := s.h.LastCall(i, s.h.StepFor(probes.RoleRemove), v.at); ok {
			if e, ok := s.h.Event(c.Exit); ok {
				evidence = &e
			}
		}
	case s.lives.Lingers(p):
		w.Text, evidence = s.whyLingers(name, p)
	case p.Turning, !p.Worker && !p.Finished && p.At != none:
		w.Text, evidence = s.whyTurning(i, name, p, v)
	case p.Tries > 0:
		w.Text, evidence = s.whyRetrying(i, name, p, v)
	default:
		w.Text, evidence = s.whyIdle(i, name, p, mark, from, v)
	}
	if evidence != nil {
		w.Evidence = s.evidence(evidence)
	}
	return w
}

func (s *State) whyHeld(name string, p *life.Pod) (string, *probes.Event) {
	title, on, e := s.whereHeld(p)
	if title == "" {
		return s.lang.Inf(words.Text("%s waits because it is held.", "%s 在等，因为它被停住了。"), name), nil
	}
	if on == "exit" {
		return s.lang.Inf(words.Text("%s waits because you hold it after “%s”. That call has ended; what comes next has not begun.",
			"%s 在等，因为你把它停在“%s”之后。这次调用已经结束，下一步还没开始。"), name, title), e
	}
	if !s.seesTurns() {
		return s.lang.Inf(words.Text("%s waits because you hold it before “%s”. The kubelet has made the call, the runtime has not heard of it.",
			"%s 在等，因为你把它停在“%s”之前。kubelet 已发出调用，但运行时还没收到。"), name, title), e
	}
	return s.lang.Inf(words.Text("%s waits because you hold it before “%s”. The call has not begun.",
		"%s 在等，因为你把它停在“%s”之前。这次调用还没开始。"), name, title), e
}

func (s *State) whyRefused(i int, name string, p *life.Pod) (string, *probes.Event) {
	step := s.h.StepFor(probes.RoleAdmit)
	if c, ok := s.h.LastCall(i, step, s.h.End()); ok {
		e, _ := s.h.Event(c.Exit)
		return s.lang.Inf(words.Text("%s was refused by the kubelet and will not run here: %s %s", "%s 被 kubelet 拒绝，不会在这里运行：%s %s"),
			name, c.Text("reason"), c.Text("message")), &e
	}
	return s.lang.Inf(words.Text("%s was refused by the kubelet and will not run here.", "%s 被 kubelet 拒绝，不会在这里运行。"), name), nil
}

func (s *State) whyTurning(i int, name string, p *life.Pod, v *view) (string, *probes.Event) {
	st := s.h.Step(p.Step)
	what, role := st.Means().Waits, st.Means().Role
	switch {
	case role == probes.RolePullWait && s.inPullQueue(i, p, v):
		what = s.pullQueue(v)
	case what.En == "":
		what = words.Text("the kubelet is at “"+s.title(st)+"”", "kubelet 正在“"+s.title(st)+"”")
	}
	var e *probes.Event
	if sp := s.h.Span(p.At); sp != nil {
		if ev, ok := s.h.Event(sp.Enter); ok {
			e = &ev
		}
	}
	d := history.Since(p.Since, v.now)
	line := s.lang.Inf(words.Text("%s: %s, for %s now.", "%s：%s，已经 %s。"), name, s.lang.In(what), words.Took(d))
	if role == probes.RoleVolumes {
		if why, ev := s.volumeTrouble(i, v); ev != nil {
			return line + " " + why, ev
		}
	}
	if p.Deleting && p.Work == life.WorkSync {
		line += s.lang.Inf(words.Text(" It was told to end %s ago.", "%s 前已要求它终止。"), words.Took(history.Since(p.DeletedAt, v.now)))
	}
	if d > life.StuckAfter {
		line += s.lang.In(words.Text(" That is longer than usual.", "这比平常久。"))
	}
	return line, e
}

func (s *State) whyRetrying(i int, name string, p *life.Pod, v *view) (string, *probes.Event) {
	err, e := s.lastError(p)
	what := because(s.lang, err)
	line := s.lang.Inf(words.Text("%s: %s.", "%s：%s。"), name, what)
	line += s.lastExit(i, err, v)
	if p.Tries > 1 {
		line += s.lang.Inf(words.Text(" Failed %d times.", "已失败 %d 次。"), p.Tries)
	}
	if unmounted.MatchString(err) {
		if why, ev := s.volumeTrouble(i, v); ev != nil {
			line, e = line+" "+why, ev
		}
	}
	if p.Next > v.now {
		line += s.lang.Inf(words.Text(" Next try in %s.", "%s 后再试。"), words.Took(time.Duration(p.Next-v.now)))
	}
	return line, e
}

// volumeTrouble is why a volume of a pod is not mounted: SyncPod only knows that
// it is not; the volume manager's goroutines met the error.
func (s *State) volumeTrouble(i int, v *view) (string, *probes.Event) {
	step := s.h.StepFor(probes.RoleVolumeOperation)
	c, ok := s.h.LastCall(i, step, v.at)
	if !ok || !c.Span.Failed {
		return "", nil
	}
	e, ok := s.h.Event(c.Exit)
	if !ok {
		return "", nil
	}
	why := c.Text("eventErr")
	if why == "" {
		why = words.OneLine(c.Err)
	}
	return words.Cut(why, maxReason) + s.lang.In(words.Text(".", "。")), &e
}

func (s *State) whyIdle(i int, name string, p *life.Pod, mark life.State, from int64, v *view) (string, *probes.Event) {
	l := s.lang
	if p.Finished || p.Phase == life.Succeeded || p.Phase == life.Failed {
		if p.Deleting && p.Finished {
			return l.Inf(words.Text("%s has ended: its containers are stopped and its volumes are gone.", "%s 已结束：容器已停止，卷已清理。"), name), nil
		}
		return l.Inf(words.Text("%s has ended: %s.", "%s 已结束：%s。"), name, life.Phases[p.Phase]), nil
	}
	if p.Deleting {
		return l.Inf(words.Text("%s is being deleted, for %s now.", "%s 正在被删除，已经 %s。"), name, words.Took(history.Since(p.DeletedAt, v.now))), nil
	}
	e := s.lastStatus(i, v)
	switch mark {
	case life.Idle:
		line := l.Inf(words.Text("%s runs and is ready.", "%s 正在运行，已就绪。"), name)
		if p.Next > v.now {
			line += l.Inf(words.Text(" The kubelet looks again in %s.", "kubelet 将在 %s 后再看。"), words.Took(time.Duration(p.Next-v.now)))
		}
		return line, e
	case life.Waiting:
		switch {
		case p.Phase == life.Running:
			if line, ev := s.whyUnready(i, name, v); ev != nil {
				return line, ev
			}
			return l.Inf(words.Text("%s runs but is not ready: a health probe has not succeeded, or a container is not up.", "%s 正在运行但没有就绪：健康探针尚未成功，或有容器没起来。"), name), e
		case p.Sandboxed:
			return l.Inf(words.Text("%s waits for something to happen to its containers; PLEG will tell.", "%s 在等容器发生变化，由 PLEG 报告。"), name), e
		case !p.Worker:
			return l.Inf(words.Text("%s has not come to its worker yet.", "%s 还没有交给 worker。"), name), nil
		}
	}
	return l.Inf(words.Text("Nothing more is known of %s since %s.", "%s 近 %s 没有更多消息。"), name, words.Took(history.Since(from, v.now))), e
}

// lastStatus is the event in which the pod's status was worked out last.
func (s *State) lastStatus(i int, v *view) *probes.Event {
	c, ok := s.h.LastCall(i, s.h.StepFor(probes.RoleStatus), v.at)
	if !ok || c.Exit == none {
		return nil
	}
	if e, ok := s.h.Event(c.Exit); ok {
		return &e
	}
	return nil
}
