package tui

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/reason"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
	"github.com/podstep/podstep/tui/ask"
	"github.com/podstep/podstep/tui/session"
	"github.com/podstep/podstep/tui/tours"
)

// shortWalk has a stop of each kind.
func shortWalk() *tours.Tour {
	return &tours.Tour{
		Name: "short", Title: words.Text("A short walk", "短途"), Text: words.Text("What it is about.", "内容。"), Ending: words.Text("That was all.", "结束。"),
		Pod: "default/hello",
		Stops: []tours.Stop{
			{Act: &tours.Action{Do: tours.Create, Manifest: "kind: Pod\nmetadata: {name: hello}"}, Title: words.Text("Make it", "创建"), Text: words.Text("A pod is made.", "创建 Pod。")},
			{Step: "sync.dirs", On: probes.Exit, Pod: "default/hello", Title: words.Text("Directories", "目录"), Text: words.Text("They are there.", "有了。"), Within: time.Minute},
			{
				Step: "cri.RunPodSandbox", On: probes.Enter, Pod: "default/hello", Hold: tours.HoldPod,
				Where: map[string]string{"attempt": "1"}, Title: words.Text("Sandbox", "沙箱"), Text: words.Text("It is asked for.", "请求。"),
				Question: &tours.Question{Text: words.Text("Who makes it?", "谁创建？"), Answer: words.Text("The runtime.", "运行时。")}, Within: time.Minute,
			},
			{Act: &tours.Action{Do: tours.Delete, Object: "pod/default/hello"}, Title: words.Text("Delete it", "删除"), Text: words.Text("It goes.", "它走了。")},
			{Step: "sync.volumes", On: probes.Exit, Pod: "default/hello", Title: words.Text("Volumes", "卷"), Text: words.Text("The end.", "末尾。"), Within: time.Minute},
		},
	}
}

func walking(t *testing.T) *desk {
	t.Helper()
	w := newWorld()
	d := newDesk(t, w, Options{StateFile: filepath.Join(t.TempDir(), "state.json")})
	d.m.offered = true
	d.live()
	d.run(d.m.startWalk(shortWalk()))
	return d
}

// helloHeld returns the hold of the pod at the walk's breakpoint.
func (d *desk) helloHeld(attempt int64) *agentpb.HoldInfo {
	h := d.w.held(d.w.points[len(d.w.points)-1].Id, "cri.RunPodSandbox")
	h.Pod = hello
	h.Fields = []*agentpb.Field{eventtest.Field("attempt", attempt)}
	return h
}

func TestWalk(t *testing.T) {
	d := walking(t)
	d.sees("What it is about.")
	d.press("n").sees("A pod is made.", "kubectl create").called()
	d.press("n").called("break default/hello cri.RunPodSandbox podstep.dev/walk=run", "do create")
	d.sees("waiting for sync.dirs")
	d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}})
	d.sees("They are there.")
	d.press("n").called().sees("waiting for cri.RunPodSandbox")
	d.helloHeld(0)
	d.poll()
	d.called("continue u-hello").sees("waiting for cri.RunPodSandbox")
	d.helloHeld(1)
	d.poll()
	d.called("remove").sees("It is asked for.", "Who makes it?").seesNot("The runtime.")
	d.press("a").sees("The runtime.")
	d.press("v").sees("It is asked for.", "Who makes it?", "The runtime.").press("esc")
	d.press("enter").sees("It goes.").called()
	d.press("n").called("continue u-hello", "do delete").sees("waiting for sync.volumes")
	d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}})
	d.sees("The end.")
	d.press("n").sees("That was all.").called()
	if r := recall(d.m.opts.StateFile); !slices.Equal(r.Walks, []string{"short"}) {
		t.Errorf("remembered are %q", r.Walks)
	}
	d.press("n").sees("Delete what the walk made?").called()
	d.press("right", "enter").called("undo")
	if d.m.walk != nil || len(d.w.points) != 0 || len(d.w.holds) != 0 {
		t.Error("the walk left something behind")
	}
}

// refusal is an error of the agent, as a client returns it.
type refusal struct{ error }

func refusalOf(t *testing.T, code agentpb.Problem_Code) error {
	t.Helper()
	st, err := status.New(codes.FailedPrecondition, "pod default/hello is not held").WithDetails(&agentpb.Problem{Code: code})
	if err != nil {
		t.Fatal(err)
	}
	return refusal{st.Err()}
}

func (r refusal) Unwrap() error      { return r.error }
func (r refusal) Words() probes.Text { return reason.Problem(reason.ProblemOf(r.error)) }

// TestWalkHoldIsOver: a walk goes on if its pod's lease ended before the walk lets the pod go. Any other refusal
// stops it, and is shown in the reader's language.
func TestWalkHoldIsOver(t *testing.T) {
	for code, want := range map[agentpb.Problem_Code]string{
		agentpb.Problem_NOT_HELD:  "等待 sync.volumes",
		agentpb.Problem_READ_ONLY: "该代理是只读的",
	} {
		d := walking(t)
		d.m.lang = words.Chinese
		d.press("n", "n")
		d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}})
		d.press("n")
		d.helloHeld(1)
		d.poll()
		d.w.notHeld = refusalOf(t, code)
		d.press("enter", "n")
		if wait := d.m.walk.Card().Wait; !strings.HasPrefix(wait, want) {
			t.Errorf("%s: the walk says %q", code, wait)
		}
	}
}

// TestWalkEndsAnywhere: at whatever moment a walk ends, it leaves no breakpoint and no held pod behind, not even one
// that was on its way.
func TestWalkEndsAnywhere(t *testing.T) {
	for stop := range 4 {
		d := walking(t)
		steps := []func(){
			func() { d.press("n") },
			func() { d.press("n") },
			func() { d.deliver(session.News{Batches: []*agentpb.Batch{d.w.creation(hello)}}); d.press("n") },
			func() { d.helloHeld(1); d.poll() },
		}
		for _, do := range steps[:stop+1] {
			do()
		}
		d.press("x")
		if d.m.walk != nil || len(d.w.points) != 0 || len(d.w.holds) != 0 {
			t.Errorf("ended after %d steps: %d breakpoints, %d holds", stop+1, len(d.w.points), len(d.w.holds))
		}
	}
	d := walking(t)
	d.press("n")
	d.park = true
	d.press("n", "x")
	d.unpark()
	if len(d.w.points) != 0 {
		t.Error("a breakpoint that was on its way when the walk ended stays")
	}
}

func TestWalkShowsErrors(t *testing.T) {
	d := walking(t)
	d.press("n")
	d.w.fail = errors.New("the API server is not there")
	d.press("n").sees("the API server is not there", "A pod is made.")
	d.w.fail = nil
	d.press("n").sees("waiting for sync.dirs")
}

func TestWalkWarnsWhenItTakesLong(t *testing.T) {
	d := walking(t)
	d.press("n", "n")
	d.now = d.now.Add(2 * time.Minute)
	d.send(tickMsg{})
	if wait := d.m.walk.Card().Wait; !strings.Contains(wait, "has not come in 1m0s") {
		t.Errorf("after two minutes the card says %q", wait)
	}
}

// TestRecordedWalk: the walk reads the events from before it began.
func TestRecordedWalk(t *testing.T) {
	w := newWorld()
	d := newDesk(t, w, Options{})
	d.m.offered = true
	w.past = []*agentpb.Batch{w.creation(hello)}
	d.live(w.past...)
	tour := shortWalk()
	tour.Needs.Recorded = true
	tour.Stops = tour.Stops[1:2]
	d.park = true
	d.run(d.m.startWalk(tour))
	// The card does not offer a key that would do nothing yet.
	if wait := d.m.walk.Card().Wait; strings.Contains(wait, "n begins") {
		t.Errorf("while the past is read the card says %q", wait)
	}
	d.unpark()
	d.sees("n begins")
	d.press("n").sees("They are there.")
}

func TestFirstWalkIsOffered(t *testing.T) {
	w := newWorld()
	w.info.Lab = true
	d := newDesk(t, w, Options{})
	d.live().sees("A first walk?")
	d.now = d.now.Add(quietTime)
	d.press("left", "enter").seesNot("A first walk?")
	if d.m.walk != nil {
		t.Error("a walk is on that was not wanted")
	}
	w = newWorld()
	d = newDesk(t, w, Options{})
	d.live(w.creation(web)).seesNot("A first walk?")
}

func TestWalkByName(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, newWorld(), Options{Tour: all[0].Name})
	d.live()
	if d.m.walk == nil || d.m.walk.Card().Title != all[0].Title.En {
		t.Errorf("--tour %s did not begin it", all[0].Name)
	}
	d.sees("x ends the walk")
}

func TestToursAreListed(t *testing.T) {
	all, err := tours.Load()
	if err != nil {
		t.Fatal(err)
	}
	d := started(t)
	d.press("T")
	p := d.m.top().Layer.(*ask.Picker)
	if len(p.Found()) != len(all) {
		t.Errorf("%d of %d walks are listed", len(p.Found()), len(all))
	}
	d.press("enter")
	if d.m.walk == nil {
		t.Error("choosing a walk did not begin it")
	}
}

// TestWalkNeedsDevices: a walk that needs devices is refused where there are none, and begins where there are.
func TestWalkNeedsDevices(t *testing.T) {
	for _, devices := range []bool{false, true} {
		d := started(t)
		d.w.devices, d.w.info.Lab = devices, true
		tour := shortWalk()
		tour.Needs = tours.Needs{Runtime: tours.Sim, Devices: true}
		d.run(d.m.startWalk(tour))
		if began := d.m.walk != nil; began != devices {
			t.Errorf("devices %v: the walk begins: %v", devices, began)
		}
		if !devices {
			d.sees("podstep lab --devices 1")
		}
	}
}
