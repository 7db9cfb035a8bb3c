package state

import (
	"github.com/podstep/podstep/probes"
)

// troubleBeside is the second line of a pod in trouble: the reason that is
// reported, in its own word and in ours.
func (s *State) troubleBeside(p *podNow) string {
	l := s.lang
	if p.blocked != none {
		raw := s.arena.at(p.blocked)
		reason := Clean(lookup(raw, "reason").String())
		if lookup(raw, "state").String() == "terminated" {
			return l.sayf(text("%s ended: exit code %d, restarts: %d", "%s 已退出：退出码 %d，重启 %d 次"),
				Clean(lookup(raw, "container").String()), lookup(raw, "exitCode").num, lookup(raw, "restartCount").num)
		}
		return reason + l.Say(text(": ", "：")) + l.Say(failures[reason].brief)
	}
	if p.tries > 0 {
		err, _ := s.lastError(p)
		what := s.title(s.steps.at(p.failStep)) + l.Say(text(": ", "：")) + cut(plainError(err), 60)
		if p.tries > 1 {
			what += l.Say(text(", ", "，")) + l.nth(int(p.tries))
		}
		return what
	}
	if e, ok := s.event(p.warned); ok {
		return short(e.Fields["reason"]) + l.Say(text(": ", "：")) + cut(short(e.Fields["message"]), 60)
	}
	if p.at == none {
		return l.Say(text("no call has come for it", "还没有为它发出的调用"))
	}
	return s.title(s.steps.at(p.step))
}

// plainError is an error without what gRPC and the kubelet put around it.
func plainError(err string) string { return oneLine(wrapping.ReplaceAllString(err, "")) }

// evidence says where a reason is seen, and who told it.
func (s *State) evidence(e *probes.Event) string {
	if !s.epoch.beside {
		return s.lang.sayf(text("kubelet event %d", "kubelet 事件 %d"), e.Seq)
	}
	st := s.catalogue.Step(e.Step)
	if st == nil || !st.Outside() {
		return s.lang.sayf(text("%s, event %d", "%s，事件 %d"), Clean(e.Step), e.Seq)
	}
	who := text("the API server", "API server")
	switch {
	case st.Seen == probes.ByKubelet, short(e.Fields["from"]) == string(probes.ByKubelet):
		who = text("the kubelet's /pods", "kubelet 的 /pods")
	case st.Seen == probes.ByRuntime:
		who = text("the runtime", "运行时")
	}
	return s.lang.sayf(text("%s, told by %s, event %d", "%s（来自 %s），事件 %d"), Clean(e.Step), s.lang.Say(who), e.Seq)
}

// whyBeside is whyOf where no worker is seen.
func (s *State) whyBeside(i int, name string, p *podNow, mark PodMark, from int64, v *view) (string, *probes.Event) {
	l := s.lang
	switch {
	case mark == PodGone && !p.bound:
		return l.sayf(text("%s is gone: what is left is a sandbox that has stopped, until garbage collection comes.", "%s 已消失：只剩一个已停止的沙箱，等待垃圾回收。"), name), s.lastOf(i, v, stepHasSandbox)
	case mark == PodGone:
		return l.sayf(text("%s is gone: the cluster has it no more.", "%s 已消失：集群里已经没有它。"), name), s.lastOf(i, v, stepGone, stepKnown)
	case p.at != none && (mark != PodStuck || p.blocked == none || since(p.since, v.now) > stuckAfter):
		return s.whyTurning(i, name, p, v)
	case mark == PodDone && p.phase != phaseSucceeded && p.phase != phaseFailed:
		return l.sayf(text("%s has ended: none of its containers is started again.", "%s 已结束：容器都不会再启动。"), name), s.lastOf(i, v, stepCondition)
	case p.blocked != none && !p.deleting && mark != PodDone:
		return s.whyBlocked(name, p)
	case p.tries > 0 && mark != PodDone:
		return s.whyCallFails(name, p)
	case p.deleting:
		line := l.sayf(text("%s is being deleted, for %s now.", "%s 正在被删除，已经 %s。"), name, took(since(p.deletedAt, v.now)))
		if names := s.finalizers(p); names != "" {
			line += l.sayf(text(" Its object stays until its finalizers are removed: %s.", "对象会保留到它的 finalizer 被移除：%s。"), names)
		}
		return line, s.lastOf(i, v, stepDeleting)
	case mark == PodDone:
		return l.sayf(text("%s has ended: %s.", "%s 已结束：%s。"), name, phases[p.phase]), s.lastOf(i, v, stepPhase)
	case mark == PodRunning && !s.reports():
		return l.sayf(text("%s runs, as far as its calls tell; nobody is asked whether it is ready.", "从调用看 %s 正在运行；是否就绪无人可问。"), name), s.lastOf(i, v, stepStarted, stepStatusOf, stepHasSandbox)
	case mark == PodRunning:
		return l.sayf(text("%s runs and is ready.", "%s 正在运行，已就绪。"), name), s.lastOf(i, v, stepCondition)
	case p.warned != none:
		return s.whyWarned(name, p)
	case p.phase == phaseRunning:
		return l.sayf(text("%s runs but is not ready: a health probe has not succeeded, or a container is not up.", "%s 正在运行但没有就绪：健康探针尚未成功，或有容器没起来。"), name), s.lastOf(i, v, stepContainer, stepCondition)
	}
	return s.whyQuiet(i, name, p, from, v)
}

// whyBlocked says why a container cannot start, as is reported.
func (s *State) whyBlocked(name string, p *podNow) (string, *probes.Event) {
	l := s.lang
	e, ok := s.event(p.blocked)
	if !ok {
		return l.sayf(text("%s: a container cannot start.", "%s：有容器无法启动。"), name), nil
	}
	word := func(field string) string { return short(e.Fields[field]) }
	reason := word("reason")
	if word("state") == "terminated" {
		return l.sayf(text("%s, container %s: it ended with exit code %s (%s), and not for the first time. Restarts: %s.", "%s 的容器 %s：已退出，退出码 %s（%s），且不是第一次。已重启 %s 次。"),
			name, word("container"), word("exitCode"), reason, word("restartCount")), &e
	}
	line := l.sayf(text("%s, container %s: %s (%s).", "%s 的容器 %s：%s（%s）。"), name, word("container"), l.Say(failures[reason].full), reason)
	if code := word("lastExitCode"); code != "" {
		line += l.sayf(text(" Its last exit code was %s (%s).", "上次的退出码是 %s（%s）。"), code, word("lastReason"))
	} else if why := cut(plainError(word("message")), maxReason); why != "" {
		line += " " + why + l.Say(text(".", "。"))
	}
	if n := word("restartCount"); n != "" && n != "0" {
		line += l.sayf(text(" Restarts: %s.", "已重启 %s 次。"), n)
	}
	return line, &e
}

// whyCallFails says which call to the runtime fails, and with what.
func (s *State) whyCallFails(name string, p *podNow) (string, *probes.Event) {
	err, e := s.lastError(p)
	line := s.lang.sayf(text("%s: %s fails: %s.", "%s：%s 失败：%s。"), name, s.title(s.steps.at(p.failStep)), cut(plainError(err), maxReason))
	if p.tries > 1 {
		line += s.lang.sayf(text(" Failed %d times.", "已失败 %d 次。"), p.tries)
	}
	return line, e
}

func (s *State) whyWarned(name string, p *podNow) (string, *probes.Event) {
	e, ok := s.event(p.warned)
	if !ok {
		return s.lang.sayf(text("%s was warned about.", "%s 有警告。"), name), nil
	}
	return s.lang.sayf(text("%s: %s: %s", "%s：%s：%s"), name, short(e.Fields["reason"]), cut(plainError(short(e.Fields["message"])), maxReason)), &e
}

// whyQuiet is about a pod that is on its way and for which no call goes on.
func (s *State) whyQuiet(i int, name string, p *podNow, from int64, v *view) (string, *probes.Event) {
	l, quiet := s.lang, took(since(from, v.now))
	e := s.lastOf(i, v, stepKnown, stepBound)
	switch {
	case !s.reports():
		return l.sayf(text("%s: no call goes on for it, and nobody is asked how it is.", "%s：没有正在进行的调用，也无人可问它的状况。"), name), nil
	case p.sandboxed:
		return l.sayf(text("%s has its sandbox; what the kubelet does until the next call is not seen from here. So for %s.", "%s 的沙箱已建好；kubelet 在下一次调用前做什么，这里看不到。已经 %s。"), name, quiet), e
	case e != nil && e.Step == string(stepKnown):
		return l.sayf(text("%s: the kubelet knows it and has not called the runtime for it; what it does is not seen from here. So for %s.", "%s：kubelet 已得知它，但还没有为它调用运行时；它在做什么，这里看不到。已经 %s。"), name, quiet), e
	}
	return l.sayf(text("%s is bound to this node; the kubelet has not shown yet that it knows. So for %s.", "%s 已绑定到本节点，但还没有迹象表明 kubelet 已得知。已经 %s。"), name, quiet), e
}

// lastOf is the event that began the latest call of one of some steps, the first
// of them that there is one of.
func (s *State) lastOf(pod int, v *view, names ...stepName) *probes.Event {
	for _, name := range names {
		id := s.steps.byName[string(name)]
		ref := s.back(pod, v.at, func(_ int, sp *span) bool { return sp.step == id && sp.shape != noEnter })
		if sp := s.spans.at(ref); sp != nil {
			if e, ok := s.event(sp.enter); ok {
				return &e
			}
		}
	}
	return nil
}

// blindBeside says in few words what is not seen.
func (s *State) blindBeside() string {
	what := s.lang.Say(text("not seen: inside the kubelet", "看不到：kubelet 内部"))
	if !s.reports() {
		what += s.lang.Say(text(", the API server", "、API server"))
	}
	return what
}

// holdCostBeside says whether a pod can be held before a call passes on to the
// runtime, and what that costs: unlike in the kubelet, the call has begun.
func (s *State) holdCostBeside(st *step) string {
	if st.here == nil || st.here.GetHoldEnter() == "no" {
		out := s.lang.Say(holdWords["no"])
		if why := st.here.GetWhy(); why != "" && st.here.GetSeen() {
			out += s.lang.Say(text(" Reason: ", "原因：")) + Clean(why) + s.lang.Say(text(".", "。"))
		} else if why := s.lang.Say(st.about.Hold.Why); why != "" {
			out += " " + why
		}
		return out
	}
	out := s.lang.Say(text("A pod may be held here: the call has begun, and is kept back before the runtime hears of it. The kubelet's own deadline for the call runs meanwhile.",
		"可以在这里停住 Pod：调用已经开始，但在到达运行时之前被扣住。期间 kubelet 自己给这次调用的期限在走。"))
	if t := s.catalogue.Timer(timerCaller); t != nil {
		out += " " + s.lang.sayf(text("Timer %s: %s", "计时器 %s：%s"), t.Name, s.lang.Say(t.Text))
	}
	return out
}

// timerCaller is the timer of whoever made a call.
const timerCaller = "caller"
