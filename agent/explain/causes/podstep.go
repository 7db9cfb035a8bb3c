package causes

import (
	"cmp"
	"fmt"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// sides says where in a step a pod is held, by the words of a hold's event.
var sides = map[string]probes.Text{
	"enter":  words.Text("before", "之前"),
	"exit":   words.Text("after", "之后"),
	"inside": words.Text("within", "之中"),
}

// held finds that podstep itself holds the pod. Whatever else is to be seen of the pod then comes of that: held calls that do
// not end, volumes that are not mounted, a deletion that does not go on.
func held(c *Case) []Finding {
	if c.Story == nil || c.Story.Hold == nil {
		return nil
	}
	h := c.Story.Hold
	side := sides[h.On]
	args := Args{
		"step": cmp.Or(h.Title.En, h.Step, "a step"), "stepZh": cmp.Or(h.Title.Zh, h.Step, "某一步"),
		"side": cmp.Or(side.En, "at"), "sideZh": cmp.Or(side.Zh, "处"), "by": "somebody", "byZh": "某人", "left": "a while", "leftZh": "一段时间",
	}
	if h.By != nil {
		args["by"], args["byZh"] = fmt.Sprintf("process %d of user %d", h.By.PID, h.By.UID), fmt.Sprintf("用户 %d 的进程 %d ", h.By.UID, h.By.PID)
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
		Source: evidence.Agent, Where: words.Text("hold", "停住"), Text: cmp.Or(words.Same(h.Why), words.Text("podstep holds the pod", "podstep 停住了这个 Pod")), At: cmp.Or(h.Since, c.Now), Seq: h.Seq, Step: h.Step,
	})
	return []Finding{f}
}
