package state

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// troubleBeside is the second line of a pod in trouble: the reason that is
// reported, in its own word and in ours.
func (s *State) troubleBeside(p *life.Pod) string {
	l := s.lang
	if p.Blocked != none {
		raw := s.h.Raw(p.Blocked)
		reason := words.Clean(wire.Lookup(raw, "reason").String())
		if wire.Lookup(raw, "state").String() == "terminated" {
			return l.Inf(words.Text("%s ended: exit code %d, restarts: %d", "%s 已退出：退出码 %d，重启 %d 次"),
				words.Clean(wire.Lookup(raw, "container").String()), wire.Lookup(raw, "exitCode").Num, wire.Lookup(raw, "restartCount").Num)
		}
		return reason + l.In(words.Text(": ", "：")) + l.In(failures[reason].brief)
	}
	if p.Tries > 0 {
		err, _ := s.lastError(p)
		what := s.title(s.h.Step(p.FailStep)) + l.In(words.Text(": ", "：")) + words.Cut(plainError(err), 60)
		if p.Tries > 1 {
			what += l.In(words.Text(", ", "，")) + l.Nth(int(p.Tries))
		}
		return what
	}
	if e, ok := s.h.Event(p.Warned); ok {
		return words.Short(e.Fields["reason"]) + l.In(words.Text(": ", "：")) + words.Cut(words.Short(e.Fields["message"]), 60)
	}
	if p.At == none {
		return l.In(words.Text("no call has come for it", "还没有为它发出的调用"))
	}
	return s.title(s.h.Step(p.Step))
}

// plainError is an error without what gRPC and the kubelet put around it.
func plainError(err string) string { return words.OneLine(wrapping.ReplaceAllString(err, "")) }

// evidence says where a reason is seen, and who told it.
func (s *State) evidence(e *probes.Event) string {
	if s.seesTurns() {
		return s.lang.Inf(words.Text("kubelet event %d", "kubelet 事件 %d"), e.Seq)
	}
	st := s.h.Catalogue().Step(e.Step)
	if st == nil || !st.Outside() {
		return s.lang.Inf(words.Text("%s, event %d", "%s，事件 %d"), words.Clean(e.Step), e.Seq)
	}
	who := words.Text("the API server", "API server")
	switch {
	case st.Seen == probes.ByKubelet, words.Short(e.Fields["from"]) == string(probes.ByKubelet):
		who = words.Text("the kubelet's /pods", "kubelet 的 /pods")
	case st.Seen == probes.ByRuntime:
		who = words.Text("the runtime", "运行时")
	}
	return s.lang.Inf(words.Text("%s, told by %s, event %d", "%s（来自 %s），事件 %d"), words.Clean(e.Step), s.lang.In(who), e.Seq)
}

// whyBeside is whyOf where no worker is seen.
func (s *State) whyBeside(i int, name string, p *life.Pod, mark life.State, from int64, v *view) (string, *probes.Event) {
	l := s.lang
	switch {
	case mark == life.Gone && !p.Bound:
		return l.Inf(words.Text("%s is gone: what is left is a sandbox that has stopped, until garbage collection comes.", "%s 已消失：只剩一个已停止的沙箱，等待垃圾回收。"), name), s.h.LastEnter(i, v.at, probes.RoleSandboxState)
	case mark == life.Gone:
		return l.Inf(words.Text("%s is gone: the cluster has it no more.", "%s 已消失：集群里已经没有它。"), name), s.h.LastEnter(i, v.at, probes.RoleGone, probes.RoleKnown)
	case p.At != none && (mark != life.Stuck || p.Blocked == none || history.Since(p.Since, v.now) > life.StuckAfter):
		return s.whyTurning(i, name, p, v)
	case mark == life.Done && p.Phase != life.Succeeded && p.Phase != life.Failed:
		return l.Inf(words.Text("%s has ended: none of its containers is started again.", "%s 已结束：容器都不会再启动。"), name), s.h.LastEnter(i, v.at, probes.RoleCondition)
	case p.Blocked != none && !p.Deleting && mark != life.Done:
		return s.whyBlocked(name, p)
	case p.Tries > 0 && mark != life.Done:
		return s.whyCallFails(name, p)
	case p.Deleting:
		line := l.Inf(words.Text("%s is being deleted, for %s now.", "%s 正在被删除，已经 %s。"), name, words.Took(history.Since(p.DeletedAt, v.now)))
		if names := s.finalizers(p); names != "" {
			line += l.Inf(words.Text(" Its object stays until its finalizers are removed: %s.", "对象会保留到它的 finalizer 被移除：%s。"), names)
		}
		return line, s.h.LastEnter(i, v.at, probes.RoleDeleting)
	case mark == life.Done:
		return l.Inf(words.Text("%s has ended: %s.", "%s 已结束：%s。"), name, life.Phases[p.Phase]), s.h.LastEnter(i, v.at, probes.RolePhase)
	case mark == life.Idle && !s.h.Epoch().Knows.Reports:
		return l.Inf(words.Text("%s runs, as far as its calls tell; nobody is asked whether it is ready.", "从调用看 %s 正在运行；是否就绪无人可问。"), name), s.h.LastEnter(i, v.at, probes.RoleStart, probes.RoleContainerStatus, probes.RoleSandboxState)
	case mark == life.Idle:
		return l.Inf(words.Text("%s runs and is ready.", "%s 正在运行，已就绪。"), name), s.h.LastEnter(i, v.at, probes.RoleCondition)
	case p.Warned != none:
		return s.whyWarned(name, p)
	case p.Phase == life.Running:
		return l.Inf(words.Text("%s runs but is not ready: a health probe has not succeeded, or a container is not up.", "%s 正在运行但没有就绪：健康探针尚未成功，或有容器没起来。"), name), s.h.LastEnter(i, v.at, probes.RoleContainerState, probes.RoleCondition)
	}
	return s.whyQuiet(i, name, p, from, v)
}

// whyBlocked says why a container cannot start, as is reported.
func (s *State) whyBlocked(name string, p *life.Pod) (string, *probes.Event) {
	l := s.lang
	e, ok := s.h.Event(p.Blocked)
	if !ok {
		return l.Inf(words.Text("%s: a container cannot start.", "%s：有容器无法启动。"), name), nil
	}
	word := func(field string) string { return words.Short(e.Fields[field]) }
	reason := word("reason")
	if word("state") == "terminated" {
		return l.Inf(words.Text("%s, container %s: it ended with exit code %s (%s), and not for the first time. Restarts: %s.", "%s 的容器 %s：已退出，退出码 %s（%s），且不是第一次。已重启 %s 次。"),
			name, word("container"), word("exitCode"), reason, word("restartCount")), &e
	}
	line := l.Inf(words.Text("%s, container %s: %s (%s).", "%s 的容器 %s：%s（%s）。"), name, word("container"), l.In(failures[reason].full), reason)
	if code := word("lastExitCode"); code != "" {
		line += l.Inf(words.Text(" Its last exit code was %s (%s).", "上次的退出码是 %s（%s）。"), code, word("lastReason"))
	} else if why := words.Cut(plainError(word("message")), maxReason); why != "" {
		line += " " + why + l.In(words.Text(".", "。"))
	}
	if n := word("restartCount"); n != "" && n != "0" {
		line += l.Inf(words.Text(" Restarts: %s.", "已重启 %s 次。"), n)
	}
	return line, &e
}

// whyCallFails says which call to the runtime fails, and with what.
func (s *State) whyCallFails(name string, p *life.Pod) (string, *probes.Event) {
	err, e := s.lastError(p)
	line := s.lang.Inf(words.Text("%s: %s fails: %s.", "%s：%s 失败：%s。"), name, s.title(s.h.Step(p.FailStep)), words.Cut(plainError(err), maxReason))
	if p.Tries > 1 {
		line += s.lang.Inf(words.Text(" Failed %d times.", "已失败 %d 次。"), p.Tries)
	}
	return line, e
}

func (s *State) whyWarned(name string, p *life.Pod) (string, *probes.Event) {
	e, ok := s.h.Event(p.Warned)
	if !ok {
		return s.lang.Inf(words.Text("%s was warned about.", "%s 有警告。"), name), nil
	}
	return s.lang.Inf(words.Text("%s: %s: %s", "%s：%s：%s"), name, words.Short(e.Fields["reason"]), words.Cut(plainError(words.Short(e.Fields["message"])), maxReason)), &e
}

// whyQuiet is about a pod that is on its way and for which no call goes on.
func (s *State) whyQuiet(i int, name string, p *life.Pod, from int64, v *view) (string, *probes.Event) {
	l, quiet := s.lang, words.Took(history.Since(from, v.now))
	e := s.h.LastEnter(i, v.at, probes.RoleKnown, probes.RoleBound)
	switch {
	case !s.h.Epoch().Knows.Reports:
		return l.Inf(words.Text("%s: no call goes on for it, and nobody is asked how it is.", "%s：没有正在进行的调用，也无人可问它的状况。"), name), nil
	case p.Sandboxed:
		return l.Inf(words.Text("%s has its sandbox; what the kubelet does until the next call is not seen from here. So for %s.", "%s 的沙箱已建好；kubelet 在下一次调用前做什么，这里看不到。已经 %s。"), name, quiet), e
	case e != nil && s.h.Catalogue().Step(e.Step).Story.Role == probes.RoleKnown:
		return l.Inf(words.Text("%s: the kubelet knows it and has not called the runtime for it; what it does is not seen from here. So for %s.", "%s：kubelet 已得知它，但还没有为它调用运行时；它在做什么，这里看不到。已经 %s。"), name, quiet), e
	}
	return l.Inf(words.Text("%s is bound to this node; the kubelet has not shown yet that it knows. So for %s.", "%s 已绑定到本节点，但还没有迹象表明 kubelet 已得知。已经 %s。"), name, quiet), e
}

// blindBeside says in few words what is not seen.
func (s *State) blindBeside() string {
	what := s.lang.In(words.Text("not seen: inside the kubelet", "看不到：kubelet 内部"))
	if !s.h.Epoch().Knows.Reports {
		what += s.lang.In(words.Text(", the API server", "、API server"))
	}
	return what
}

// holdCostBeside says whether a pod can be held before a call passes on to the
// runtime, and what that costs: unlike in the kubelet, the call has begun.
func (s *State) holdCostBeside(st *history.Step) string {
	if st.Here == nil || st.Here.GetHoldEnter() == "no" {
		out := s.lang.In(holdWords["no"])
		if why := st.Here.GetWhy(); why != "" && st.Here.GetSeen() {
			out += s.lang.In(words.Text(" Reason: ", "原因：")) + words.Clean(why) + s.lang.In(words.Text(".", "。"))
		} else if why := s.lang.In(st.About.Hold.Why); why != "" {
			out += " " + why
		}
		return out
	}
	out := s.lang.In(words.Text("A pod may be held here: the call has begun, and is kept back before the runtime hears of it. The kubelet's own deadline for the call runs meanwhile.",
		"可以在这里停住 Pod：调用已经开始，但在到达运行时之前被扣住。期间 kubelet 自己给这次调用的期限在走。"))
	if t := s.h.Catalogue().Timer(timerCaller); t != nil {
		out += " " + s.lang.Inf(words.Text("Timer %s: %s", "计时器 %s：%s"), t.Name, s.lang.In(t.Text))
	}
	return out
}

// timerCaller is the timer of whoever made a call.
const timerCaller = "caller"
