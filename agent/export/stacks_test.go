package export

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/pprof/profile"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/calls"
	"github.com/podstep/podstep/probes"
)

// outermost adds up how long something went on for each pod, by a rule of its own: each call counts from its beginning
// if no call was around it, else from the end of the call around it.
type outermost struct {
	calls.Taker
	up    map[*calls.Call]*calls.Call
	end   map[*calls.Call]int64
	holds time.Duration
}

func (o *outermost) Began(c *calls.Call) {
	o.up[c] = c.Up
	o.Taker.Began(c)
}

func (o *outermost) Ended(c *calls.Call) error {
	if _, seen := o.up[c]; !seen {
		o.up[c] = c.Up
	}
	o.end[c] = c.EndMono
	return o.Taker.Ended(c)
}

func (o *outermost) Held(c *calls.Call, h *calls.Hold) error {
	if c.Up == nil || !c.Up.Goes() {
		o.holds += h.Length
	}
	return o.Taker.Held(c, h)
}

func (o *outermost) Close() error { return o.Taker.(Exporter).Close() }

func (o *outermost) sum() time.Duration {
	sum := o.holds
	for c, up := range o.up {
		from := c.BeginMono
		if up != nil {
			from = max(from, o.end[up])
		}
		sum += time.Duration(max(0, o.end[c]-from))
	}
	return sum
}

// profiled returns a recording as a profile, and the sum of the times of its outermost calls.
func profiled(t testing.TB, about *About, events []probes.Event) (data []byte, p *profile.Profile, want time.Duration) {
	t.Helper()
	var b bytes.Buffer
	o := &outermost{Taker: NewPprof(&b, about), up: map[*calls.Call]*calls.Call{}, end: map[*calls.Call]int64{}}
	exported(t, about, events, o)
	p, err := profile.ParseData(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), p, o.sum()
}

// TestStackSums: the times of all stacks add up to those of the outermost calls, and none is negative.
func TestStackSums(t *testing.T) {
	for _, path := range recordings {
		t.Run(filepath.Base(path), func(t *testing.T) {
			about, events := read(t, path)
			_, p, want := profiled(t, about, events)
			var sum time.Duration
			for _, s := range p.Sample {
				if s.Value[0] <= 0 {
					t.Errorf("a sample has %d ns", s.Value[0])
				}
				sum += time.Duration(s.Value[0])
			}
			if sum != want || sum == 0 {
				t.Errorf("samples have %v, the outermost calls %v", sum, want)
			}
			var b bytes.Buffer
			exported(t, about, events, NewFolded(&b, about))
			var folded time.Duration
			lines := strings.Split(strings.TrimSpace(b.String()), "\n")
			for _, line := range lines {
				at := strings.LastIndexByte(line, ' ')
				us, err := strconv.ParseInt(line[at+1:], 10, 64)
				if err != nil || us <= 0 {
					t.Fatalf("%q: %v", line, err)
				}
				folded += time.Duration(us) * time.Microsecond
			}
			if off := (folded - want).Abs(); off > time.Duration(len(p.Sample))*time.Microsecond {
				t.Errorf("lines have %v, the outermost calls %v", folded, want)
			}
		})
	}
}

// call makes the events of a call, from and until some milliseconds.
type madeCall struct {
	span, parent uint64
	step         string
	from, until  int
}

func madeEvents(all []madeCall) (events []probes.Event) {
	pod := &probes.Pod{Namespace: "default", Name: "web", UID: "u"}
	begin := time.Unix(1_800_000_000, 0)
	last := 0
	for _, c := range all {
		last = max(last, c.until)
	}
	for ms := range last + 1 {
		at := time.Duration(ms) * time.Millisecond
		add := func(c madeCall, kind probes.Kind) {
			events = append(events, probes.Event{Kind: kind, Step: c.step, Span: c.span, Parent: c.parent, Pod: pod, Time: begin.Add(at), Mono: int64(at), Sync: 1})
		}
		for i := len(all) - 1; i >= 0; i-- { // inner calls end first
			if all[i].until == ms {
				add(all[i], probes.Exit)
			}
		}
		for _, c := range all {
			if c.from == ms {
				add(c, probes.Enter)
			}
		}
	}
	return events
}

// TestParallelCalls: where calls go on at one time, each moment counts once.
func TestParallelCalls(t *testing.T) {
	about := &About{Info: &agentpb.InfoResponse{Node: "n"}, Catalogue: probes.MustLoad()}
	for name, c := range map[string]struct {
		calls []madeCall
		want  string
	}{
		"side by side": {
			[]madeCall{{1, 0, "a", 0, 30}, {2, 1, "b", 0, 20}, {3, 1, "c", 5, 25}},
			"default/web;a 5000\ndefault/web;a;b 20000\ndefault/web;a;c 5000\n",
		},
		"an inner call while another goes on": {
			[]madeCall{{1, 0, "a", 0, 30}, {2, 1, "b", 0, 20}, {3, 1, "c", 5, 25}, {4, 3, "d", 6, 8}},
			"default/web;a 5000\ndefault/web;a;b 18000\ndefault/web;a;c 5000\ndefault/web;a;c;d 2000\n",
		},
		"one outlives the call around it": {
			[]madeCall{{1, 0, "a", 0, 10}, {2, 1, "b", 5, 20}, {3, 2, "c", 6, 15}},
			"default/web;a 5000\ndefault/web;a;b 1000\ndefault/web;a;b;c 4000\ndefault/web;b 5000\ndefault/web;b;c 5000\n",
		},
		"one after the other": {
			[]madeCall{{1, 0, "a", 0, 40}, {2, 1, "b", 1, 10}, {3, 1, "b", 20, 30}},
			"default/web;a 21000\ndefault/web;a;b 19000\n",
		},
		"it waits": {
			[]madeCall{{1, 0, "sync.pod", 0, 10}, {2, 1, "sync.volumes", 2, 9}, {3, 2, "x", 3, 4}},
			"default/web;sync.pod 3000\ndefault/web;sync.pod;sync.volumes;waits: its volumes are not all mounted yet 6000\ndefault/web;sync.pod;sync.volumes;x 1000\n",
		},
	} {
		var b bytes.Buffer
		exported(t, about, madeEvents(c.calls), NewFolded(&b, about))
		if b.String() != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", name, &b, c.want)
		}
	}
}

// TestAnyCalls: for calls that nest and overlap at random the sums are right, too.
func TestAnyCalls(t *testing.T) {
	about := &About{Info: &agentpb.InfoResponse{Node: "n"}, Catalogue: probes.MustLoad()}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var all []madeCall
		for i := range 3 + r.IntN(20) {
			c := madeCall{span: uint64(i + 1), step: fmt.Sprint("s", r.IntN(6)), from: r.IntN(100)}
			if i > 0 && r.IntN(5) > 0 {
				up := all[r.IntN(i)]
				c.parent, c.from = up.span, up.from+r.IntN(up.until-up.from)
			}
			c.until = c.from + 1 + r.IntN(60)
			all = append(all, c)
		}
		_, p, want := profiled(t, about, madeEvents(all))
		var sum time.Duration
		for _, s := range p.Sample {
			sum += time.Duration(s.Value[0])
		}
		if sum != want {
			t.Errorf("seed %d: samples have %v, the outermost calls %v: %+v", seed, sum, want, all)
		}
	}
}

// TestGoToolPprof: go tool pprof reads the file.
func TestGoToolPprof(t *testing.T) {
	about, events := read(t, recordings[3])
	data, _, want := profiled(t, about, events)
	path := filepath.Join(t.TempDir(), "p.pb.gz")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "tool", "pprof", "-top", "-unit=ns", "-nodecount=500", path)
	cmd.Env = append(os.Environ(), "PPROF_TMPDIR="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, part := range []string{"Type: wall", "sync.pod", "waits: its volumes are not all mounted yet", "Total samples = " + strconv.FormatInt(int64(want), 10) + "ns"} {
		if !strings.Contains(string(out), part) {
			t.Errorf("%q is missing:\n%s", part, out)
		}
	}
}

// TestManySamples: beyond the bound, samples of further turns are put together, and no time is lost.
func TestManySamples(t *testing.T) {
	p := NewPprof(&bytes.Buffer{}, &About{Info: &agentpb.InfoResponse{}, Catalogue: probes.MustLoad()}).(*Pprof)
	for i := range mostSamples + 1000 {
		p.count(stack{steps: []string{"a"}, sync: uint32(i + 1), took: 1})
	}
	var sum int64
	for _, s := range p.profile.Sample {
		sum += s.Value[0]
	}
	if len(p.profile.Sample) != mostSamples+1 || sum != mostSamples+1000 {
		t.Errorf("%d samples with %d ns", len(p.profile.Sample), sum)
	}
}
