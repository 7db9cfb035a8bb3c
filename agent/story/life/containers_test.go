package life

import (
	"fmt"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/probes"
)

// TestPulls: pulls count, and turns that find a back-off do not; the end of the back-off follows from the pull that
// failed.
func TestPulls(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	pull := func(err string, backOff time.Duration) {
		s.turn("failed", func() {
			s.container("a", err, func() {
				s.call(probes.RolePullWait, []*agentpb.Field{field("image", "i")}, nil, err, field("backOff", backOff))
			})
		})
	}
	s.worker(func() {
		pull("ErrImagePull", 10*time.Second)
		first := s.now
		for range 3 {
			s.now += 3 * time.Second
			pull("ImagePullBackOff", 10*time.Second)
			if c, _ := s.pod().Container("a"); c.Failed != 1 || c.BackOff != PullBackOff || c.Until != int64(first+10*time.Second) {
				t.Errorf("in back-off: %+v", c)
			}
		}
		s.now += 3 * time.Second
		pull("ErrImagePull", 20*time.Second)
		if c, _ := s.pod().Container("a"); c.Failed != 2 || c.Until != int64(s.now+20*time.Second) {
			t.Errorf("after the second pull: %+v", c)
		}
		s.is(Retrying, 12*time.Second)
		s.now += 2 * time.Minute
		s.is(Stuck, 132*time.Second)
		s.turn("", func() { s.container("a", "", nil) })
		if c, _ := s.pod().Container("a"); c.Failed != 0 || c.BackOff != NoBackOff || c.Until != 0 || c.Up == 0 {
			t.Errorf("after it was started: %+v", c)
		}
		if s.pod().loops(int64(s.now)) {
			t.Error("it loops, and never crashed")
		}
	})
}

// TestStarts: a start that fails for another reason has no back-off, so each turn counts as a try.
func TestStarts(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	s.worker(func() {
		for i := range 3 {
			s.turn("failed", func() { s.container("a", "CreateContainerConfigError", nil) })
			if c, _ := s.pod().Container("a"); c.Failed != uint32(i)+1 || c.BackOff != NoBackOff || c.Until != 0 {
				t.Errorf("after %d: %+v", i+1, c)
			}
		}
	})
}

// crashes makes a container crash, wait for the end of the back-off, and start again.
func (s *script) crashes(restarts int, backOff time.Duration) {
	s.t.Helper()
	name := []*agentpb.Field{field("container", "a")}
	s.turn("failed", func() {
		s.container("a", "CrashLoopBackOff", func() {
			s.call(probes.RoleBackoff, name, nil, "CrashLoopBackOff", field("isInBackOff", true), field("left", backOff))
		})
	})
	if c, _ := s.pod().Container("a"); c.BackOff != CrashBackOff || c.Until != int64(s.now+backOff) || c.Up != 0 {
		s.t.Errorf("in back-off: %+v", c)
	}
	s.now += backOff
	s.starts(restarts)
}

func (s *script) starts(restarts int) {
	s.t.Helper()
	s.turn("", func() {
		s.container("a", "", func() {
			s.call(probes.RoleCreate, []*agentpb.Field{field("container", "a"), field("attempt", restarts)}, nil, "")
		})
	})
	if c, _ := s.pod().Container("a"); c.Restarts != int32(restarts) || c.BackOff != NoBackOff || c.Up != int64(s.now) {
		s.t.Errorf("after it was started: %+v", c)
	}
}

// TestCrashLoop: crashes, back-offs and starts are one trouble, until the container
// has run for as long as the kubelet remembers.
func TestCrashLoop(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	s.worker(func() {
		s.starts(0)
		s.now += time.Minute
		s.starts(1) // a first crash is no trouble: the kubelet starts the container again at once
		if _, ok := s.pod().Loop(int64(s.now)); ok {
			t.Error("it loops after one crash")
		}
		s.now += time.Minute
		began := s.now
		for i := range 8 {
			s.crashes(2+i, 5*time.Minute)
			s.is(Retrying, s.now-began)
			s.now += time.Minute
			s.is(Retrying, s.now-began)
		}
		s.turn("failed", func() { s.container("a", "CrashLoopBackOff", nil) })
		s.is(Stuck, s.now-began)
		s.starts(10)
		s.now += BackOffReset + time.Second
		s.is(Stuck, s.now-began-48*time.Minute) // it has not become ready since
		began = s.now
		s.starts(11) // the container has crashed, and the kubelet begins to count anew
		s.now += time.Second
		s.crashes(12, 10*time.Second)
		s.is(Retrying, s.now-began-time.Second)
	})
}

// TestInit: an init container that has ended well is in no crash loop.
func TestInit(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	init := func(err string) {
		s.call(probes.RoleContainer, []*agentpb.Field{field("typeName", "init container"), field("container", "i")}, nil, err)
	}
	s.worker(func() {
		s.turn("failed", func() { init("CrashLoopBackOff") })
		s.turn("", func() { init("") })
		s.is(Retrying, 0)
		s.turn("", func() { s.container("a", "", nil) })
		if s.pod().loops(int64(s.now)) {
			t.Error("the init container still loops")
		}
	})
}

// TestSlowStep: if a pod is stuck in a call, and the call then fails, that is one trouble from the call's beginning
// on, also in the next turn.
func TestSlowStep(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	s.worker(func() {
		began := s.now
		for range 3 {
			s.turn("no volume", func() {
				s.call(probes.RoleVolumes, nil, func() {
					s.now += 123 * time.Second
					s.is(Stuck, s.now-began)
				}, "no volume")
			})
			s.is(Stuck, s.now-began)
		}
		if s.pod().Tries != 3 {
			t.Errorf("%d tries", s.pod().Tries)
		}
		s.turn("no sandbox", func() { s.call(probes.RoleSandbox, nil, nil, "no sandbox") })
		if s.pod().Tries != 1 {
			t.Errorf("%d tries of another step", s.pod().Tries)
		}
	})
}

// TestCopies: a pod that was copied is not changed by what comes later.
func TestCopies(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	s.worker(func() {
		s.starts(0)
		before := *s.pod()
		s.crashes(1, time.Minute)
		if c, _ := before.Container("a"); c.Restarts != 0 || c.looping {
			t.Errorf("the copy has %+v", c)
		}
	})
}

// TestManyContainers: foreign events may name any number of containers.
func TestManyContainers(t *testing.T) {
	var p Pod
	for i := range 3 * maxContainers {
		p.change(fmt.Sprint(i), func(c *Container) { c.failed() })
		p.pulled(fmt.Sprint(i), 0, 0, true)
	}
	if len(p.Containers) != maxContainers || len(p.Pulls) != maxContainers {
		t.Errorf("%d containers, %d images", len(p.Containers), len(p.Pulls))
	}
	p.change("0", func(c *Container) { c.failed() })
	if c, _ := p.Container("0"); c.Failed != 2 {
		t.Errorf("%+v", c)
	}
}

// TestCalls: beside a kubelet, the calls for an image count as pulls; those for several credentials count as one.
func TestCalls(t *testing.T) {
	s := newScript(t, infoOf(t, attached))
	pull := func(image, err string) { s.call(probes.RolePull, []*agentpb.Field{field("image", image)}, nil, err) }
	for range 2 {
		pull("i", "denied")
		pull("j", "denied")
		s.now += time.Millisecond
		pull("i", "denied")
		s.now += 10 * time.Second
	}
	if got := fmt.Sprint(pulls(s.pod())); got != "[i:2 j:2]" {
		t.Error(got)
	}
	s.is(Retrying, 20*time.Second+2*time.Millisecond)
	pull("i", "")
	if got := fmt.Sprint(pulls(s.pod())); got != "[j:2]" {
		t.Error(got)
	}
}

func pulls(p *Pod) (out []string) {
	for _, l := range p.Pulls {
		out = append(out, fmt.Sprintf("%s:%d", l.Image, l.Failed))
	}
	return out
}

// TestReports: beside a kubelet, a crash loop is one trouble too. The end of its back-off is known only if the report
// states when the container ended.
func TestReports(t *testing.T) {
	s := newScript(t, infoOf(t, attached))
	report := func(state, reason string, restarts int, more ...*agentpb.Field) {
		s.call(probes.RoleContainerState, append(more, field("container", "a"), field("state", state), field("reason", reason), field("restartCount", restarts)), nil, "")
	}
	message := field("message", "back-off 5m0s restarting failed container=a pod=web_default(u)")
	s.call(probes.RoleBound, nil, nil, "")
	began := s.now
	inTrouble := func() {
		t.Helper()
		want := Retrying
		if s.now-began > StuckRetrying {
			want = Stuck
		}
		s.is(want, s.now-began)
	}
	for i := range 4 {
		report("terminated", "Error", i+1, field("exitCode", 1))
		inTrouble()
		s.now += time.Second
		report("waiting", "CrashLoopBackOff", i+1, message, field("lastExitCode", 1))
		inTrouble()
		if c, _ := s.pod().Container("a"); c.Until != 0 || c.Restarts != int32(i)+1 {
			t.Errorf("its end is not known: %+v", c)
		}
		s.now += 5 * time.Minute
		report("running", "", i+2)
		s.is(Retrying, s.now-began)
		s.now += time.Minute
	}
	ended := time.Unix(0, 1e18+int64(s.now))
	s.now += 2 * time.Second
	report("waiting", "CrashLoopBackOff", 5, message, field("lastExitCode", 1), field("since", ended.Format(time.RFC3339Nano)), field("from", "object"))
	if c, _ := s.pod().Container("a"); c.Until != int64(s.now+5*time.Minute-2*time.Second) {
		t.Errorf("its end is known: %+v", c)
	}
	report("running", "", 6)
	s.now += BackOffReset + time.Second
	began = s.now
	report("terminated", "Error", 6, field("exitCode", 1))
	inTrouble()
}

// TestRecorded: in a recording, the numbers are those of the calls that were made, and the beginning of a trouble
// never moves forward while it lasts.
func TestRecorded(t *testing.T) {
	for _, file := range []string{woven, attached} {
		info, batches, err := tracetest.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		h := history.New(info, probes.MustLoad())
		lives := New(h)
		failed, began := map[int]uint32{}, map[int]int64{}
		for _, b := range batches {
			h.Add(b, func(r *history.Record) {
				lives.Apply(r)
				p := lives.Now().Pod(r.Pod)
				if h.Role(r.Step) == probes.RolePullWait && r.Header.Kind == agentpb.Kind_EXIT && r.Header.HasError && string(r.Header.ErrorText) != "ImagePullBackOff" {
					failed[r.Pod]++
				}
				state, since := lives.State(p, lives.Now().Time)
				if state != Stuck && state != Retrying {
					delete(began, r.Pod)
					return
				}
				if was, ok := began[r.Pod]; ok && since > was {
					t.Errorf("%s at %d: %s is in trouble since %d, which was %d", file, r.Pos, h.Pod(r.Pod).Entity.Name, since, was)
				}
				began[r.Pod] = since
			})
		}
		for i, n := range failed {
			if c := lives.Now().Pod(i).Containers[0]; c.Failed != n {
				t.Errorf("%s: %s failed %d times, and %d pulls did", file, h.Pod(i).Entity.Name, c.Failed, n)
			}
		}
		if file == woven && len(failed) == 0 {
			t.Error("no pull failed")
		}
	}
}

// TestLoopByTurnError: a probe that sees no more of a crash loop than the errors of turns, such as a log, has one trouble
// from the first of them on, also while the container is up again.
func TestLoopByTurnError(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	s.worker(func() {
		var began int64
		for range 4 {
			s.turn(`failed to "StartContainer" for "app" with CrashLoopBackOff: "back-off 10s restarting failed container"`, nil)
			got, since := s.lives.State(s.pod(), int64(s.now))
			if began == 0 {
				began = since
			}
			if got != Retrying && got != Stuck || since != began {
				t.Fatalf("it is %v since %v, and failed since %v", got, since, began)
			}
			s.now += time.Minute
			s.turn("", func() { s.container("app", "", nil) })
			if got, since := s.lives.State(s.pod(), int64(s.now)); got != Retrying || since != began {
				t.Fatalf("up again it is %v since %v, and failed since %v", got, since, began)
			}
			s.now += time.Minute
		}
	})
}
