// Package reason has the texts for the codes of the protocol, in each language that podstep speaks: why the agent
// refused something, what a pod is held for, why a hold ended. The agent uses the English texts for the messages of its
// errors; clients use those of the reader's language.
package reason

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// text makes a text in both languages.
func text(en, zh string) probes.Text { return probes.Text{En: en, Zh: zh} }

// fill replaces names in braces by their values. A value that an agent of another version does not give becomes a
// question mark.
func fill(t probes.Text, values map[string]probes.Text) probes.Text {
	return t.Fill(func(name string) probes.Text {
		if v, ok := values[name]; ok {
			return v
		}
		return words.Same("?")
	})
}

// Cause returns what a pod is held for.
func Cause(h *agentpb.HoldInfo) probes.Text {
	switch h.GetCause() {
	case agentpb.Cause_CAUSE_HOLD:
		return text("hold", "停住")
	case agentpb.Cause_CAUSE_STEP:
		return text("step", "单步")
	case agentpb.Cause_CAUSE_BREAKPOINT:
		return words.With(text("breakpoint %d", "断点 %d"), h.GetBreakpoint())
	case agentpb.Cause_CAUSE_DELAY:
		return words.With(text("delay, breakpoint %d", "延迟，断点 %d"), h.GetBreakpoint())
	}
	return text("unknown", "未知")
}

// Timer returns what happens when a timer of the kubelet runs out. For a timer that the catalogue does not have, it
// returns the name.
func Timer(name string) probes.Text {
	if t := probes.MustLoad().Timer(name); t != nil {
		return t.Text
	}
	return words.Same(name)
}

// reasons are the texts of why a hold ended.
var reasons = map[string]probes.Text{
	agentpb.ReleaseContinue:     text("it was let go", "已被放行"),
	agentpb.ReleaseStep:         text("it goes on to the next place", "继续到下一处"),
	agentpb.ReleaseLease:        text("its lease is over", "租约到期"),
	agentpb.ReleaseTimer:        text("a timer of the kubelet is about to run out", "kubelet 的计时器即将到期"),
	agentpb.ReleaseClientGone:   text("the client that held it is gone", "停住它的客户端已退出"),
	agentpb.ReleaseCallGivenUp:  text("the kubelet gave the call up", "kubelet 放弃了这次调用"),
	agentpb.ReleaseAgentEnds:    text("the agent ends", "代理正在退出"),
	agentpb.ReleasePodKilled:    text("somebody waits for the pod to be killed", "有人在等待这个 Pod 被终止"),
	agentpb.ReleaseNodeShutdown: text("the node shuts down", "节点正在关机"),
	agentpb.ReleaseWorkerEnded:  text("its worker has ended", "它的 worker 已结束"),

	agentpb.RetryTerminating: text("the pod is terminating, and the kubelet starts nothing for it any more", "Pod 正在终止，kubelet 不会再为它启动任何东西"),
	agentpb.RetryTerminated:  text("the pod has ended", "Pod 已经结束"),
	agentpb.RetryUnknown:     text("the kubelet does not have the pod", "kubelet 没有这个 Pod"),
}

// Reason returns why a hold ended. It returns a code that this program does not know as it is.
func Reason(code string) probes.Text {
	if t, ok := reasons[code]; ok {
		return t
	}
	return words.Same(code)
}

// Released returns why a hold ended, by the fields of its RELEASE event.
func Released(fields map[string]any) probes.Text {
	code, _ := fields["reason"].(string)
	timer, _ := fields["timer"].(string)
	if code == agentpb.ReleaseTimer && timer != "" {
		return words.With(text("the kubelet's timer %s is about to run out: %s", "kubelet 的计时器 %s 即将到期：%s"), timer, Timer(timer))
	}
	return Reason(code)
}

// Logged returns the values of a NOTE event of a log, by their names.
func Logged(fields map[string]any) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if name != "note" && name != "breakpoint" {
			out = append(out, fmt.Sprintf("%s=%v", name, words.Short(fields[name])))
		}
	}
	return strings.Join(out, ", ")
}

// asker names the process that asked for what a NOTE event is about.
func asker(fields map[string]any) probes.Text {
	uid, _ := fields["uid"].(int64)
	pid, _ := fields["pid"].(int64)
	account, _ := fields["account"].(string)
	user, _ := fields["user"].(string)
	return Peer(&agentpb.Peer{Uid: uint32(uid), Pid: int32(pid), Account: account, User: user})
}

// lengthOf returns how long a back-off would have lasted, with what stands around it. It is empty if nobody knows.
func lengthOf(fields map[string]any) probes.Text {
	shown, _ := fields["length"].(string)
	d, err := time.ParseDuration(shown)
	if err != nil {
		return probes.Text{}
	}
	return length(d)
}

// length returns a length, with what stands around it. It is empty for zero.
func length(d time.Duration) probes.Text {
	if d == 0 {
		return probes.Text{}
	}
	return words.With(text(" of %s", "（%s）"), words.Took(d))
}

// NoteFields are the fields of a NOTE event that the text of its note has.
func NoteFields(fields map[string]any) []string {
	switch fields["note"] {
	case agentpb.NoteRetry, agentpb.NoteBackOffEnded:
		return []string{"note", "length", "uid", "pid", "account", "user", "credential"}
	}
	return []string{"note", "breakpoint", "held", "text"}
}

// Note returns what a NOTE event says, by its fields. It is empty if the event says nothing to a person.
func Note(fields map[string]any) probes.Text {
	switch fields["note"] {
	case agentpb.NoteBreakpointFull:
		return words.With(text("breakpoint %v lets the pod pass: %v pods are held already, the most that this agent holds at one time",
			"断点 %v 放过了这个 Pod：已有 %v 个 Pod 被停住，达到该代理的上限"), fields["breakpoint"], fields["held"])
	case agentpb.NoteRetry:
		return words.With(text("retry: the kubelet syncs the pod now, as %s asked", "重试：应%s的要求，kubelet 现在就同步这个 Pod"), asker(fields))
	case agentpb.NoteBackOffEnded:
		return words.With(text("the back-off%s is ended, as %s asked", "退避%s结束，应%s的要求"), lengthOf(fields), asker(fields))
	case agentpb.NoteSnapshot:
		return words.With(text("breakpoint %v kept the stack", "断点 %v 保存了调用栈"), fields["breakpoint"])
	case agentpb.NoteLog:
		return words.With(text("breakpoint %v: %s", "断点 %v：%s"), fields["breakpoint"], Logged(fields))
	}
	s, _ := fields["text"].(string)
	return words.Same(s)
}
