package dap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/go-dap"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/client"
)

// The exception filters.
const (
	filterFailed = "failed"
	filterSync   = "sync"
	filterSlow   = "slow"
)

// slowByDefault is how long a call may take before the filter slow stops its pod, if the editor gives no condition.
const slowByDefault = 10 * time.Second

func capabilities() dap.Capabilities {
	return dap.Capabilities{
		SupportsConfigurationDoneRequest:      true,
		SupportsFunctionBreakpoints:           true,
		SupportsConditionalBreakpoints:        true,
		SupportsHitConditionalBreakpoints:     true,
		SupportsEvaluateForHovers:             true,
		SupportsCompletionsRequest:            true,
		SupportsExceptionInfoRequest:          true,
		SupportsExceptionFilterOptions:        true,
		SupportsDelayedStackTraceLoading:      true,
		SupportsLoadedSourcesRequest:          true,
		SupportsLogPoints:                     true,
		SupportsDataBreakpoints:               true,
		SupportsBreakpointLocationsRequest:    true,
		SupportsSteppingGranularity:           true,
		SupportsStepInTargetsRequest:          true,
		SupportsSingleThreadExecutionRequests: true,
		ExceptionBreakpointFilters: []dap.ExceptionBreakpointsFilter{
			{Filter: filterFailed, Label: "Failed call", Description: "Stops a pod as a call to the container runtime, or the step that made it, returns an error", SupportsCondition: true,
				ConditionDescription: "a filter such as pod~web-*"},
			{Filter: filterSync, Label: "Sync error", Description: "Stops a pod as a turn of its worker fails", SupportsCondition: true,
				ConditionDescription: "a filter such as pod~web-*"},
			{Filter: filterSlow, Label: "Slow call", Description: "Stops a pod as a call to the container runtime, or the step that made it, ends after more than 10s", SupportsCondition: true,
				ConditionDescription: "a duration, such as 5s"},
		},
	}
}

func (s *session) initialize(r *dap.InitializeRequest) error {
	if s.ready {
		return fmt.Errorf("initialize was answered already; a session has one")
	}
	s.ready, s.client = true, r.Arguments
	s.out.put(&dap.InitializeResponse{Response: done(r), Body: capabilities()})
	return nil
}

// duration is a time.Duration that configurations write as text, like 5m.
type duration time.Duration

// UnmarshalJSON reads a positive duration.
func (d *duration) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		return errors.New("a duration is a text such as \"5m\"")
	}
	v, err := time.ParseDuration(s)
	if err != nil || v <= 0 {
		return fmt.Errorf("%q is not a positive duration; write it like 5m", s)
	}
	*d = duration(v)
	return nil
}

// proto returns the duration for a request; nil for none.
func (d duration) proto() *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(time.Duration(d))
}

// attachArguments is the configuration of attach.
type attachArguments struct {
	// Pod is [NAMESPACE/]NAME, or a glob; "*" is every pod of the node.
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	// Socket is the path of the agent's socket; "": the agent is at Options.Place.
	Socket string `json:"socket"`
	// Lease bounds each hold, Wait the wait for a step.
	Lease duration `json:"lease"`
	Wait  duration `json:"wait"`
	// Force allows control-plane and system-critical pods.
	Force bool `json:"force"`
	// GoFrames adds the goroutine's frames to each stack. The kubelet stands still while they are read.
	GoFrames bool `json:"goFrames"`
	// Breakpoints are at steps, beside those that the editor sets.
	Breakpoints []stepPoint `json:"breakpoints"`
}

// selector returns the pods that are meant.
func podsOf(pod, namespace string) (*agentpb.PodSelector, error) {
	sel, err := agentpb.ParsePods(pod)
	if err != nil {
		return nil, err
	}
	if namespace == "" {
		return sel, nil
	}
	if sel.Namespace != "" && sel.Namespace != namespace {
		return nil, fmt.Errorf("the pod %s is of another namespace than %q; give the namespace once", pod, namespace)
	}
	sel.Namespace = namespace
	return sel, agentpb.CheckNamespace(namespace)
}

// begin checks that a session may begin now.
func (s *session) begin(what string) error {
	switch {
	case !s.ready:
		return fmt.Errorf("%s needs initialize first", what)
	case s.ended:
		return fmt.Errorf("the session is over; start another one")
	case s.target != nil || s.starting:
		return fmt.Errorf("the session has its pods already; start another one for others")
	}
	return nil
}

func (s *session) attach(r *dap.AttachRequest) error {
	if err := s.begin("attach"); err != nil {
		return err
	}
	var a attachArguments
	if err := readArguments(r.Arguments, &a); err != nil {
		return err
	}
	if a.Pod == "" {
		return fmt.Errorf("which pod? give \"pod\" as NAME or NAMESPACE/NAME, or a glob such as web-*; \"*\" stands for every pod of the node")
	}
	sel, err := podsOf(a.Pod, a.Namespace)
	if err != nil {
		return err
	}
	return s.start(r, a.Breakpoints, &dap.AttachResponse{Response: done(r)}, func(ctx context.Context) (target, error) {
		place := s.opts.Place
		if a.Socket != "" || place == nil {
			place = client.At(a.Socket)
		}
		return newLive(ctx, s, sel, &a, place)
	})
}

// launchArguments is the configuration of launch: of a lab, or of a recording.
type launchArguments struct {
	// Lab starts a node of the editor's own, with simulated containers. Manifest is the file that makes its pods; "": podstep
	// makes Pod.
	Lab      bool   `json:"lab"`
	Manifest string `json:"manifest"`
	// Lease, Wait, Force and GoFrames are those of attach, for a lab.
	Lease    duration `json:"lease"`
	Wait     duration `json:"wait"`
	Force    bool     `json:"force"`
	GoFrames bool     `json:"goFrames"`
	// Trace names one recording, or several logs of one node.
	Trace     names  `json:"trace"`
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	// StopAt is where the replay begins: "entry", the default, or "end".
	StopAt      string      `json:"stopAt"`
	Breakpoints []stepPoint `json:"breakpoints"`
}

// names is a text or a list of texts.
type names []string

// UnmarshalJSON reads either.
func (n *names) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*n = names{one}
		return nil
	}
	var all []string
	if err := json.Unmarshal(text, &all); err != nil {
		return errors.New("it is the path of a file, or a list of paths")
	}
	*n = all
	return nil
}

func (s *session) launch(r *dap.LaunchRequest) error {
	if err := s.begin("launch"); err != nil {
		return err
	}
	var a launchArguments
	if err := readArguments(r.Arguments, &a); err != nil {
		return err
	}
	if a.Lab {
		return s.launchLab(r, &a)
	}
	if len(a.Trace) == 0 || s.opts.Open == nil {
		return fmt.Errorf("launch replays a recording: give \"trace\", the file that podstep trace -w has written; or \"lab\": true for a node of your own; for a pod of a living node, use attach")
	}
	if a.StopAt != "" && a.StopAt != "entry" && a.StopAt != "end" {
		return fmt.Errorf("stopAt is entry or end, not %q", a.StopAt)
	}
	sel, err := podsOf(a.Pod, a.Namespace)
	if err != nil {
		return err
	}
	return s.start(r, a.Breakpoints, &dap.LaunchResponse{Response: done(r)}, func(ctx context.Context) (target, error) { return newReplay(ctx, s, sel, &a, r.Seq) })
}

// readArguments reads the configuration of attach or launch. Editors add members of their own, which are left out.
func readArguments(text json.RawMessage, into any) error {
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("the configuration cannot be read: %v; docs/dap.md lists what it may have", err)
	}
	return nil
}

// start makes the target of the session, on a goroutine of its own: an agent may take long to answer, a file to be read.
func (s *session) start(r dap.RequestMessage, at []stepPoint, answer dap.Message, open func(context.Context) (target, error)) error {
	s.starting = true
	return s.later(r, func() (dap.Message, error) {
		t, err := open(s.ctx)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.starting = false
		if err != nil {
			return nil, err
		}
		if s.ended {
			t.close()
			return nil, fmt.Errorf("the session ended meanwhile")
		}
		s.target = t
		s.setConfigured(at)
		if _, replays := t.(*replay); replays {
			s.out.put(&dap.CapabilitiesEvent{Event: event("capabilities"), Body: dap.CapabilitiesEventBody{Capabilities: dap.Capabilities{SupportsStepBack: true}}})
		}
		s.out.put(answer)
		s.out.put(&dap.InitializedEvent{Event: event("initialized")})
		return nil, nil
	})
}

// resumesSecond reports whether the editor lets a second stopped thread go on by itself, as nvim-dap does.
func (s *session) resumesSecond() bool { return s.client.ClientID == "neovim" }
