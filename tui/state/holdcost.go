package state

import (
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/probes/words"
)

// holdCostOfCall is whether a pod can be held before a call passes on to the
// runtime, and what that costs: unlike in the kubelet, the call has begun.
func (s *State) holdCostOfCall(st *history.Step) string {
	if st.Here == nil || st.Here.GetHoldEnter() == "no" {
		out := s.lang.In(holdWords["no"])
		if why := st.Here.GetWhy(); why != "" && st.Here.GetSeen() {
			out += s.lang.In(words.Text(" Reason: ", "原因：")) + words.Clean(why) + s.lang.In(words.Text(".", "。"))
		} else if why := s.lang.In(st.About.Hold.Why); why != "" {
			out += " " + why
		}
		return out
	}
	out := s.lang.In(words.Text("A pod may be held here: the call has begun, and podstep keeps it back before the runtime receives it. The kubelet's own deadline for the call runs on meanwhile.",
		"可以在这里停住 Pod：调用已经开始，但在到达运行时之前被扣住。期间 kubelet 自己给这次调用的期限在走。"))
	if t := s.h.Catalogue().Timer(timerCaller); t != nil {
		out += " " + s.lang.Inf(words.Text("Timer %s: %s", "计时器 %s：%s"), t.Name, s.lang.In(t.Text))
	}
	return out
}

// timerCaller is the timer of whoever made a call.
const timerCaller = "caller"
