package wording

import (
	"strings"

	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

var holdWords = map[string]probes.Text{
	"yes":    words.Text("A pod may be held here: only its own worker comes here.", "可以在这里停住 Pod：只有它自己的 worker 会来到这里。"),
	"worker": words.Text("A pod may be held here when its own worker comes here.", "来到这里的是 Pod 自己的 worker 时，可以停住它。"),
	"own":    words.Text("A hold here stops one goroutine, such as that of one health probe; nothing else waits.", "停在这里的是单独的 goroutine，只有它自己在等。"),
	"node":   words.Text("A hold here stops the whole node: every other pod waits as well. Only in a lab.", "停在这里，整个节点都会停下，其他 Pod 也要等。只有在实验环境里可以。"),
	"no":     words.Text("A pod may not be held here.", "不能在这里停住 Pod。"),
}

// holding puts into words what a hold of a pod at a step costs, as of a position.
type holding struct {
	lang words.Lang
	h    *history.History
	at   int
}

// HoldCost returns whether a pod can be held at a step, what that costs, and which probes cannot hold it there, or
// cannot make the step fail; as of a position.
func HoldCost(l words.Lang, h *history.History, id history.StepID, at int) string {
	w := holding{l, h, at}
	return w.cost(id)
}

// NoHold reports whether no pod can be held at a step now, and returns the reason.
func NoHold(l words.Lang, h *history.History, step string) (why string, is bool) {
	w := holding{l, h, h.End()}
	return w.none(step)
}

// holdRule is what a step's probes can do to hold a pod there.
type holdRule struct {
	enter, exit string         // the catalogue's rule for each side, if a probe can hold there
	by          *history.Reach // the first probe that can hold; nil: none can
	no          []string       // why other probes cannot
}

func (w *holding) holdRule(id history.StepID) holdRule {
	about, e := w.h.Step(id).About, w.h.EpochBefore(w.at)
	if e.Step(id) == nil {
		return holdRule{enter: string(about.Hold.Enter), exit: string(about.Hold.Exit)}
	}
	no := string(probes.HoldNo)
	r := holdRule{enter: no, exit: no}
	reaches := e.Reaches(id, w.at)
	for i := range reaches {
		can := reaches[i].Ability
		enter, exit := orElse(can.GetHoldEnter(), string(about.Hold.Enter)), orElse(can.GetHoldExit(), string(about.Hold.Exit))
		if r.enter == no {
			r.enter = enter
		}
		if r.exit == no {
			r.exit = exit
		}
		switch why := w.lang.In(wire.Why(can.GetNoHold()).Text()); {
		case enter != no || exit != no:
			if r.by == nil {
				r.by = &reaches[i]
			}
		case why != "" && len(reaches) > 1:
			r.no = append(r.no, words.Clean(reaches[i].Probe.GetName()+": "+why))
		case why != "":
			r.no = append(r.no, words.Clean(why))
		}
	}
	return r
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// rule returns the rule of the side at which a pod can be held.
func (r *holdRule) rule() string {
	if r.enter == string(probes.HoldNo) {
		return r.exit
	}
	return r.enter
}

// reasons returns why probes cannot hold, as a sentence.
func (w *holding) reasons(why []string) string {
	return w.lang.Inf(words.Text("Reason: %s.", "原因：%s。"), strings.Join(why, w.lang.In(words.Text("; ", "；"))))
}

func (w *holding) cost(id history.StepID) string {
	st := w.h.Step(id)
	if st.About == nil {
		return ""
	}
	r := w.holdRule(id)
	var out []string
	switch {
	case r.rule() == string(probes.HoldNo):
		out = w.noHold(st, &r)
	case st.Stage == "cri" && r.by != nil && !r.by.Probe.GetKnows().GetNesting():
		out = append(w.holdOfCall(), r.no...)
	default:
		out = append(w.holdOfStep(st, &r), r.no...)
	}
	if why := w.noFail(id); why != "" {
		out = append(out, why)
	}
	return w.lang.Sentences(out...)
}

func (w *holding) none(step string) (why string, is bool) {
	id := w.h.StepNamed(step)
	if text, is := w.h.Epoch().Unseen(id, w.at); is {
		return words.Clean(w.lang.In(text)), true
	}
	st := w.h.Step(id)
	if st.About == nil || w.h.Epoch().Step(id) == nil {
		return "", false
	}
	r := w.holdRule(id)
	switch {
	case r.rule() != string(probes.HoldNo):
		return "", false
	case len(r.no) > 0:
		return strings.Join(r.no, "; "), true
	}
	return w.lang.In(st.About.Hold.Why), true
}

func (w *holding) noHold(st *history.Step, r *holdRule) []string {
	out := []string{w.lang.In(holdWords[string(probes.HoldNo)])}
	if why := w.lang.In(st.About.Hold.Why); len(r.no) > 0 {
		out = append(out, w.reasons(r.no))
	} else if why != "" {
		out = append(out, why)
	}
	return out
}

// holdOfCall returns what it costs to hold a pod before a call passes on to the runtime: unlike inside the kubelet,
// the call has begun.
func (w *holding) holdOfCall() []string {
	out := []string{w.lang.In(words.Text("A pod may be held here: the call has begun, and podstep keeps it back before the runtime receives it. The kubelet's own deadline for the call runs on meanwhile.",
		"可以在这里停住 Pod：调用已经开始，但在到达运行时之前被扣住。期间 kubelet 自己给这次调用的期限在走。"))}
	if t := w.h.Catalogue().Timer(timerCaller); t != nil {
		out = append(out, w.lang.Inf(words.Text("Timer %s: %s", "计时器 %s：%s"), t.Name, w.lang.In(t.Text)))
	}
	return out
}

// timerCaller is the name of the timer of a call's caller.
const timerCaller = "caller"

// holdOfStep returns what it costs to hold a pod at a step inside the kubelet.
func (w *holding) holdOfStep(st *history.Step, r *holdRule) []string {
	no := string(probes.HoldNo)
	out := []string{w.lang.In(holdWords[r.rule()])}
	switch {
	case r.enter == no:
		out = append(out, w.lang.In(words.Text("Only when it returns.", "只能在它返回时。")))
	case r.exit == no:
		out = append(out, w.lang.In(words.Text("Only before it begins.", "只能在它开始之前。")))
	}
	if why := w.lang.In(st.About.Hold.Why); why != "" && r.rule() != string(probes.HoldYes) {
		out = append(out, why)
	}
	for _, name := range st.About.Timers {
		if t := w.h.Catalogue().Timer(name); t != nil {
			out = append(out, w.lang.Inf(words.Text("Timer %s (%s): %s", "计时器 %s（%s）：%s"), t.Name, t.After, w.lang.In(t.Text)))
		}
	}
	if len(st.About.Timers) == 0 {
		out = append(out, w.lang.In(words.Text("No timer of its own runs meanwhile.", "其间没有它自己的计时器在走。")))
	}
	return out
}

// noFail returns why the step cannot be made to fail, if the reason is that of its probes.
func (w *holding) noFail(id history.StepID) string {
	for _, r := range w.h.EpochBefore(w.at).Reaches(id, w.at) {
		if r.Ability.GetFail() {
			return ""
		}
		if why := w.lang.In(wire.Why(r.Ability.GetNoFail()).Text()); why != "" {
			return words.Clean(w.lang.Inf(words.Text("It cannot be made to fail here: %s.", "不能让它在这里失败：%s。"), why))
		}
	}
	return ""
}
