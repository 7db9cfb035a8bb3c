package agent

import (
	"cmp"
	"context"
	"net"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/callsite"
	"github.com/podstep/podstep/agent/holding"
	"github.com/podstep/podstep/agent/pods"
	"github.com/podstep/podstep/agent/server"
	"github.com/podstep/podstep/agent/story/life"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/hook"
)

// service answers requests.
type service struct {
	agentpb.UnimplementedAgentServer
	agent *Agent
}

// Serve serves a on the listener, which must be of a unix socket. It returns at once; Stop ends it. from is what clients
// of other machines may do.
func Serve(a *Agent, l net.Listener, from server.Access) *server.Server {
	return server.Serve(&service{agent: a}, l, from)
}

func (s *service) Info(ctx context.Context, _ *agentpb.InfoRequest) (*agentpb.InfoResponse, error) {
	out := s.agent.info()
	out.You = server.PeerFrom(ctx).Proto()
	return out, nil
}

// info returns what the agent states about itself.
func (a *Agent) info() *agentpb.InfoResponse {
	out := &agentpb.InfoResponse{
		Version: a.opts.Version, KubeletVersion: a.Kubelet(), Node: a.opts.Node, Pid: int64(os.Getpid()),
		Started: timestamppb.New(a.started), Goroutines: a.roles.names, Lab: a.opts.Lab,
		ReadOnly: a.opts.ReadOnly, Limits: a.limits().proto(), Snapshots: true, Logs: true, Retries: a.mayRetry(),
	}
	for _, p := range a.probes {
		out.Probes = append(out.Probes, p.proto())
	}
	lines := a.lines()
	for i := range a.steps {
		st := &a.steps[i]
		p := &agentpb.Step{
			Name: st.Name, Stage: st.Stage, Tier: int32(st.Tier), Abilities: a.abilities(st),
			HoldEnter: string(a.rule(st, enter)), HoldExit: string(a.rule(st, exit)),
		}
		if at, ok := lines[st.Symbol]; ok && st.Closure == "" {
			p.File, p.Line = callsite.ModuleFile(at.File), int32(at.Line)
		}
		out.Steps = append(out.Steps, p)
	}
	return out
}

// stepLines returns the places of the steps, by symbol. It leaves out function literals: they have no name that tells
// them apart.
func (a *Agent) stepLines() map[string]callsite.Begin {
	if !a.opts.InKubelet {
		return nil
	}
	symbols := map[string]bool{}
	for i := range a.steps {
		if s := &a.steps[i]; s.Closure == "" && !s.Outside() {
			symbols[s.Symbol] = true
		}
	}
	return callsite.Begins(symbols)
}

// rule returns the step's rule for a side, or HoldNo if no working probe can hold a pod there.
func (a *Agent) rule(s *stepInfo, side int) probes.HoldRule {
	if a.canHold(s, side) {
		return s.hold[side]
	}
	return probes.HoldNo
}

func (s *service) Pods(ctx context.Context, req *agentpb.PodsRequest) (*agentpb.PodsResponse, error) {
	sel, err := pods.NewSelector(req.GetPods())
	if err != nil {
		return nil, err
	}
	out := &agentpb.PodsResponse{Seq: s.agent.journal.Last()}
	if err := s.agent.settle(ctx); err != nil {
		return nil, status.FromContextError(err).Err()
	}
	out.Pods = s.agent.statesOf(sel)
	life.SortWorst(out.Pods)
	return out, nil
}

// statesOf returns what the pods are doing that a selector chooses, in no order; those that are gone are left out.
func (a *Agent) statesOf(sel *pods.Selector) (out []*agentpb.PodState) {
	for _, p := range a.pods.All() {
		if p.Is(sel) {
			if st := a.state(p); st != nil {
				out = append(out, st)
			}
		}
	}
	return out
}

func (s *service) Stats(ctx context.Context, _ *agentpb.StatsRequest) (*agentpb.StatsResponse, error) {
	a := s.agent
	out := &agentpb.StatsResponse{Holds: int32(len(a.holds.Of(nil))), Pods: int32(len(a.pods.All())), Faults: hook.Faults(), Connections: int32(server.Connections(ctx))}
	a.journal.AddStats(out)
	out.Record = a.RecordDir()
	return out, nil
}

func (s *service) AddBreakpoint(ctx context.Context, req *agentpb.AddBreakpointRequest) (*agentpb.Breakpoint, error) {
	by, err := server.AskerFrom(ctx, req.GetMessage())
	if err != nil {
		return nil, err
	}
	return s.agent.addBreakpoint(ctx, req, server.Client(ctx, req.GetWhileConnected()), by)
}

func (s *service) ListBreakpoints(context.Context, *agentpb.ListBreakpointsRequest) (*agentpb.ListBreakpointsResponse, error) {
	out := &agentpb.ListBreakpointsResponse{}
	for _, b := range s.agent.points.List() {
		out.Breakpoints = append(out.Breakpoints, s.agent.points.Proto(b))
	}
	return out, nil
}

func (s *service) RemoveBreakpoint(_ context.Context, req *agentpb.RemoveBreakpointRequest) (*agentpb.Breakpoint, error) {
	b := s.agent.points.Remove(req.GetId())
	if b == nil {
		return nil, notFound(agentpb.Problem_BREAKPOINT_NOT_FOUND, args{"breakpoint": itoa(req.GetId())})
	}
	return s.agent.points.Proto(b), nil
}

func (s *service) Hold(ctx context.Context, req *agentpb.HoldRequest) (*agentpb.HoldInfo, error) {
	h, err := s.hold(ctx, req)
	if err != nil {
		return nil, err
	}
	return h.Proto(), nil
}

func (s *service) hold(ctx context.Context, req *agentpb.HoldRequest) (*hold, error) {
	a := s.agent
	if err := a.mayAct(); err != nil {
		return nil, err
	}
	p, err := a.onePod(req.GetPods())
	if err != nil {
		return nil, err
	}
	if err := p.State.holding.Check(req.GetForce()); err != nil {
		return nil, err
	}
	if held := a.holds.Of(&p.State.holding); len(held) > 0 {
		h := held[0]
		return nil, refused(agentpb.Problem_HELD_ALREADY, args{"pod": p.FullName(), "on": h.On(), "step": h.Step.Name})
	}
	if why := a.whyNothingHolds(); why != nil {
		return nil, refusedFor(why, agentpb.Problem_WAIT_ENDED, args{"pod": p.FullName()})
	}
	if !a.holds.HasRoom() {
		return nil, a.holds.TooMany()
	}
	lease, wait, err := a.limits().leaseAndWait(req.GetLease(), req.GetWait())
	if err != nil {
		return nil, err
	}
	by, err := server.AskerFrom(ctx, req.GetMessage())
	if err != nil {
		return nil, err
	}
	on := holding.Terms{Why: holding.Cause{Cause: agentpb.Cause_CAUSE_HOLD}, Lease: lease, Client: server.Client(ctx, req.GetWhileConnected()), Asked: by}
	w := pendingAt(nextPlace(p), on)
	if err := a.holds.Ask(ctx, &p.State.holding, w); err != nil {
		return nil, err
	}
	a.announceClosely(ctx)
	return a.holds.Await(ctx, &p.State.holding, w, wait)
}

func (s *service) HoldWhile(req *agentpb.HoldRequest, stream grpc.ServerStreamingServer[agentpb.HoldInfo]) error {
	h, err := s.hold(stream.Context(), req)
	if err != nil {
		return err
	}
	// However the stream ends, the pod goes on.
	defer h.Release(agentpb.ReleaseClientGone)
	if err := stream.Send(h.Proto()); err != nil {
		return err
	}
	select {
	case <-h.Released():
		return nil
	case <-stream.Context().Done():
		return status.FromContextError(stream.Context().Err()).Err()
	}
}

// oneHeld returns the one pod that is meant, and its holds: at least one.
func (a *Agent) oneHeld(sel *agentpb.PodSelector) (*pod, []*hold, error) {
	p, err := a.onePod(sel)
	if err != nil {
		return nil, nil, err
	}
	held := a.holds.Of(&p.State.holding)
	if len(held) == 0 {
		return nil, nil, refused(agentpb.Problem_NOT_HELD, args{"pod": p.FullName()})
	}
	return p, held, nil
}

func (s *service) Step(ctx context.Context, req *agentpb.StepRequest) (*agentpb.HoldInfo, error) {
	a := s.agent
	if err := a.mayAct(); err != nil {
		return nil, err
	}
	p, held, err := a.oneHeld(req.GetPods())
	if err != nil {
		return nil, err
	}
	from := held[0]
	lease, wait, err := a.limits().leaseAndWait(req.GetLease(), req.GetWait())
	if err != nil {
		return nil, err
	}
	by, err := server.AskerFrom(ctx, cmp.Or(req.GetMessage(), from.Asked.Message))
	if err != nil {
		return nil, err
	}
	place, err := a.placeFor(from, req)
	if err != nil {
		return nil, err
	}
	on := holding.Terms{Why: holding.Cause{Cause: agentpb.Cause_CAUSE_STEP}, Lease: lease, Client: server.Client(ctx, req.GetWhileConnected()), Asked: by}
	w := pendingAt(place, on)
	if byLine(req.GetMode()) {
		if w.Goroutine = from.At.span.goroutine; w.Goroutine == 0 {
			return nil, refused(agentpb.Problem_NO_LINES, nil)
		}
	}
	if err := a.holds.Ask(ctx, &p.State.holding, w); err != nil {
		return nil, err
	}
	a.announceClosely(ctx)
	forget := func() {}
	if w.Goroutine != 0 {
		if forget, err = a.stepByLine(ctx, from, req.GetMode()); err != nil {
			a.holds.TakeBack(&p.State.holding, w)
			return nil, err
		}
	}
	from.ReleaseBy(agentpb.ReleaseStep, server.PeerFrom(ctx))
	h, err := a.holds.Await(ctx, &p.State.holding, w, wait)
	if err != nil {
		forget()
		return nil, err
	}
	if h.Why != w.Why { // a breakpoint was nearer
		forget()
	}
	return h.Proto(), nil
}

func (s *service) Continue(ctx context.Context, req *agentpb.ContinueRequest) (*agentpb.ContinueResponse, error) {
	a := s.agent
	if req.GetAll() {
		return a.continueAll(ctx, req)
	}
	p, err := a.onePod(req.GetPods())
	if err != nil {
		return nil, err
	}
	armed := a.holds.Drop(&p.State.holding, agentpb.ReleaseContinue)
	held := a.holds.Of(&p.State.holding)
	for _, h := range held {
		h.ReleaseBy(agentpb.ReleaseContinue, server.PeerFrom(ctx))
	}
	if len(held) == 0 && !armed {
		return nil, refused(agentpb.Problem_NOT_HELD, args{"pod": p.FullName()})
	}
	return a.released(ctx, held)
}

// continueAll is Continue for all that a request selects.
func (a *Agent) continueAll(ctx context.Context, req *agentpb.ContinueRequest) (*agentpb.ContinueResponse, error) {
	q, err := a.newHeldQuery(req.GetPods(), req.GetStep(), req.Uid, req.GetUser())
	if err != nil {
		return nil, err
	}
	return a.released(ctx, a.releaseHeld(q, agentpb.ReleaseContinue, server.PeerFrom(ctx)))
}

// released returns the answer about holds that were let go. It waits until their pods have gone on: the kubelet's
// goroutines need a moment to wake.
func (a *Agent) released(ctx context.Context, holds []*hold) (*agentpb.ContinueResponse, error) {
	out := &agentpb.ContinueResponse{}
	for _, h := range holds {
		select {
		case <-h.Ended():
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		out.Released = append(out.Released, h.Proto())
		out.Seq = max(out.Seq, h.EndedSeq())
	}
	return out, nil
}

func (s *service) ListHolds(_ context.Context, req *agentpb.ListHoldsRequest) (*agentpb.ListHoldsResponse, error) {
	q, err := s.agent.newHeldQuery(req.GetPods(), req.GetStep(), req.Uid, req.GetUser())
	if err != nil {
		return nil, err
	}
	held, seq := s.agent.holds.List(nil)
	out := &agentpb.ListHoldsResponse{Seq: seq}
	for _, h := range held {
		if q.meansHold(h) {
			out.Holds = append(out.Holds, h.Proto())
		}
	}
	return out, nil
}

func (s *service) Look(ctx context.Context, req *agentpb.LookRequest) (*agentpb.LookResponse, error) {
	a := s.agent
	p, held, err := a.oneHeld(req.GetPods())
	if err != nil {
		return nil, err
	}
	at := held[0].At.span
	d := a.probes[at.probe].debugger.Load()
	if d == nil || at.goroutine == 0 {
		return nil, refused(agentpb.Problem_NO_DEBUGGER, args{"pod": p.FullName()})
	}
	out, err := d.Look(ctx, uint64(at.goroutine), req)
	if err != nil {
		return nil, refused(agentpb.Problem_LOOK_FAILED, args{"error": err.Error()})
	}
	out.Pod, out.Step = held[0].Proto().Pod, at.step.Name
	return out, nil
}

func itoa(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
