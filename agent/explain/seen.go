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
	maxCalls  = 32
)

// Seen returns what a pod's story says at a position, for package causes. pod is the pod's
// place in the history.
func Seen(s Story, pod int, at Position) *evidence.Story {
	r := newReader(s, pod, at)
	out := &evidence.Story{
		State: r.state.String(), Since: r.wall(r.since), Phase: r.p.Phase.String(), Deleting: r.p.Deleting, Node: r.node(),
		Turns: r.knows.Turns, Calls: r.seesCalls(), Retries: r.h.EpochBefore(at.At).Info.GetRetries(), Tries: int(r.p.Tries), Next: r.wallOr(r.p.Next), Whereabouts: r.whereabouts(),
	}
	for _, p := range r.h.EpochBefore(at.At).Probes(at.At) {
		out.Probes = append(out.Probes, words.Clean(p.GetName()))
	}
	if r.state == life.Held {
		out.Hold = r.hold()
	}
	if call := r.shown(probes.RoleStatus); call != nil {
		out.StatusAt = call.Ended
	}
	r.addCalls(out)
	out.Stack = r.stack()
	for i := range r.p.Containers {
		out.Containers = append(out.Containers, r.restarting(&r.p.Containers[i]))
	}
	out.Behind = out.Whereabouts.Args[argOther]
	if looks := AwaitedLooks(out, r.wall(r.now)); looks != nil {
		SeeOthers(out, r.h, r.at, looks)
	}
	return out
}

// hold returns the hold of a held pod.
func (r *reader) hold() *evidence.Hold {
	e, ok := r.h.Event(r.p.HeldAt)
	if !ok {
		return &evidence.Hold{}
	}
	h := wire.Hold(r.h.Raw(r.p.HeldAt))
	out := &evidence.Hold{
		Seq: e.Seq, Step: words.Clean(e.Step), Title: r.h.Step(r.h.StepNamed(e.Step)).Title(), On: words.OneLine(h.On),
		Since: e.Time, Why: words.OneLine(words.Short(e.Fields["why"])), Message: words.OneLine(h.Message),
	}
	if h.Ends != nil {
		out.Ends = e.Time.Add(h.Ends.AsDuration())
	}
	if by := h.Peer; by != nil {
		out.By = &evidence.Asker{UID: int64(by.Uid), PID: int64(by.Pid), Account: words.OneLine(by.Account), User: words.OneLine(by.User), You: by.Same(r.h.EpochBefore(r.at).Info.GetYou())}
	}
	return out
}

// stack returns the last stack that a breakpoint kept of the pod, or nil.
func (r *reader) stack() *evidence.Stack {
	e, frames := r.h.LastStack(r.pod, r.at)
	if frames == nil {
		return nil
	}
	return &evidence.Stack{Seq: e.Seq, Step: words.Clean(e.Step), At: e.Time, Error: words.Cut(words.OneLine(e.Error), maxError), Frames: frames}
}

// seesCalls reports whether the calls to the runtime are seen.
func (r *reader) seesCalls() bool {
	return r.h.EpochBefore(r.at).Sees(r.h.StepFor(probes.RoleSandbox), r.at)
}

func (r *reader) restarting(t *life.Container) evidence.Restarting {
	out := evidence.Restarting{Name: words.OneLine(t.Name), Failed: int(t.Failed), Until: r.wallOr(t.Until), Up: r.upAgain(t)}
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

// upAgain returns when a container was started that crashed again and again before; zero: it is not up, or never did.
func (r *reader) upAgain(t *life.Container) time.Time {
	if again, ok := r.p.Loop(r.now); ok && again.Name == t.Name {
		return r.wallOr(t.Up)
	}
	return time.Time{}
}

// addCalls adds the calls that go on, and the status that is sent again and again. For each step, and each of its containers or volumes, it
// also adds the last call that has ended.
func (r *reader) addCalls(out *evidence.Story) {
	ended := &endings{of: map[string]int{}}
	looked := 0
	var sent resends
	r.h.Back(r.pod, r.at, func(ref int, sp *history.Span) bool {
		looked++
		call := r.h.Call(ref, r.at)
		sent.add(r, &call)
		switch {
		case call.Step == nil:
		case !call.Ended && len(out.Open) < maxCalls:
			out.Open = append(out.Open, callOf(r.h, &call))
		case call.Ended && sp.Shape != history.NoExit:
			r.addEnded(out, &call, sp.Failed, ended)
		}
		return looked >= maxLooked
	})
	slices.Reverse(out.Open)
	out.Resent = sent.resent()
}

// maxAnswers bounds the further containers of which the last answer of one step is kept.
const maxAnswers = 6

// endings counts the calls that have ended, by kind: the step, and its container or volume.
type endings struct {
	of   map[string]int
	more int // answers about further containers, which take no room from other kinds
}

// addEnded adds a call that has ended, unless a later one of its kind has. A call that went well does not stand for one about
// another container, of which it knows only the ID.
func (r *reader) addEnded(out *evidence.Story, call *history.Call, failed bool, ended *endings) {
	kind := call.Step.Name + " " + call.Text("container") + " " + call.Text("volume")
	first := ended.of[kind] == 0
	if id := call.Text("containerID"); id != "" && !failed {
		if ended.of[kind+id] > 0 || !first && ended.more >= maxAnswers {
			return
		}
		ended.of[kind+id]++
	} else if !first {
		return
	}
	ended.of[kind]++
	if !first {
		ended.more++
	}
	switch {
	case failed && len(out.Failed) < maxCalls:
		out.Failed = append(out.Failed, callOf(r.h, call))
	case !failed && (!first || len(out.Done)-ended.more < maxCalls):
		out.Done = append(out.Done, callOf(r.h, call))
	}
}

// maxField and maxError bound the texts of a call, in characters.
const (
	maxField = 120
	maxError = 2000
)

func callOf(h *history.History, call *history.Call) evidence.Call {
	out := evidence.Call{
		Step: call.Step.Name, Title: call.Step.Title().En, Began: wallOf(h, call.Start), Error: words.Cut(words.OneLine(call.Err), maxError),
	}
	pos := call.Enter
	if call.Ended {
		out.Ended, pos = wallOf(h, call.End), call.Exit
	}
	if head, ok := h.Header(pos); ok {
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
