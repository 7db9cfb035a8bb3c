package life

import (
	"testing"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/story/history"
	"github.com/podstep/podstep/agent/trace/tracetest"
	"github.com/podstep/podstep/agent/wire/eventtest"
	"github.com/podstep/podstep/probes"
)

const (
	woven    = "../../../tui/state/testdata/lab.podstep"      // three minutes of a woven kubelet
	attached = "../../../tui/state/testdata/attached.podstep" // a minute of calls and reports
)

// infoOf returns the Info of a recording's agent.
func infoOf(t *testing.T, file string) *agentpb.InfoResponse {
	t.Helper()
	info, _, err := tracetest.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// script makes up the events of one pod, which has the place 1.
type script struct {
	t     *testing.T
	info  *agentpb.InfoResponse
	h     *history.History
	lives *Lives
	now   time.Duration
	seq   uint64
	spans uint64
	open  []uint64 // spans, the outermost first
}

func newScript(t *testing.T, info *agentpb.InfoResponse) *script {
	h := history.New(info, probes.MustLoad())
	s := &script{t: t, info: info, h: h, lives: New(h), now: time.Second}
	h.Add(&agentpb.Batch{Pods: []*agentpb.Pod{{Id: 1, Namespace: "default", Name: "web", Uid: "u"}}}, nil)
	return s
}

var field = eventtest.Field

func (s *script) add(e *agentpb.Event) {
	s.t.Helper()
	s.seq++
	e.Seq, e.Pod, e.Mono, e.Time = s.seq, 1, int64(s.now), 1e18+int64(s.now)
	s.h.Add(eventtest.Batch(e), s.lives.Apply)
}

// call makes a call of the first step of a role, around what inside does. The call ends with an error and results.
func (s *script) call(role probes.Role, args []*agentpb.Field, inside func(), err string, results ...*agentpb.Field) {
	s.t.Helper()
	step := eventtest.Step(s.info, probes.MustLoad().OfRole(role)[0].Name)
	s.spans++
	id, parent := s.spans, uint64(0)
	if n := len(s.open); n > 0 {
		parent = s.open[n-1]
	}
	s.add(&agentpb.Event{Kind: agentpb.Kind_ENTER, Step: step, Span: id, Parent: parent, Fields: args})
	if inside != nil {
		s.open = append(s.open, id)
		inside()
		s.open = s.open[:len(s.open)-1]
	}
	s.add(&agentpb.Event{Kind: agentpb.Kind_EXIT, Step: step, Span: id, Parent: parent, Fields: results, Error: err})
}

// turn makes a turn of the worker.
func (s *script) turn(err string, inside func()) {
	s.t.Helper()
	s.call(probes.RoleTurn, []*agentpb.Field{field("workType", "sync")}, inside, err)
}

// worker makes the call that is the life of the pod's worker.
func (s *script) worker(inside func()) { s.t.Helper(); s.call(probes.RoleWorker, nil, inside, "") }

// container makes a call that looks at what is to be done for a container.
func (s *script) container(name, err string, inside func()) {
	s.t.Helper()
	s.call(probes.RoleContainer, []*agentpb.Field{field("typeName", "container"), field("container", name)}, inside, err)
}

func (s *script) pod() *Pod { return s.lives.Now().Pod(1) }

// is checks the present verdict on the pod, and for how long it has held.
func (s *script) is(want State, since time.Duration) {
	s.t.Helper()
	state, from := s.lives.State(s.pod(), int64(s.now))
	if took := s.now - time.Duration(from); state != want || took != since {
		s.t.Errorf("at %v it is %v for %v, want %v for %v", s.now, state, took, want, since)
	}
}
