package tui

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/cluster"
	"github.com/podstep/podstep/tui/screen"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// world is a test's session: nothing happens in it by itself.
type world struct {
	// mu serves calls that are made at the same time.
	mu     sync.Mutex
	info   *agentpb.InfoResponse
	file   string
	calls  []string
	holds  []*agentpb.HoldInfo
	points []*agentpb.Breakpoint
	past   []*agentpb.Batch
	// devices: the nodes have devices.
	devices bool
	// closely is the uid of the pod that is watched closely.
	closely string
	// records is the content of a recording; nil: no file is written.
	records []*agentpb.Batch
	fail    error
	// notHeld is the error of letting a pod go; nil if that succeeds.
	notHeld error
	seq     uint64
	spans   uint64
	last    uint32
	// shown are the holds whose event has come.
	shown map[uint32]*agentpb.HoldInfo

	// What runs of walks find, and what they made.
	found  cluster.Found
	suffix string
	others []string
	refuse error
	made   []string
}

func newWorld() *world {
	info := agenttest.Info()
	info.Lab, info.Started = false, timestamppb.New(time.Unix(1e9, 0))
	return &world{shown: map[uint32]*agentpb.HoldInfo{}, info: info}
}

var errNothing = fmt.Errorf("nothing is new: %w", context.Canceled)

func (w *world) Next(context.Context) (session.News, error) { return session.News{}, errNothing }
func (w *world) File() string                               { return w.file }
func (w *world) WatchClosely(uid string)                    { w.closely = uid }
func (w *world) Close()                                     {}
func (w *world) Control() session.Control {
	if w.file != "" {
		return nil
	}
	return w
}

func (w *world) call(format string, args ...any) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, fmt.Sprintf(format, args...))
	return w.fail
}

// held moves the only pod to a step and holds it there, by a breakpoint or, if that is 0, at somebody's request.
func (w *world) held(breakpoint uint32, step string) *agentpb.HoldInfo {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last++
	h := &agentpb.HoldInfo{
		Id: w.last, Pod: web, Step: step, On: "enter", Cause: causeOf(breakpoint), Breakpoint: breakpoint, Lease: durationpb.New(5 * time.Minute),
		Ends: durationpb.New(5 * time.Minute), EndsBy: agentpb.EndsByLease,
		Since: timestamppb.New(time.Unix(1e9, 0)),
	}
	w.holds = []*agentpb.HoldInfo{h}
	return h
}

func causeOf(breakpoint uint32) agentpb.Cause {
	if breakpoint != 0 {
		return agentpb.Cause_CAUSE_BREAKPOINT
	}
	return agentpb.Cause_CAUSE_HOLD
}

func (w *world) Hold(ctx context.Context, r *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	if err := errors.Join(w.call("hold %s", r.Pods.Name), ctx.Err()); err != nil {
		return nil, err
	}
	return w.held(0, "sync.pod"), nil
}

func (w *world) Step(ctx context.Context, r *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	if err := errors.Join(w.call("step %s %s", r.Mode, r.Until), ctx.Err()); err != nil {
		return nil, err
	}
	return w.held(0, "cri.RunPodSandbox"), nil
}

func (w *world) Continue(_ context.Context, r *agentpb.ContinueRequest) ([]*agentpb.HoldInfo, error) {
	w.mu.Lock()
	let := w.holds
	w.holds = nil
	w.mu.Unlock()
	if r.All {
		return let, w.call("continue all")
	}
	return let, errors.Join(w.call("continue %s", r.Pods.Uid), w.notHeld)
}

func (w *world) Retry(_ context.Context, r *agentpb.RetryRequest) (*agentpb.RetryResponse, error) {
	return &agentpb.RetryResponse{Sync: 7, Ended: &agentpb.EndedBackOff{
		Step: "rt.backoff", Length: durationpb.New(40 * time.Second),
		Of: &agentpb.Field{Name: "container", Value: &agentpb.Field_Text{Text: "app"}},
	}}, w.call("retry %s", r.Pods.Uid)
}

func (w *world) Look(ctx context.Context, r *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	if err := errors.Join(w.call("look %d %s", r.Frame, r.Expression), ctx.Err()); err != nil {
		return nil, err
	}
	out := &agentpb.LookResponse{
		Pod: web, Step: "sync.pod", Stood: durationpb.New(12 * time.Millisecond),
		Frames: []*agentpb.StackFrame{
			{Function: "k8s.io/kubernetes/pkg/kubelet.(*Kubelet).SyncPod", File: "/src/pkg/kubelet/kubelet.go", Line: 1977},
			{Function: "k8s.io/kubernetes/pkg/kubelet.(*podWorkers).podWorkerLoop", File: "/src/pkg/kubelet/pod_workers.go", Line: 1270},
		},
	}
	if r.Expression != "" {
		out.Value = &agentpb.Variable{Type: "string", Value: fmt.Sprintf("%q", r.Expression)}
	} else {
		out.Locals = []*agentpb.Variable{{Name: "inFrame", Type: "int", Value: fmt.Sprint(r.Frame)}}
	}
	return out, nil
}

func (w *world) AddBreakpoint(_ context.Context, r *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error) {
	if err := w.call("break %s/%s %s%s", r.Pods.Namespace, r.Pods.Name, r.Step+r.At, labelsOf(r.Pods)); err != nil {
		return nil, err
	}
	w.last++
	b := &agentpb.Breakpoint{Id: w.last, Spec: r, Steps: []string{r.Step}}
	w.points = append(w.points, b)
	return b, nil
}

func labelsOf(p *agentpb.PodSelector) (text string) {
	for k, v := range p.Labels {
		text += " " + k + "=" + v
	}
	return text
}

func (w *world) RemoveBreakpoint(_ context.Context, id uint32) error {
	w.points = slices.DeleteFunc(w.points, func(b *agentpb.Breakpoint) bool { return b.Id == id })
	return w.call("remove")
}

func (w *world) Holds(context.Context) ([]*agentpb.HoldInfo, error)         { return w.holds, nil }
func (w *world) Breakpoints(context.Context) ([]*agentpb.Breakpoint, error) { return w.points, nil }
func (w *world) Poll()                                                      {}

func (w *world) History(_ context.Context, take func(*agentpb.InfoResponse, *agentpb.Batch) error) error {
	for _, b := range w.past {
		if err := take(w.info, b); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) Record(ctx context.Context, path string) (int, error) {
	if w.records == nil {
		return 7, w.call("record %s", path)
	}
	out, err := trace.Create(path, &trace.Header{Podstep: "v0.1.0", Began: time.Unix(2e9, 0), Info: w.info})
	if err != nil {
		return 0, err
	}
	for _, b := range w.records {
		err = errors.Join(err, out.Add(b))
	}
	return int(out.Events()), errors.Join(err, out.Close())
}

func (w *world) BeginWalk(string) WalkRun { return fakeRun{w} }
func (w *world) HasDevices() bool         { return w.devices }

// fakeRun is a run of a walk in the world. It makes no pod but hello.
type fakeRun struct{ w *world }

func (r fakeRun) ID() string { return "run" }

func (r fakeRun) Take(_ context.Context, t *tours.Tour, node string) (*tours.Tour, cluster.Found, error) {
	own, err := t.Own(r.ID(), r.w.suffix, node)
	return own, r.w.found, errors.Join(err, r.w.fail)
}

func (r fakeRun) Clear(context.Context) error {
	r.w.found = cluster.Found{}
	return r.w.call("clear")
}

func (r fakeRun) Do(_ context.Context, a *tours.Action) error {
	if err := r.w.call("do %s", a.Do); err != nil {
		return err
	}
	if r.w.refuse != nil {
		return r.w.refuse
	}
	r.w.made = append(r.w.made, "pod default/hello")
	return nil
}

func (r fakeRun) Others(context.Context) ([]string, error) { return r.w.others, r.w.fail }
func (r fakeRun) Mine(p *probes.Pod) bool                  { return p.UID == hello.Uid }
func (r fakeRun) Made() []string                           { return r.w.made }
func (r fakeRun) Undo(context.Context) error {
	r.w.made = nil
	return r.w.call("undo")
}

var (
	web   = &agentpb.Pod{Id: 1, Namespace: "default", Name: "web", Uid: "u-web"}
	hello = &agentpb.Pod{Id: 2, Namespace: "default", Name: "hello", Uid: "u-hello"}
)

// event makes one event. A span of zero begins a new span.
func (w *world) event(kind agentpb.Kind, step string, p *agentpb.Pod, span, parent uint64, fields ...*agentpb.Field) []byte {
	w.seq++
	return eventtest.Encode(&agentpb.Event{
		Seq: w.seq, Time: 1e18 + int64(w.seq)*1e7, Mono: int64(w.seq) * 1e7, Kind: kind, Step: eventtest.Step(w.info, step),
		Pod: p.GetId(), Span: span, Parent: parent, Sync: 1, Fields: fields, Duration: 1e6,
	})
}

// creation is the beginning of a pod's story, up to the request for its sandbox.
func (w *world) creation(p *agentpb.Pod) *agentpb.Batch {
	w.spans += 10
	s := w.spans
	return &agentpb.Batch{Pods: []*agentpb.Pod{p}, Events: [][]byte{
		w.event(agentpb.Kind_ENTER, "sync.pod", p, s, 0, eventtest.Field("updateType", "create")),
		w.event(agentpb.Kind_ENTER, "sync.dirs", p, s+1, s),
		w.event(agentpb.Kind_EXIT, "sync.dirs", p, s+1, s),
		w.event(agentpb.Kind_ENTER, "sync.volumes", p, s+2, s),
		w.event(agentpb.Kind_EXIT, "sync.volumes", p, s+2, s),
		w.event(agentpb.Kind_ENTER, "rt.sync", p, s+3, s),
		w.event(agentpb.Kind_ENTER, "cri.RunPodSandbox", p, s+4, s+3),
	}}
}

// desk is a person at the keys of a model. All effects of a key have happened when press returns: there are no
// goroutines, and no time but the test's.
type desk struct {
	t     testing.TB
	m     *Model
	w     *world
	now   time.Time
	waits []tea.Msg
	// park keeps commands from running, so that a test can look at a wait.
	park   bool
	parked []tea.Cmd
	quit   bool
	copied string
}

func newDesk(t testing.TB, w *world, o Options) *desk {
	d := &desk{t: t, w: w, now: time.Unix(1e9, 0)}
	if o.Lang == "" {
		o.Lang = words.English
	}
	o.Cluster = w
	s, _ := session.WithLedger(w)
	d.m = newModel(t.Context(), s, o, clock{
		now:   func() time.Time { return d.now },
		after: func(_ time.Duration, msg tea.Msg) tea.Cmd { d.waits = append(d.waits, msg); return nil },
	})
	d.run(d.m.Init())
	d.send(tea.WindowSizeMsg{Width: 120, Height: 36})
	return d
}

// live connects, and delivers the events from before.
func (d *desk) live(batches ...*agentpb.Batch) *desk {
	d.deliver(session.News{Info: d.w.info, Link: &session.LinkNews{Link: screen.LinkLive}, Batches: batches, CaughtUp: true})
	d.poll()
	return d
}

func (d *desk) deliver(n session.News) { d.send(newsMsg{news: n}) }

func (d *desk) poll() {
	p := &session.Poll{At: d.now, Breaks: d.w.points}
	if d.w.seq > 0 {
		p.Pods = []*agentpb.PodState{{Pod: web, Phase: "Pending", State: "working", Step: "cri.RunPodSandbox"}}
	}
	n := d.w.heldNow(d.now)
	n.Poll = p
	d.deliver(n)
}

// heldNow returns news of the holds, with the events that led to them.
func (w *world) heldNow(at time.Time) session.News {
	b := &agentpb.Batch{}
	for id, h := range w.shown {
		if !slices.ContainsFunc(w.holds, func(o *agentpb.HoldInfo) bool { return o.Id == id }) {
			delete(w.shown, id)
			b.Pods = append(b.Pods, h.Pod)
			b.Events = append(b.Events, w.event(agentpb.Kind_RELEASE, h.Step, h.Pod, 0, 0, eventtest.Field("on", h.On)))
		}
	}
	for _, h := range w.holds {
		if w.shown[h.Id] == nil {
			w.shown[h.Id] = h
			b.Pods = append(b.Pods, h.Pod)
			b.Events = append(b.Events, w.event(agentpb.Kind_HOLD, h.Step, h.Pod, 0, 0, eventtest.Field("on", h.On)))
		}
	}
	return session.News{Batches: []*agentpb.Batch{b}, Holds: &session.Holds{At: at, List: w.holds}}
}

func (d *desk) send(msg tea.Msg) {
	if held, ok := msg.(heldMsg); ok && held.hold != nil {
		// A session answers only after it has delivered the hold.
		d.deliver(d.w.heldNow(d.now))
	}
	_, cmd := d.m.Update(msg)
	d.run(cmd)
}

func (d *desk) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	if d.park {
		d.parked = append(d.parked, cmd)
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.QuitMsg:
		d.quit = true
	default:
		v := reflect.ValueOf(msg)
		switch {
		case v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeOf(tea.Cmd(nil)):
			for i := range v.Len() {
				d.run(v.Index(i).Interface().(tea.Cmd))
			}
		case strings.Contains(v.Type().String(), "setClipboardMsg"):
			d.copied = v.String()
		default:
			if n, ok := msg.(newsMsg); ok && n.err != nil {
				return
			}
			d.send(msg)
		}
	}
}

// unpark runs the commands that were kept from running.
func (d *desk) unpark() {
	d.park = false
	some := d.parked
	d.parked = nil
	for _, c := range some {
		d.run(c)
	}
}

// press presses keys, a second apart.
func (d *desk) press(keys ...string) *desk {
	for _, k := range keys {
		d.now = d.now.Add(time.Second)
		d.send(keyPress(k))
	}
	return d
}

func (d *desk) write(s string) *desk {
	for _, r := range s {
		d.send(keyPress(string(r)))
	}
	return d
}

var specials = map[string]rune{
	"enter": tea.KeyEnter, "esc": tea.KeyEscape, "tab": tea.KeyTab, "up": tea.KeyUp, "down": tea.KeyDown,
	"left": tea.KeyLeft, "right": tea.KeyRight, "pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "home": tea.KeyHome,
	"end": tea.KeyEnd, "space": tea.KeySpace, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete, "f1": tea.KeyF1,
}

func keyPress(name string) tea.KeyPressMsg {
	k := tea.Key{}
	for {
		mod, rest, two := strings.Cut(name, "+")
		if !two || mod == "" || rest == "" {
			break
		}
		k.Mod |= map[string]tea.KeyMod{"ctrl": tea.ModCtrl, "shift": tea.ModShift, "alt": tea.ModAlt}[mod]
		name = rest
	}
	if r, ok := specials[name]; ok {
		k.Code = r
		if name == "space" {
			k.Text = " "
		}
		return tea.KeyPressMsg(k)
	}
	k.Code = []rune(name)[0]
	if k.Mod == 0 {
		k.Text = name
	}
	return tea.KeyPressMsg(k)
}

// look returns the screen without colours.
func (d *desk) look() string { return ansi.Strip(d.m.View().Content) }

func (d *desk) sees(texts ...string) *desk {
	d.t.Helper()
	for _, s := range texts {
		if !strings.Contains(squeeze(d.look()), squeeze(s)) {
			d.t.Errorf("%q is not to be seen:\n%s", s, d.look())
		}
	}
	return d
}

func (d *desk) seesNot(s string) *desk {
	d.t.Helper()
	if strings.Contains(squeeze(d.look()), squeeze(s)) {
		d.t.Errorf("%q is to be seen:\n%s", s, d.look())
	}
	return d
}

// squeeze makes a text comparable that was broken into lines.
func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func (d *desk) called(want ...string) *desk {
	d.t.Helper()
	if !slices.Equal(d.w.calls, want) {
		d.t.Errorf("calls of the agent: %q, want %q", d.w.calls, want)
	}
	d.w.calls = nil
	return d
}

// ledgerOf returns the ledger through which a model acts.
func ledgerOf(m *Model) *session.Ledger { return m.control.(*session.Ledger) }
