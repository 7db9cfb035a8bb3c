package alert

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/agenttest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

const second = int64(time.Second)

// timeline makes events at given seconds, and notes the matches with their seconds.
type timeline struct {
	t       *testing.T
	info    *agentpb.InfoResponse
	m       *Matcher
	seq     uint64
	matches []string
	last    *Match
	lost    int
}

func newTimeline(t *testing.T, text string, o Options) *timeline {
	t.Helper()
	a, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	l := &timeline{t: t, info: agenttest.Info()}
	o.Match = func(m *Match) {
		pod := ""
		if m.Pod != nil {
			pod = m.Pod.Name + " "
		}
		l.matches = append(l.matches, fmt.Sprintf("%g: %s%s", m.Time.Sub(time.Unix(1e9, 0)).Seconds(), pod, m.Text()))
		l.last = m
	}
	o.Lost = func(*probes.Event) { l.lost++ }
	l.m = New(a, l.info, probes.MustLoad(), o)
	l.m.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "shop", Name: "web", Uid: "u1"}, {Id: 2, Namespace: "shop", Name: "db", Uid: "u2"}}})
	return l
}

func (l *timeline) event(at float64, kind agentpb.Kind, step string, pod uint32, span uint64, change ...func(*agentpb.Event)) {
	l.seq++
	e := &agentpb.Event{Seq: l.seq, Kind: kind, Pod: pod, Span: span, Mono: int64(at * float64(second)), Time: 1e18 + int64(at*float64(second))}
	if step != "" {
		e.Step = eventtest.Step(l.info, step)
	}
	for _, c := range change {
		c(e)
	}
	l.m.Add(eventtest.Batch(e))
}

// play plays a script: a line for each event, as "SECOND KIND STEP SPAN [POD] [error=TEXT] [NAME=VALUE]...", or
// "SECOND clock" for the time alone.
func (l *timeline) play(script string) []string {
	l.t.Helper()
	begun := map[uint64]float64{}
	for line := range strings.Lines(script) {
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		var at float64
		fmt.Sscan(words[0], &at)
		if words[1] == "clock" {
			l.m.Advance(int64(at * float64(second)))
			continue
		}
		var span uint64
		fmt.Sscan(words[3], &span)
		kind := agentpb.Kind(agentpb.Kind_value[strings.ToUpper(words[1])])
		pod := uint32(1)
		l.event(at, kind, words[2], pod, span, func(e *agentpb.Event) {
			switch kind {
			case agentpb.Kind_ENTER:
				begun[span] = at
			case agentpb.Kind_EXIT:
				e.Duration = int64((at - begun[span]) * float64(second))
			}
			for _, w := range words[4:] {
				name, value, is := strings.Cut(w, "=")
				switch {
				case !is:
					e.Pod = map[string]uint32{"web": 1, "db": 2, "node": 0}[w]
				case name == "error":
					e.Error = value
				default:
					e.Fields = append(e.Fields, eventtest.Field(name, value))
				}
			}
		})
	}
	return l.matches
}

func TestMatches(t *testing.T) {
	for _, c := range []struct{ name, alert, script, want string }{
		{"an event", "err", `
			1 enter cri.PullImage 1
			2 exit cri.PullImage 1 error=denied
			3 enter cri.PullImage 2 db
			4 exit cri.PullImage 2 db`,
			"2: web cri.PullImage failed after 1.00 s: denied"},
		{"a call by its argument and its length", "field.image~busybox slow>1s", `
			1 enter cri.PullImage 1 image=busybox
			1 enter cri.PullImage 2 image=nginx db
			3 exit cri.PullImage 1
			3 exit cri.PullImage 2 db
			4 enter cri.PullImage 3 image=busybox
			5 exit cri.PullImage 3`,
			"3: web cri.PullImage ended after 2.00 s"},
		{"a call counts once", "step=cri.PullImage", `
			1 enter cri.PullImage 1
			2 exit cri.PullImage 1
			3 exit cri.PullImage 2`,
			"1: web cri.PullImage begins, 3: web cri.PullImage ended after 3.00 s"},
		{"a call goes on", "step=image.pull and running>2m", `
			10 enter image.pull 1
			20 enter image.pull 2 db
			129 clock
			130 clock
			131 clock
			139.5 exit image.pull 2 db
			300 exit image.pull 1`,
			"130: web image.pull goes on for more than 2m"},
		{"a call that ends in time", "running>2m", `
			10 enter image.pull 1
			129.9 exit image.pull 1
			900 clock`, ""},
		{"the events are the clock", "running>2m", `
			10 enter image.pull 1
			400 enter image.pull 2 db`,
			"130: web image.pull goes on for more than 2m"},
		{"the worker's life is no wait", "running>2m", `
			10 enter worker.loop 1
			400 clock`, ""},
		{"a sequence", "step=cri.CreateContainer then err within 30s", `
			1 enter cri.CreateContainer 1
			2 enter cri.StartContainer 2 db
			3 exit cri.StartContainer 2 db error=x
			31 exit cri.CreateContainer 1 error=x
			32 exit cri.StartContainer 3 error=x`,
			"31: web cri.CreateContainer begins; then cri.CreateContainer failed after 30.0 s: x"},
		{"a sequence that takes too long", "step=cri.CreateContainer then err within 30s", `
			1 enter cri.CreateContainer 1
			32 exit cri.CreateContainer 1 error=x`, ""},
		{"the last beginning counts", "step=cri.CreateContainer then err within 30s", `
			1 enter cri.CreateContainer 1
			20 enter cri.CreateContainer 2
			40 exit cri.CreateContainer 2 error=x
			41 exit cri.CreateContainer 1 error=x`,
			"40: web cri.CreateContainer begins; then cri.CreateContainer failed after 20.0 s: x"},
		{"one event is not two parts", "err then err", `
			1 exit cri.PullImage 1 error=a
			2 exit cri.PullImage 2 error=b
			3 exit cri.PullImage 3 error=c db`,
			"2: web cri.PullImage failed after 1.00 s: a; then cri.PullImage failed after 2.00 s: b"},
		{"three parts", "step=sync.pod then step=image.pull then err", `
			1 enter sync.pod 1
			2 exit image.pull 9 error=x db
			3 enter image.pull 2
			4 exit image.pull 2 error=x`,
			"4: web sync.pod begins; then image.pull begins; then image.pull failed after 1.00 s: x"},
		{"what does not come", "step=cri.CreateContainer kind=exit then not step=cri.StartContainer within 30s", `
			1 exit cri.CreateContainer 1
			10 exit cri.CreateContainer 2
			31 clock
			35 enter cri.StartContainer 3
			90 clock`,
			"31: web cri.CreateContainer ended after 1.00 s; then not within 30.0 s: step=cri.StartContainer"},
		{"what comes in time", "step=cri.CreateContainer kind=exit then not step=cri.StartContainer within 30s", `
			1 exit cri.CreateContainer 1
			20 enter cri.StartContainer 3
			90 clock`, ""},
		{"a wait in a sequence", "step=sync.pod then running>10s", `
			1 enter sync.pod 1
			2 enter image.pull 2
			9 exit image.pull 2
			20 enter image.pull 3
			60 clock`,
			"11: web sync.pod begins; then sync.pod goes on for more than 10.0 s"},
		{"the state", "state=stuck", `
			1 enter worker.turn 1
			2 enter sync.volumes 2
			50 clock
			100 clock
			200 clock
			210 exit sync.volumes 2
			300 clock`,
			"63: web stuck for 1m1s at sync.volumes, 271: web stuck for 1m1s at sync.volumes"},
		{"the state for long, and where", "state=stuck step=sync.volumes for 5m", `
			1 enter worker.turn 1
			2 enter sync.volumes 2
			2 enter worker.turn 3 db
			2 enter image.pull 4 db
			301 clock
			302 clock
			400 clock`,
			"302: web stuck for 5m at sync.volumes"},
		{"a state counts again after it ended", "state=stuck", `
			1 enter worker.turn 1
			2 enter sync.volumes 2
			100 exit sync.volumes 2
			100 exit worker.turn 1
			101 enter worker.turn 3
			101 enter sync.volumes 4
			300 clock`,
			"63: web stuck for 1m1s at sync.volumes, 162: web stuck for 1m1s at sync.volumes"},
		{"events of the node are not asked for", "err", `
			1 exit cri.PullImage 1 error=x node`, ""},
	} {
		l := newTimeline(t, c.alert, Options{})
		if got := strings.Join(l.play(c.script), ", "); got != c.want {
			t.Errorf("%s: %s\nmatches %s\nwant    %s", c.name, c.alert, got, c.want)
		}
	}
}

// TestSelection: pods and the node are chosen.
func TestSelection(t *testing.T) {
	script := `
		1 exit cri.PullImage 1 error=x
		2 exit cri.PullImage 2 error=x db
		3 exit cri.PullImage 3 error=x node`
	l := newTimeline(t, "err", Options{Pods: &agentpb.PodSelector{Name: "d*"}, Node: true})
	if got := l.play(script); len(got) != 2 || !strings.HasPrefix(got[0], "2: db ") || !strings.HasPrefix(got[1], "3: cri") {
		t.Errorf("matches %q", got)
	}
}

// TestLive: what the agent remembers is over and is not reported. What has lasted since is reported at once.
func TestLive(t *testing.T) {
	past := `
		1 exit cri.PullImage 9 error=x
		2 enter worker.turn 1
		3 enter sync.volumes 2
		4 enter image.pull 3 db
		5 exit cri.PullImage 8 error=y db
		200 exit image.pull 3 db
		201 clock`
	for alert, want := range map[string][]string{
		"err":                        {"300: web cri.PullImage failed after 5m: z"},
		"running>1m":                 {"62: web worker.turn goes on for more than 1m", "63: web sync.volumes goes on for more than 1m"},
		"state=stuck pod=web":        {"201: web stuck for 3m18s at sync.volumes"},
		"err then err":               {"300: web cri.PullImage failed after 1.00 s: x; then cri.PullImage failed after 5m: z"},
		"err then not err within 9s": {"309: web cri.PullImage failed after 5m: z; then not within 9.00 s: err"},
	} {
		l := newTimeline(t, alert, Options{})
		l.m.Silent()
		if got := l.play(past); len(got) > 0 {
			t.Errorf("%s: the past matches: %q", alert, got)
		}
		l.m.Live()
		got := l.play(`
			300 exit cri.PullImage 7 error=z
			400 clock`)
		if !slices.Equal(got, want) {
			t.Errorf("%s: matches %q, want %q", alert, got, want)
		}
	}
}

// TestNext: the matcher knows when it must be asked again.
func TestNext(t *testing.T) {
	l := newTimeline(t, "running>2m", Options{})
	if at, ok := l.m.Next(); ok {
		t.Errorf("something is due at %d", at)
	}
	l.play("10 enter image.pull 1")
	if at, ok := l.m.Next(); !ok || at != 130*second {
		t.Errorf("due at %d, %t", at, ok)
	}
	l.play("20 exit image.pull 1")
	if at, ok := l.m.Next(); ok {
		t.Errorf("something is due at %d", at)
	}
	l = newTimeline(t, "state=stuck", Options{})
	l.play("10 enter sync.pod 1")
	if at, ok := l.m.Next(); !ok || at != 11*second {
		t.Errorf("due at %d, %t", at, ok)
	}
	// A gap of a month takes no more looks than one of an hour.
	l.m.Advance(30 * 24 * 3600 * second)
	if at, ok := l.m.Next(); !ok || at > (30*24*3600+1)*second {
		t.Errorf("due at %d, %t", at, ok)
	}
}

// TestBounds: beyond the bound calls and sequences are not followed, and counted. What ends makes room.
func TestBounds(t *testing.T) {
	l := newTimeline(t, "running>2m", Options{})
	for i := range mostOfPod + 10 {
		l.event(1, agentpb.Kind_ENTER, "image.pull", 1, uint64(i+1))
	}
	l.event(1, agentpb.Kind_ENTER, "image.pull", 2, 9999)
	if l.m.Dropped() != 10 {
		t.Errorf("%d were dropped", l.m.Dropped())
	}
	l.event(2, agentpb.Kind_EXIT, "image.pull", 1, 1)
	l.event(3, agentpb.Kind_ENTER, "image.pull", 1, 20000)
	l.m.Advance(200 * second)
	if l.m.Dropped() != 10 || len(l.matches) != mostOfPod+1 {
		t.Errorf("%d were dropped, %d match", l.m.Dropped(), len(l.matches))
	}
	l = newTimeline(t, "err then not step=sync.pod within 1m", Options{})
	for i := range mostOfPod + 10 {
		l.event(float64(i), agentpb.Kind_EXIT, "image.pull", 1, uint64(i+1), func(e *agentpb.Event) { e.Error, e.Time, e.Mono = "x", 1e18+second, second })
	}
	l.m.Advance(100 * second)
	if l.m.Dropped() != 10 || len(l.matches) != mostOfPod || l.m.count != 0 {
		t.Errorf("%d were dropped, %d match, %d are left", l.m.Dropped(), len(l.matches), l.m.count)
	}
}

// TestLongRun: calls that end leave nothing behind.
func TestLongRun(t *testing.T) {
	l := newTimeline(t, "err then running>2m within 1h", Options{})
	for i := range 20_000 {
		at := float64(i)
		l.event(at, agentpb.Kind_ENTER, "image.pull", 1, uint64(i+1))
		l.event(at+0.5, agentpb.Kind_EXIT, "image.pull", 1, uint64(i+1), func(e *agentpb.Event) { e.Error = "x" })
	}
	p := l.m.pods[1]
	if l.m.Dropped() != 0 || len(p.calls) != 0 || len(p.begun) != 0 || l.m.count != 1 || len(l.m.dues.all) > 2048 {
		t.Errorf("%d calls, %d begun, %d under way, %d due", len(p.calls), len(p.begun), l.m.count, len(l.m.dues.all))
	}
}

// TestGonePods: a pod that is gone is forgotten after a while, and its place is used again.
func TestGonePods(t *testing.T) {
	l := newTimeline(t, "state=stuck", Options{})
	for i := range 200 {
		id := uint32(10 + i)
		at := float64(i * 60)
		l.m.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: id, Namespace: "a", Name: fmt.Sprint("job-", i), Uid: fmt.Sprint("job-", i)}}})
		l.event(at, agentpb.Kind_ENTER, "loop.remove", id, uint64(2*i+1))
		l.event(at+1, agentpb.Kind_EXIT, "loop.remove", id, uint64(2*i+1))
	}
	if n := len(l.m.pods); n > 40 || len(l.m.order) != n || len(l.m.ids) > 42 {
		t.Errorf("%d pods are kept, %d in order, %d numbers", n, len(l.m.order), len(l.m.ids))
	}
}

// TestLost: lost events are reported.
func TestLost(t *testing.T) {
	l := newTimeline(t, "err", Options{})
	l.event(1, agentpb.Kind_DROP, "", 0, 0)
	if l.lost != 1 {
		t.Errorf("%d losses are reported", l.lost)
	}
}
