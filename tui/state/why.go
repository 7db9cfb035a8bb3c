package state

import (
	"time"

	"github.com/podstep/podstep/probes"
)

// lastError is the error of the last turn, and the event that tells it.
func (s *State) lastError(p *podNow) (string, *probes.Event) {
	e, ok := s.event(p.failed)
	if !ok {
		return "", nil
	}
	return e.Error, &e
}

// trouble is the second line of a pod in the list.
func (s *State) trouble(pp podPlace, p *podNow, v *view) string {
	l := s.lang
	switch {
	case pp.mark == PodHeld:
		return s.heldPlace(p)
	case p.refused:
		return l.Say(text("the kubelet refused it", "kubelet 拒绝了它"))
	case s.epoch.beside:
		return s.troubleBeside(p)
	case p.tries > 0:
		err, _ := s.lastError(p)
		what := l.briefly(err)
		if p.tries > 1 {
			what += l.Say(text(", ", "，")) + l.nth(int(p.tries))
		}
		return what
	}
	return s.title(s.steps.at(p.step))
}

// heldStep is the step at which a pod is held.
func (s *State) heldStep(p *podNow) string {
	if p.told != nil {
		return Clean(p.told.GetStep())
	}
	if e, ok := s.event(p.heldAt); ok {
		return Clean(e.Step)
	}
	return s.steps.at(p.step).name
}

// heldPlace says where a pod is held: before or after a step.
func (s *State) heldPlace(p *podNow) string {
	title, on, _ := s.whereHeld(p)
	switch {
	case title == "":
		return s.lang.Say(text("held", "停住"))
	case on == "exit":
		return s.lang.sayf(text("after: %s", "之后：%s"), title)
	}
	return s.lang.sayf(text("before: %s", "之前：%s"), title)
}

// whereHeld is the title of the step at which a pod is held, the side of it, and
// the event that tells so, if it has come. The title is empty if nothing does.
func (s *State) whereHeld(p *podNow) (title, on string, e *probes.Event) {
	if p.told != nil {
		return s.title(s.steps.at(s.steps.byName[p.told.GetStep()])), p.told.GetOn(), nil
	}
	ev, ok := s.event(p.heldAt)
	if !ok {
		return "", "", nil
	}
	return s.title(s.steps.at(s.steps.byName[ev.Step])), short(ev.Fields["on"]), &ev
}

// whyOf says in one sentence why a pod is where it is, and what shows it.
func (s *State) whyOf(i int, v *view) Why {
	p := v.pod(i)
	mark, from := s.markPod(i, p, v)
	w := Why{Mark: mark}
	if i == 0 {
		w.Text = s.lang.Say(text("This is the node itself: what the kubelet does that is about no single pod.", "这是节点本身：kubelet 做的、不属于某个 Pod 的事情。"))
		return w
	}
	name := s.pods[i].entity.Name
	var evidence *probes.Event
	switch {
	case mark == PodHeld:
		w.Text, evidence = s.whyHeld(name, p)
	case s.isFormer(i, p, v):
		w.Text = s.lang.sayf(text("%s is not known to the agent that is there now. The one before told of it.",
			"现在的代理不知道 %s，之前的代理报告过它。"), name)
	case p.refused:
		w.Text, evidence = s.whyRefused(i, name, p)
	case s.epoch.beside:
		w.Text, evidence = s.whyBeside(i, name, p, mark, from, v)
	case mark == PodGone:
		w.Text = s.lang.sayf(text("%s is gone: its source has it no more.", "%s 已消失：它的来源里已经没有它。"), name)
		if c, ok := s.lastCall(i, s.steps.byName[string(stepRemove)], v.at); ok {
			if e, ok := s.event(c.exit); ok {
				evidence = &e
			}
		}
	case s.lingers(p):
		w.Text, evidence = s.whyLingers(name, p)
	case p.turning, !p.worker && !p.finished && p.at != none:
		w.Text, evidence = s.whyTurning(i, name, p, v)
	case p.tries > 0:
		w.Text, evidence = s.whyRetrying(i, name, p, v)
	default:
		w.Text, evidence = s.whyIdle(i, name, p, mark, from, v)
	}
	if evidence != nil {
		w.Evidence = s.evidence(evidence)
	}
	return w
}

func (s *State) whyHeld(name string, p *podNow) (string, *probes.Event) {
	title, on, e := s.whereHeld(p)
	if title == "" {
		return s.lang.sayf(text("%s waits because it is held.", "%s 在等，因为它被停住了。"), name), nil
	}
	if on == "exit" {
		return s.lang.sayf(text("%s waits because you hold it after “%s”. That call has ended; what comes next has not begun.",
			"%s 在等，因为你把它停在“%s”之后。这次调用已经结束，下一步还没开始。"), name, title), e
	}
	if s.epoch.beside {
		return s.lang.sayf(text("%s waits because you hold it before “%s”. The kubelet has made the call, the runtime has not heard of it.",
			"%s 在等，因为你把它停在“%s”之前。kubelet 已发出调用，但运行时还没收到。"), name, title), e
	}
	return s.lang.sayf(text("%s waits because you hold it before “%s”. The call has not begun.",
		"%s 在等，因为你把它停在“%s”之前。这次调用还没开始。"), name, title), e
}

func (s *State) whyRefused(i int, name string, p *podNow) (string, *probes.Event) {
	step := s.steps.byName[string(stepAdmit)]
	if c, ok := s.lastCall(i, step, s.arena.end); ok {
		e, _ := s.event(c.exit)
		return s.lang.sayf(text("%s was refused by the kubelet and will not run here: %s %s", "%s 被 kubelet 拒绝，不会在这里运行：%s %s"),
			name, c.text("reason"), c.text("message")), &e
	}
	return s.lang.sayf(text("%s was refused by the kubelet and will not run here.", "%s 被 kubelet 拒绝，不会在这里运行。"), name), nil
}

// places say what a pod waits for inside a step.
var places = map[stepName]probes.Text{
	stepVolumes:     text("its volumes are not all mounted yet", "它的卷还没有全部挂载"),
	stepPull:        text("its image is being pulled", "正在拉取它的镜像"),
	stepEnsure:      text("the kubelet makes sure its image is there", "kubelet 正在确认镜像"),
	stepRunSandbox:  text("the runtime creates its sandbox, with its network", "运行时正在创建它的沙箱和网络"),
	stepCreate:      text("the runtime creates a container", "运行时正在创建容器"),
	stepStarted:     text("the runtime starts a container", "运行时正在启动容器"),
	stepStop:        text("a container is asked to end, and has its grace period for it", "容器已被要求退出，正在宽限期内"),
	stepKillOne:     text("a container is being stopped", "正在停止一个容器"),
	stepPreStop:     text("a preStop hook runs", "preStop 钩子正在执行"),
	stepPostStart:   text("a lifecycle hook runs", "生命周期钩子正在执行"),
	stepNewer:       text("the worker waits for PLEG to look at the pod", "worker 在等 PLEG 查看这个 Pod"),
	stepTermUnmount: text("its volumes are being unmounted", "正在卸载它的卷"),
	"cri.ExecSync":  text("a command runs in a container", "容器中正在执行命令"),
}

func (s *State) whyTurning(i int, name string, p *podNow, v *view) (string, *probes.Event) {
	st := s.steps.at(p.step)
	what, ok := places[stepName(st.name)]
	switch {
	case st.name == string(stepPull) && s.inPullQueue(i, p, v):
		what = s.pullQueue(v)
	case !ok:
		what = text("the kubelet is at “"+s.title(st)+"”", "kubelet 正在“"+s.title(st)+"”")
	}
	var e *probes.Event
	if sp := s.spans.at(p.at); sp != nil {
		if ev, ok := s.event(sp.enter); ok {
			e = &ev
		}
	}
	d := since(p.since, v.now)
	line := s.lang.sayf(text("%s: %s, for %s now.", "%s：%s，已经 %s。"), name, s.lang.Say(what), took(d))
	if st.name == string(stepVolumes) {
		if why, ev := s.volumeTrouble(i, v); ev != nil {
			return line + " " + why, ev
		}
	}
	if p.deleting && p.work == workSync {
		line += s.lang.sayf(text(" It was told to end %s ago.", "%s 前已要求它终止。"), took(since(p.deletedAt, v.now)))
	}
	if d > stuckAfter {
		line += s.lang.Say(text(" That is longer than usual.", "这比平常久。"))
	}
	return line, e
}

func (s *State) whyRetrying(i int, name string, p *podNow, v *view) (string, *probes.Event) {
	err, e := s.lastError(p)
	what := s.lang.because(err)
	line := s.lang.sayf(text("%s: %s.", "%s：%s。"), name, what)
	line += s.lastExit(i, err, v)
	if p.tries > 1 {
		line += s.lang.sayf(text(" Failed %d times.", "已失败 %d 次。"), p.tries)
	}
	if unmounted.MatchString(err) {
		if why, ev := s.volumeTrouble(i, v); ev != nil {
			line, e = line+" "+why, ev
		}
	}
	if p.next > v.now {
		line += s.lang.sayf(text(" Next try in %s.", "%s 后再试。"), took(time.Duration(p.next-v.now)))
	}
	return line, e
}

// volumeTrouble is why a volume of a pod is not mounted: SyncPod only knows that
// it is not; the volume manager's goroutines met the error.
func (s *State) volumeTrouble(i int, v *view) (string, *probes.Event) {
	step := s.steps.byName["vol.op"]
	c, ok := s.lastCall(i, step, v.at)
	if !ok || !c.span.failed {
		return "", nil
	}
	e, ok := s.event(c.exit)
	if !ok {
		return "", nil
	}
	why := c.text("eventErr")
	if why == "" {
		why = oneLine(c.err)
	}
	return cut(why, maxReason) + s.lang.Say(text(".", "。")), &e
}

func (s *State) whyIdle(i int, name string, p *podNow, mark PodMark, from int64, v *view) (string, *probes.Event) {
	l := s.lang
	if p.finished || p.phase == phaseSucceeded || p.phase == phaseFailed {
		if p.deleting && p.finished {
			return l.sayf(text("%s has ended: its containers are stopped and its volumes are gone.", "%s 已结束：容器已停止，卷已清理。"), name), nil
		}
		return l.sayf(text("%s has ended: %s.", "%s 已结束：%s。"), name, phases[p.phase]), nil
	}
	if p.deleting {
		return l.sayf(text("%s is being deleted, for %s now.", "%s 正在被删除，已经 %s。"), name, took(since(p.deletedAt, v.now))), nil
	}
	e := s.lastStatus(i, v)
	switch mark {
	case PodRunning:
		line := l.sayf(text("%s runs and is ready.", "%s 正在运行，已就绪。"), name)
		if p.next > v.now {
			line += l.sayf(text(" The kubelet looks again in %s.", "kubelet 将在 %s 后再看。"), took(time.Duration(p.next-v.now)))
		}
		return line, e
	case PodWaiting:
		switch {
		case p.phase == phaseRunning:
			if line, ev := s.whyUnready(i, name, v); ev != nil {
				return line, ev
			}
			return l.sayf(text("%s runs but is not ready: a health probe has not succeeded, or a container is not up.", "%s 正在运行但没有就绪：健康探针尚未成功，或有容器没起来。"), name), e
		case p.sandboxed:
			return l.sayf(text("%s waits for something to happen to its containers; PLEG will tell.", "%s 在等容器发生变化，由 PLEG 报告。"), name), e
		case !p.worker:
			return l.sayf(text("%s has not come to its worker yet.", "%s 还没有交给 worker。"), name), nil
		}
	}
	return l.sayf(text("Nothing more is known of %s since %s.", "%s 近 %s 没有更多消息。"), name, took(since(from, v.now))), e
}

// lastStatus is the event in which the pod's status was worked out last.
func (s *State) lastStatus(i int, v *view) *probes.Event {
	c, ok := s.lastCall(i, s.steps.byName[string(stepGenerateStatus)], v.at)
	if !ok || c.exit == none {
		return nil
	}
	if e, ok := s.event(c.exit); ok {
		return &e
	}
	return nil
}

// lookBack bounds how many calls are looked through for one of a step.
const lookBack = 2000

// lastCall is the pod's last call of a step that had ended at a position.
func (s *State) lastCall(pod int, step stepID, at int) (call, bool) {
	spans := &s.pods[pod].spans
	for i, n := spans.end()-1, 0; i >= spans.first && n < lookBack; i, n = i-1, n+1 {
		ref := *spans.at(i)
		if sp := s.spans.at(ref); sp != nil && sp.step == step && sp.over(at) && sp.shape != noExit {
			return s.call(ref, at), true
		}
	}
	return call{}, false
}
