package agent

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// maker is a function of the agent that makes events of a kind, and a way to make it do so.
type maker struct {
	function string
	kind     agentpb.Kind
	make     func(*rig) []*agentpb.Event
}

// makers are all functions of the agent that make events.
var makers = []maker{
	{"Agent.putNew", agentpb.Kind_ENTER, oneTurn},
	{"Agent.putExit", agentpb.Kind_EXIT, oneTurn},
	{"Agent.hold", agentpb.Kind_HOLD, oneHold},
	{"Agent.hold", agentpb.Kind_RELEASE, oneHold},
	{"breakpoints.stop", agentpb.Kind_FAULT, oneFault},
	{"breakpoints.miss", agentpb.Kind_NOTE, oneMiss},
	{"Agent.snap", agentpb.Kind_NOTE, oneSnapshot},
	{"Agent.logFor", agentpb.Kind_NOTE, oneLog},
	{"Agent.logInside", agentpb.Kind_NOTE, oneLogInside},
	{"Agent.beginRetry", agentpb.Kind_NOTE, oneRetry},
	{"Agent.noteBackOff", agentpb.Kind_NOTE, oneRetry},
	{"Agent.Note", agentpb.Kind_NOTE, func(r *rig) []*agentpb.Event {
		return r.streamed(func() { r.Note("the runtime was restarted") })
	}},
	{"Probe.report", agentpb.Kind_NOTE, func(r *rig) []*agentpb.Event {
		return r.streamed(func() { r.probes[0].State(agentpb.ProbeState_PROBE_STOPPED, probes.Reason{}) })
	}},
	{"Agent.putSight", agentpb.Kind_NOTE, twoSights},
	{"journal.dropEvent", agentpb.Kind_DROP, func(r *rig) []*agentpb.Event {
		return r.streamed(func() { r.Lost(3) })
	}},
	{"watcher.addDrops", agentpb.Kind_DROP, oneWatcherDrop},
	{"story.fold", agentpb.Kind_NOTE, oneFold},
	{"history.drop", agentpb.Kind_DROP, oneCut},
}

// TestEventsHaveTimes: every event has a time, whichever function makes it. Zero would be 1970 on the screen, and
// before everything else in a trace.
func TestEventsHaveTimes(t *testing.T) {
	for _, m := range makers {
		t.Run(m.function+" "+m.kind.String(), func(t *testing.T) {
			r := newRig(t, Options{})
			events := m.make(r)
			if !slices.ContainsFunc(events, func(e *agentpb.Event) bool { return e.Kind == m.kind }) {
				t.Fatalf("no event of this kind among %v", events)
			}
			for _, e := range events {
				if e.Time < r.started.UnixNano() || e.Time > time.Now().UnixNano() || e.Mono <= 0 {
					t.Errorf("event has time %v, mono %v: %v", time.Unix(0, e.Time).UTC(), time.Duration(e.Mono), e)
				}
			}
		})
	}
}

// TestMakersAreAll: makers has every function of the agent that makes events.
func TestMakersAreAll(t *testing.T) {
	found := map[string]bool{}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			// queue.event returns an event that another function made.
			if f, ok := d.(*ast.FuncDecl); ok && makesEvent(f) && functionName(f) != "queue.event" {
				found[functionName(f)] = true
			}
		}
	}
	for _, m := range makers {
		if !found[m.function] {
			t.Errorf("%s makes no event: makers has one too many", m.function)
		}
	}
	for name := range found {
		if !slices.ContainsFunc(makers, func(m maker) bool { return m.function == name }) {
			t.Errorf("%s makes events, and makers does not know it", name)
		}
	}
}

// makesEvent reports whether a function has a literal of type event with a kind.
func makesEvent(f *ast.FuncDecl) (makes bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.CompositeLit)
		if id, named := (*ast.Ident)(nil), false; ok {
			id, named = lit.Type.(*ast.Ident)
			makes = makes || named && id.Name == "event" && len(lit.Elts) > 0
		}
		return true
	})
	return makes
}

func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if p, ok := of.(*ast.StarExpr); ok {
		of = p.X
	}
	return of.(*ast.Ident).Name + "." + f.Name.Name
}

func oneTurn(r *rig) []*agentpb.Event {
	_ = r.sync(newPod("default", "web"), nil)
	return r.events("web")
}

func oneHold(r *rig) []*agentpb.Event {
	p := newPod("default", "web")
	done := make(chan error, 1)
	_, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Pods: sel(p), Step: "sync.pod", Times: 1})
	if err != nil {
		r.t.Fatal(err)
	}
	go func() { done <- r.sync(p, nil) }()
	r.held(p).release("test")
	<-done
	return r.events("web")
}

func oneFault(r *rig) []*agentpb.Event {
	p := newPod("default", "web")
	for _, spec := range []*agentpb.AddBreakpointRequest{
		{Action: &agentpb.AddBreakpointRequest_Fail{Fail: "no"}},
		{Action: &agentpb.AddBreakpointRequest_Delay{Delay: durationpb.New(1)}},
	} {
		spec.Pods, spec.Step = sel(p), "sync.pod"
		if _, err := r.addBreakpoint(spec); err != nil {
			r.t.Fatal(err)
		}
		_ = r.sync(p, nil)
	}
	return r.events("web")
}

// oneWatcherDrop pushes more to a watcher than it may keep.
func oneWatcherDrop(r *rig) []*agentpb.Event {
	w, err := r.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		r.t.Fatal(err)
	}
	wall, mono := r.now()
	mono++
	for i := range watcherEvents + 10 {
		w.push(&event{seq: uint64(i) + 1, wall: wall, mono: mono, kind: agentpb.Kind_NOTE}, []byte{8, 1, 16, 1, 24, 1})
	}
	var last []kept
	for seen := 0; seen < watcherEvents; seen += len(last) {
		if last, err = w.next(r.t.Context()); err != nil {
			r.t.Fatal(err)
		}
	}
	return decoded(r.t, last[len(last)-1:])
}

// oneFold fills a recorder until it folds syncs of a pod.
func oneFold(r *rig) []*agentpb.Event {
	wall, mono := r.now()
	mono++
	rec := newRecorder(2 << 20)
	p := podOf(1, "u")
	for seq := uint64(1); rec.folded == 0; seq++ {
		e := &event{seq: seq, wall: wall, mono: mono, kind: agentpb.Kind_ENTER, pod: p, sync: uint32(seq / 10)}
		rec.add(e, e.appendTo(nil))
	}
	w, err := r.newWatcher(&agentpb.WatchRequest{})
	if err != nil {
		r.t.Fatal(err)
	}
	return decoded(r.t, rec.history(w).all())
}

// oneCut reads a history that is cut after its first message.
func oneCut(r *rig) []*agentpb.Event {
	for range 2 * batchEvents {
		r.Note("the runtime was restarted")
	}
	r.settle()
	var all []kept
	for _, begin := range []bool{true, false} {
		w := r.watcher(&agentpb.WatchRequest{Node: true})
		r.watch(w, true)
		if begin {
			all = append(all, w.history.read()...)
		}
		w.history.cutAt(r.journal.recorder.taken + historyKeeps + 1)
		all = append(all, w.history.all()...)
	}
	return decoded(r.t, all)
}

// streamed returns what a watcher of the node is given when something happens.
func (r *rig) streamed(something func()) []*agentpb.Event {
	w, err := r.newWatcher(&agentpb.WatchRequest{Node: true})
	if err != nil {
		r.t.Fatal(err)
	}
	r.watch(w, false)
	defer r.journal.unwatch(w)
	something()
	r.journal.put(event{kind: agentpb.Kind_NOTE, err: "more"}) // what was lost is reported with the next event
	var out []*agentpb.Event
	for {
		events, err := w.next(r.t.Context())
		if err != nil {
			r.t.Fatal(err)
		}
		if out = append(out, decoded(r.t, events)...); len(out) > 1 {
			return out
		}
	}
}

func decoded(t testing.TB, all []kept) (out []*agentpb.Event) {
	t.Helper()
	for _, k := range all {
		out = append(out, eventtest.Decode(t, k.data))
	}
	return out
}

// oneMiss lets a pod pass a breakpoint for want of room.
func oneMiss(r *rig) []*agentpb.Event {
	r.holds.taken.Store(r.limits().holds)
	p := newPod("default", "web")
	if _, err := r.addBreakpoint(&agentpb.AddBreakpointRequest{Step: "sync.pod"}); err != nil {
		r.t.Fatal(err)
	}
	_ = r.sync(p, nil)
	return r.events(p.Name)
}
