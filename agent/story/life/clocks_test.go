package life

import (
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

// stays are the states in which nobody does anything for a pod: their clocks start anew only when the pod moves.
var stays = map[State]bool{Waiting: true, Idle: true, Done: true, Gone: true}

// TestClocksGoOn: in both recordings, the clock of a pod's state goes on from event to event, until something moves the
// pod or the state is another.
func TestClocksGoOn(t *testing.T) {
	for _, file := range []string{woven, attached} {
		info, batches, err := tracetest.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		h := history.New(info, probes.MustLoad())
		l := New(h)
		was := map[int]clock{}
		looked := 0
		for _, b := range batches {
			for _, e := range b.Events {
				h.Add(&agentpb.Batch{Pods: b.Pods, Events: [][]byte{e}}, l.Apply)
				now := l.Now()
				for i := 1; i < len(now.Pods); i++ {
					is := l.clockOf(&now.Pods[i], now.Time)
					if before := was[i]; stays[is.state] && is.state == before.state && is.moved == before.moved {
						looked++
						if is.since > before.since {
							t.Fatalf("%s: at event %d, %s is %s for %v, and was for %v", file, now.At, h.Pod(i).Entity.Name, is.state, since(is.since, now.Time), since(before.since, now.Time))
						}
					}
					was[i] = is
				}
			}
		}
		if looked < 1000 {
			t.Errorf("%s: only %d clocks were looked at", file, looked)
		}
	}
}

// clock is a pod's state with all that may start its clock anew.
type clock struct {
	state State
	since int64
	moved [5]int64
}

func (l *Lives) clockOf(p *Pod, now int64) clock {
	s, from := l.State(p, now)
	return clock{s, from, [...]int64{p.Moved, p.GoneAt, p.DeletedAt, p.readyFrom, p.restartedAt()}}
}

// TestWaits: a pod that waits is in that state since it began to wait, however often its worker looks at it, and is stuck
// once that is long; what its spec allows it counts.
func TestWaits(t *testing.T) {
	for _, c := range []struct {
		patience, longest time.Duration
	}{{0, StuckWaiting}, {10 * time.Minute, StuckWaiting + 10*time.Minute}} {
		info := proto.CloneOf(infoOf(t, attached)) // others read the same recording
		info.Probes[0].Knows.Turns = true
		s := newScript(t, info)
		if c.patience > 0 {
			s.call(probes.RoleBound, []*agentpb.Field{field("patience", c.patience)}, nil, "")
		}
		s.worker(func() {
			s.turn("", func() {
				s.call(probes.RoleStatus, nil, nil, "", field("phase", "Pending"))
				s.container("init", "", nil)
			})
			began := s.now
			for s.now += time.Second; s.now < began+c.longest; {
				s.is(Waiting, s.now-began)
				s.turn("", func() { s.is(Waiting, s.now-began) })
				s.now += 20 * time.Second
			}
			s.now += time.Second
			for range 5 {
				s.is(Stuck, s.now-began)
				s.turn("", nil)
				s.now += time.Minute
			}
			s.turn("", func() { s.container("app", "", func() { s.is(Working, 0) }) })
			s.now += time.Second
			s.is(Waiting, time.Second)
		})
	}
}

// TestBecomesUnready: a pod that ran for long and loses its readiness waits from then on, and runs anew from when it is
// ready again.
func TestBecomesUnready(t *testing.T) {
	s := newScript(t, infoOf(t, woven))
	status := func(ready string) {
		s.turn("", func() {
			s.call(probes.RoleStatus, nil, nil, "", field("phase", "Running"), eventtest.Field("conditions", `{"Ready":"`+ready+`"}`))
		})
	}
	s.worker(func() {
		status("True")
		began := s.now
		s.now += time.Hour
		s.is(Idle, s.now-began)
		status("False")
		began = s.now
		s.now += time.Minute
		status("False")
		s.is(Waiting, s.now-began)
		status("True")
		began = s.now
		s.now += time.Second
		s.is(Idle, s.now-began)
	})
}

// TestEndsLate: a pod that is being deleted is stuck once its grace period has passed for long, even if its worker only
// looks at it.
func TestEndsLate(t *testing.T) {
	for grace, longest := range map[int]time.Duration{0: DefaultGrace + StuckEnding, 600: 10*time.Minute + StuckEnding} {
		s := newScript(t, infoOf(t, attached))
		s.call(probes.RoleBound, nil, nil, "")
		s.call(probes.RolePhase, []*agentpb.Field{field("phase", "Running")}, nil, "")
		s.call(probes.RoleDeleting, []*agentpb.Field{field("grace", grace)}, nil, "")
		began := s.now
		s.now += longest
		s.call(probes.RoleDeleting, []*agentpb.Field{field("grace", 0)}, nil, "") // the kubelet removes it now
		s.is(Working, s.now-began)
		s.now += time.Second
		s.is(Stuck, s.now-began)
	}
}

// TestWorksOn: a pod whose containers end for good is not stuck because some of them have done their work.
func TestWorksOn(t *testing.T) {
	for _, c := range []struct {
		policy any
		want   State
	}{{"Never", Idle}, {nil, Stuck}} {
		s := newScript(t, infoOf(t, attached))
		bound := []*agentpb.Field{field("node", "n")}
		if c.policy != nil {
			bound = append(bound, field("restartPolicy", c.policy))
		}
		s.call(probes.RoleBound, bound, nil, "")
		for _, k := range [][]*agentpb.Field{
			{field("container", "setup"), field("state", "terminated"), field("exitCode", 0), field("init", true)},
			{field("container", "job"), field("state", "terminated"), field("exitCode", 0)},
			{field("container", "helper"), field("state", "running"), field("ready", true)},
		} {
			s.call(probes.RoleContainerState, k, nil, "")
		}
		s.call(probes.RolePhase, []*agentpb.Field{field("phase", "Running")}, nil, "")
		s.now += time.Hour
		if got, _ := s.lives.State(s.pod(), int64(s.now)); got != c.want {
			t.Errorf("with the restart policy %v it is %v, want %v", c.policy, got, c.want)
		}
	}
}
