package causes

import (
	"cmp"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/explain/evidence"
	whys "github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// sides says where in a step a pod is held, by the words of a hold's event.
var sides = map[string]probes.Text{
	"enter":  words.Text("before", "之前"),
	"exit":   words.Text("after", "之后"),
	"inside": words.Text("within", "之中"),
}

// callAt says how far the call is at which a pod is held, by the words of a hold's event.
var callAt = map[string]probes.Text{
	"enter":  words.Text("The call has not begun.", "这次调用还没开始。"),
	"exit":   words.Text("That call has ended; what comes next has not begun.", "这次调用已经结束，下一步还没开始。"),
	"inside": words.Text("The call has begun and has not ended.", "这次调用已经开始，还没结束。"),
}

// beforeRuntime is callAt for a call that podstep holds between the kubelet and its runtime.
var beforeRuntime = words.Text("The kubelet has made the call; the runtime has not received it.", "kubelet 已发出调用，但运行时还没收到。")

// held finds that podstep itself holds the pod. Whatever else is to be seen of the pod then comes of that: held calls that do
// not end, volumes that are not mounted, a deletion that does not go on.
func held(c *Case) []Finding {
	if c.Story == nil || c.Story.Hold == nil {
		return nil
	}
	h := c.Story.Hold
	side, far := sides[h.On], callAt[h.On]
	if h.On == "enter" && !c.Story.Turns {
		far = beforeRuntime
	}
	args := Args{
		"step": quoted(cmp.Or(h.Title.En, h.Step), "a step"), "stepZh": quoted(cmp.Or(h.Title.Zh, h.Step), "某一步"),
		"side": cmp.Or(side.En, "at"), "sideZh": cmp.Or(side.Zh, "处"), "by": "somebody", "byZh": "某人", "left": "a while", "leftZh": "一段时间",
		"far": far.En, "farZh": far.Zh,
	}
	switch {
	case h.By == nil:
	case h.By.You:
		args["by"], args["byZh"] = "you", "你"
	default:
		by := whys.Peer(&agentpb.Peer{Uid: uint32(h.By.UID), Pid: int32(h.By.PID), Account: h.By.Account, User: h.By.User})
		args["by"], args["byZh"] = by.En, by.Zh+" "
	}
	if !h.Ends.IsZero() {
		args["left"] = words.Took(max(0, h.Ends.Sub(c.Now)))
		args["leftZh"] = args["left"] + " "
	}
	id := "podstep.held"
	if c.terminating() {
		id = "podstep.heldDeleting"
	}
	f := c.found(id, "", args, Certain, cmp.Or(h.Since, c.Story.Since), Evidence{
		Source: evidence.Agent, Where: words.Text("hold", "停住"), Text: whyHeld(h), At: cmp.Or(h.Since, c.Now), Seq: h.Seq, Step: h.Step,
	})
	return []Finding{f}
}

// whyHeld returns what the hold is for, with its message.
func whyHeld(h *evidence.Hold) probes.Text {
	why := cmp.Or(words.Same(h.Why), words.Text("podstep holds the pod", "podstep 停住了这个 Pod"))
	if h.Message == "" {
		return why
	}
	return words.With(words.Text("%s: %s", "%s：%s"), why, h.Message)
}

// quoted returns a step's title in quotes, or what stands for a step that is not known.
func quoted(title, unknown string) string {
	if title == "" {
		return unknown
	}
	return "“" + title + "”"
}
