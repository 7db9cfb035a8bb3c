package dap

import (
	"context"
	"fmt"
	"io"
	"sync"

	"github.com/google/go-dap"
)

// move is a way in which a person moves a pod on.
type move int

const (
	moveOn move = iota // until something holds it
	moveOver
	moveInto
	moveOut
	moveBack   // to the place before
	moveBackOn // back until a breakpoint
)

// moving is how a pod moves.
type moving struct {
	how    move
	byLine bool
	to     *call // for moveInto: only into this one; nil: into whatever comes next
}

// target is what a session debugs. Its methods are called with the session's mu held.
type target interface {
	// story is what is known of its pods.
	story() *story
	// configured is called when the editor has set its breakpoints: stops are reported from then on.
	configured()
	// threads are the pods.
	threads() []dap.Thread
	// stop returns where a pod is stopped; nil: it is not.
	stop(place int) *stop
	// move moves one pod. It returns what is to be done once the request is answered.
	move(place int, how moving) (after func(), err error)
	// calls are the steps that a frame's call may still come to, and at which the pod can be stopped, in the order of the code.
	calls(f *frame) []call
	// pause stops a pod at its next step.
	pause(place int) (after func(), err error)
	// points has the breakpoints.
	points() *points
	// arm and disarm take a breakpoint over, and give it up.
	arm(p *point)
	disarm(p *point)
	// look asks a debugger; nil: there is none to ask, for a reason that cannotLook has.
	look() looker
	// close ends the target: what it held goes on.
	close()
}

// session is a dialogue with one editor.
type session struct {
	ctx  context.Context
	opts Options
	out  *outbox
	over chan struct{} // closed by disconnect
	slow chan struct{} // has an item for each slow request that is under way

	mu       sync.Mutex
	client   dap.InitializeRequestArguments
	ready    bool // initialize was answered
	starting bool // attach or launch is under way
	ended    bool // disconnect was answered, or the target is gone
	parted   bool // disconnect was answered
	target   target
	refs     refs
}

// maxSlow bounds the slow requests that are under way at one time.
const maxSlow = 16

func newSession(ctx context.Context, to io.Writer, o Options) *session {
	return &session{ctx: ctx, opts: o, out: newOutbox(to), over: make(chan struct{}), slow: make(chan struct{}, maxSlow)}
}

// close ends the session in whatever state it is.
func (s *session) close() {
	s.mu.Lock()
	t := s.target
	s.target, s.ended = nil, true
	s.mu.Unlock()
	if t != nil {
		t.close()
	}
	s.out.close()
}

// later makes a slow request on a goroutine of its own, without holding mu, so that the session still notices when the
// editor hangs up. The request is answered by what it returns.
func (s *session) later(to dap.RequestMessage, do func() (dap.Message, error)) error {
	select {
	case s.slow <- struct{}{}:
	default:
		return fmt.Errorf("%d requests are under way already; wait for one of them", maxSlow)
	}
	go func() {
		defer func() { <-s.slow }()
		answer, err := do()
		if err != nil {
			s.refuse(to.GetRequest(), err)
			return
		}
		if answer != nil {
			s.out.put(answer)
		}
	}()
	return nil
}

// dispatch answers a request, or returns the error that is the answer.
func (s *session) dispatch(request dap.RequestMessage) error {
	switch r := request.(type) {
	case *dap.InitializeRequest:
		return s.initialize(r)
	case *dap.AttachRequest:
		return s.attach(r)
	case *dap.LaunchRequest:
		return s.launch(r)
	case *dap.DisconnectRequest:
		return s.disconnect(r)
	}
	if s.ended {
		return fmt.Errorf("the session is over; start another one")
	}
	if s.target == nil {
		return fmt.Errorf("%s needs a pod: attach to one, or launch a recording, first", request.GetRequest().Command)
	}
	if handled, err := s.dispatchRun(request); handled {
		return err
	}
	if handled, err := s.dispatchSee(request); handled {
		return err
	}
	if handled, err := s.dispatchPoints(request); handled {
		return err
	}
	return fmt.Errorf("podstep does not have the request %s; docs/dap.md lists those that it has", request.GetRequest().Command)
}

// dispatchRun is dispatch for requests that move pods.
func (s *session) dispatchRun(request dap.RequestMessage) (handled bool, err error) {
	switch r := request.(type) {
	case *dap.ConfigurationDoneRequest:
		s.out.put(&dap.ConfigurationDoneResponse{Response: done(r)})
		s.target.configured()
	case *dap.ContinueRequest:
		err = s.move(r.Arguments.ThreadId, moveOn, "", &dap.ContinueResponse{Response: done(r)})
	case *dap.NextRequest:
		err = s.move(r.Arguments.ThreadId, moveOver, r.Arguments.Granularity, &dap.NextResponse{Response: done(r)})
	case *dap.StepInRequest:
		err = s.stepIn(r)
	case *dap.StepOutRequest:
		err = s.move(r.Arguments.ThreadId, moveOut, r.Arguments.Granularity, &dap.StepOutResponse{Response: done(r)})
	case *dap.StepBackRequest:
		err = s.move(r.Arguments.ThreadId, moveBack, r.Arguments.Granularity, &dap.StepBackResponse{Response: done(r)})
	case *dap.ReverseContinueRequest:
		err = s.move(r.Arguments.ThreadId, moveBackOn, "", &dap.ReverseContinueResponse{Response: done(r)})
	case *dap.PauseRequest:
		err = s.pause(r)
	default:
		return false, nil
	}
	return true, err
}

// dispatchSee is dispatch for requests that only look.
func (s *session) dispatchSee(request dap.RequestMessage) (handled bool, err error) {
	switch r := request.(type) {
	case *dap.ThreadsRequest:
		s.out.put(&dap.ThreadsResponse{Response: done(r), Body: dap.ThreadsResponseBody{Threads: s.target.threads()}})
	case *dap.StackTraceRequest:
		err = s.stackTrace(r)
	case *dap.StepInTargetsRequest:
		err = s.stepInTargets(r)
	case *dap.ScopesRequest:
		err = s.scopes(r)
	case *dap.VariablesRequest:
		err = s.variables(r)
	case *dap.EvaluateRequest:
		err = s.evaluate(r)
	case *dap.CompletionsRequest:
		s.completions(r)
	case *dap.ExceptionInfoRequest:
		err = s.exceptionInfo(r)
	case *dap.SourceRequest:
		err = s.source(r)
	case *dap.LoadedSourcesRequest:
		s.out.put(&dap.LoadedSourcesResponse{Response: done(r), Body: dap.LoadedSourcesResponseBody{Sources: allSources()}})
	default:
		return false, nil
	}
	return true, err
}

// dispatchPoints is dispatch for requests about breakpoints.
func (s *session) dispatchPoints(request dap.RequestMessage) (handled bool, err error) {
	switch r := request.(type) {
	case *dap.SetFunctionBreakpointsRequest:
		s.setFunctionBreakpoints(r)
	case *dap.SetBreakpointsRequest:
		s.setBreakpoints(r)
	case *dap.SetExceptionBreakpointsRequest:
		s.setExceptionBreakpoints(r)
	case *dap.DataBreakpointInfoRequest:
		s.dataBreakpointInfo(r)
	case *dap.SetDataBreakpointsRequest:
		s.setDataBreakpoints(r)
	case *dap.BreakpointLocationsRequest:
		s.breakpointLocations(r)
	default:
		return false, nil
	}
	return true, nil
}

// move moves one pod and answers the request. The answer comes before whatever follows from it: an editor that learns of
// a stop before it learns that its step was accepted takes the pod for running.
func (s *session) move(place int, how move, g dap.SteppingGranularity, answer dap.Message) error {
	if g == "instruction" {
		return fmt.Errorf("podstep steps by step or by line, not by instruction")
	}
	return s.moveBy(place, moving{how: how, byLine: g == "line"}, answer)
}

func (s *session) moveBy(place int, how moving, answer dap.Message) error {
	if err := s.known(place); err != nil {
		return err
	}
	after, err := s.target.move(place, how)
	if err != nil {
		return err
	}
	s.out.put(answer)
	if after != nil {
		after()
	}
	return nil
}

func (s *session) pause(r *dap.PauseRequest) error {
	place, err := s.pausable(r.Arguments.ThreadId)
	if err != nil {
		return err
	}
	after, err := s.target.pause(place)
	if err != nil {
		return err
	}
	s.out.put(&dap.PauseResponse{Response: done(r)})
	if after != nil {
		after()
	}
	return nil
}

// pausable returns the pod that a pause means. Some editors name no thread: then there must be only one.
func (s *session) pausable(place int) (int, error) {
	if place != 0 {
		return place, s.known(place)
	}
	all := s.target.threads()
	if len(all) == 1 {
		return all[0].Id, nil
	}
	return 0, fmt.Errorf("which pod? there are %d; name one by its threadId, podstep never stops all", len(all))
}

// known returns an error if no pod has that number.
func (s *session) known(place int) error {
	if s.target.story().name(place) == "" {
		return fmt.Errorf("there is no pod with the thread number %d; threads lists them", place)
	}
	return nil
}

// disconnect ends the session, whatever its state: all that it holds goes on.
func (s *session) disconnect(r *dap.DisconnectRequest) error {
	t := s.target
	s.target = nil
	if t != nil {
		t.close()
	}
	if !s.parted {
		close(s.over)
	}
	s.ended, s.parted = true, true
	s.out.put(&dap.DisconnectResponse{Response: done(r)})
	return nil
}
