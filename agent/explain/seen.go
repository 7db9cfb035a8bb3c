package explain

import (
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// Bounds for the part of a story that goes into a snapshot: how many calls are looked at, and
// how many of each kind are kept.
const (
	maxLooked = 4000
	maxCalls  = 24
)

// Seen returns what a pod's story says at a position, for package causes. pod is the pod's
// place in the history.
func Seen(s Story, pod int, at Position) *evidence.Story {
	c := newCheck(s, pod, at)
	out := &evidence.Story{
		State: c.state.String(), Since: c.wall(c.since), Phase: c.p.Phase.String(), Deleting: c.p.Deleting, Node: c.node(),
		Turns: c.knows.Turns, Calls: c.seesCalls(), Tries: int(c.p.Tries), Next: c.wallOr(c.p.Next),
		Finding: string(Findings(s, pod, at)[0].Code),
	}
	for _, p := range c.h.EpochBefore(at.At).Probes(at.At) {
		out.Probes = append(out.Probes, words.Clean(p.GetName()))
	}
	if c.state == life.Held {
		out.Hold = c.hold()
	}
	c.addCalls(out)
	for i := range c.p.Containers {
		out.Containers = append(out.Containers, c.restarting(&c.p.Containers[i]))
	}
	if c.h.Role(c.p.Step) == probes.RolePullWait && c.inPullQueue() {
		if other, ok := c.pullQueue(0).Args["other"].(string); ok {
			out.Behind = other
		}
	}
	return out
}

// node returns the name of the node of which the story is.
func (c *check) node() string { return words.Clean(c.h.EpochBefore(c.at).Info.GetNode()) }

// hold returns the hold of a held pod.
func (c *check) hold() *evidence.Hold {
	e, ok := c.h.Event(c.p.HeldAt)
	if !ok {
		return &evidence.Hold{}
	}
	h := wire.Hold(c.h.Raw(c.p.HeldAt))
	out := &evidence.Hold{
		Seq: e.Seq, Step: words.Clean(e.Step), Title: c.h.Step(c.h.StepNamed(e.Step)).Title(), On: words.OneLine(h.On),
		Since: e.Time, Why: words.OneLine(words.Short(e.Fields["why"])),
	}
	if h.Ends != nil {
		out.Ends = e.Time.Add(h.Ends.AsDuration())
	}
	if by := h.Peer; by != nil {
		out.By = &evidence.Asker{UID: int64(by.Uid), PID: int64(by.Pid)}
	}
	return out
}

// seesCalls reports whether the calls to the runtime are seen.
func (c *check) seesCalls() bool {
	return c.h.EpochBefore(c.at).Sees(c.h.StepFor(probes.RoleSandbox), c.at)
}

// wall converts a session time to the wall clock's time.
func (c *check) wall(t int64) time.Time { return time.Unix(0, c.h.Origin()+t) }

// wallOr converts a session time to the wall clock's time. An unknown time, 0, becomes the zero time.
func (c *check) wallOr(t int64) time.Time {
	if t == 0 {
		return time.Time{}
	}
	return c.wall(t)
}

func (c *check) restarting(t *life.Container) evidence.Restarting {
	out := evidence.Restarting{Name: words.OneLine(t.Name), Failed: int(t.Failed), Until: c.wallOr(t.Until)}
	if t.Restarts > 0 {
		out.Restarts = int(t.Restarts)
	}
	switch t.BackOff {
	case life.CrashBackOff:
		out.BackOff = "crash"
	case life.PullBackOff:
		out.BackOff = "pull"
	}
	return out
}

// addCalls adds the calls that go on. For each step, and each of its containers or volumes, it
// also adds the last call that has ended.
func (c *check) addCalls(out *evidence.Story) {
	ended := map[string]bool{}
	looked := 0
	c.h.Back(c.pod, c.at, func(ref int, sp *history.Span) bool {
		looked++
		call := c.h.Call(ref, c.at)
		switch {
		case call.Step == nil:
		case !call.Ended && len(out.Open) < maxCalls:
			out.Open = append(out.Open, c.callOf(&call))
		case call.Ended && sp.Shape != history.NoExit:
			key := call.Step.Name + " " + call.Text("container") + " " + call.Text("volume")
			if ended[key] {
				break
			}
			ended[key] = true
			if sp.Failed && len(out.Failed) < maxCalls {
				out.Failed = append(out.Failed, c.callOf(&call))
			} else if !sp.Failed && len(out.Done) < maxCalls {
				out.Done = append(out.Done, c.callOf(&call))
			}
		}
		return looked >= maxLooked
	})
	slices.Reverse(out.Open)
}

// maxField and maxError bound the texts of a call, in characters.
const (
	maxField = 120
	maxError = 2000
)

func (c *check) callOf(call *history.Call) evidence.Call {
	out := evidence.Call{
		Step: call.Step.Name, Title: call.Step.Title().En, Began: c.wall(call.Start), Error: words.Cut(words.OneLine(call.Err), maxError),
	}
	pos := call.Enter
	if call.Ended {
		out.Ended, pos = c.wall(call.End), call.Exit
	}
	if head, ok := c.h.Header(pos); ok {
		out.Seq = head.Seq
	}
	for _, values := range []map[string]any{call.Args, call.Results} {
		for name, v := range values {
			if text := words.Short(v); text != "" && !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
				if out.Fields == nil {
					out.Fields = map[string]string{}
				}
				out.Fields[name] = words.Cut(words.OneLine(text), maxField)
			}
		}
	}
	return out
}
