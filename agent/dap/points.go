package dap

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/go-dap"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// maxPoints bounds the breakpoints of one kind, or of one file. Agents allow fewer.
const maxPoints = 1024

// point is a breakpoint of the editor.
type point struct {
	id int
	// key is what the editor asked for. A breakpoint that it asks for again stays as it is, with its hits.
	key string
	// patterns are the steps: names, globs, or stage:NAME. at is a line of the kubelet's code in place of them.
	patterns []string
	at       string
	rule     rule
	// reason is why the editor is to show a stop: breakpoint, function breakpoint, exception.
	reason string
	// log is the text of a logpoint, which stops nobody.
	log string
	// data is set for a data breakpoint, which is at no step.
	data *dataPoint

	// verified, message, line and source are for the editor.
	verified bool
	message  string
	line     int
	source   *dap.Source

	agent []uint32 // its breakpoints at the agent
	set   time.Time
}

// shown returns the breakpoint as the editor gets it.
func (p *point) shown() dap.Breakpoint {
	return dap.Breakpoint{Id: p.id, Verified: p.verified, Message: lines(p.message), Line: p.line, Source: p.source}
}

// fail marks a breakpoint as one that never acts, with the reason.
func (p *point) fail(err error) { p.verified, p.message = false, textOf(err) }

// comesTo reports whether the breakpoint is at a step.
func (p *point) comesTo(step *probes.Step) bool {
	return slices.ContainsFunc(p.patterns, func(pattern string) bool {
		if stage, is := strings.CutPrefix(pattern, "stage:"); is {
			return step.Stage == stage
		}
		ok, err := path.Match(pattern, step.Name)
		return err == nil && ok
	})
}

// points are the breakpoints of a session.
type points struct {
	last int
	// groups are those that the editor sets together, by what it calls them.
	groups map[string][]*point
	// rules are where a pod can be held, by the step's name.
	enter map[string]bool
	of    *agentpb.PodSelector
}

func newPoints(info *agentpb.InfoResponse, of *agentpb.PodSelector) *points {
	p := &points{groups: map[string][]*point{}, enter: map[string]bool{}, of: of}
	for _, s := range info.GetSteps() {
		p.enter[s.GetName()] = s.GetHoldEnter() != "" && s.GetHoldEnter() != string(probes.HoldNo)
	}
	return p
}

// holds reports whether a pod can be held at the beginning of a step.
func (ps *points) holds(step string) bool { return ps.enter[step] }

// all calls each for every breakpoint, in the order in which they were set.
func (ps *points) all() (out []*point) {
	for _, g := range ps.groups {
		out = append(out, g...)
	}
	slices.SortFunc(out, func(a, b *point) int { return cmp.Compare(a.id, b.id) })
	return out
}

// ofAgent returns the breakpoint that has a number at the agent; nil: it is none of this session.
func (ps *points) ofAgent(id uint32) *point {
	for _, p := range ps.all() {
		if slices.Contains(p.agent, id) {
			return p
		}
	}
	return nil
}

// set replaces the breakpoints of a group, and returns them as the editor gets them.
func (s *session) set(group string, wanted []*point) []dap.Breakpoint {
	ps := s.target.points()
	old := ps.groups[group]
	out := make([]dap.Breakpoint, len(wanted))
	var present []*point
	for i, p := range wanted {
		if at := slices.IndexFunc(old, func(o *point) bool { return o.key == p.key && o.verified }); at >= 0 {
			wanted[i] = old[at]
			old = slices.Delete(slices.Clone(old), at, at+1)
		}
	}
	// Those that go first, since an agent takes only so many.
	for _, p := range old {
		s.target.disarm(p)
	}
	for i, p := range wanted {
		if p.id == 0 {
			ps.last++
			p.id = ps.last
			switch {
			case p.message != "": // it failed already
			case i >= maxPoints:
				p.fail(fmt.Errorf("%d breakpoints are the most that a session takes here", maxPoints))
			default:
				s.target.arm(p)
				p.set = time.Now()
			}
		}
		present = append(present, p)
		out[i] = p.shown()
	}
	ps.groups[group] = present
	return out
}

// setFunctionBreakpoints sets breakpoints at steps.
func (s *session) setFunctionBreakpoints(r *dap.SetFunctionBreakpointsRequest) {
	var wanted []*point
	for _, b := range r.Arguments.Breakpoints {
		p := s.pointAt(stepPoint{Step: b.Name, Condition: b.Condition, HitCondition: b.HitCondition})
		if b.Name == "" {
			p.fail(fmt.Errorf("a function breakpoint is at a step, such as cri.RunPodSandbox; podstep steps lists them"))
		}
		wanted = append(wanted, p)
	}
	s.out.put(&dap.SetFunctionBreakpointsResponse{Response: done(r), Body: dap.SetFunctionBreakpointsResponseBody{Breakpoints: s.set("function", wanted)}})
}

// read reads the conditions of a breakpoint.
func (s *session) read(p *point, condition, hits string) {
	var err error
	if p.rule, err = ruleOf(condition, hits, s.target.points().of); err != nil {
		p.fail(err)
	}
}

// setBreakpoints sets breakpoints and logpoints at lines of a file.
func (s *session) setBreakpoints(r *dap.SetBreakpointsRequest) {
	asked := r.Arguments.Breakpoints
	if len(asked) == 0 {
		for _, line := range r.Arguments.Lines {
			asked = append(asked, dap.SourceBreakpoint{Line: line})
		}
	}
	f, err := fileOf(&r.Arguments.Source)
	group := "source " + r.Arguments.Source.Path
	if f != nil {
		group = "source " + f.path()
	}
	var wanted []*point
	for _, b := range asked {
		p := &point{key: strings.Join([]string{itoa(b.Line), b.Condition, b.HitCondition, b.LogMessage}, "\x00"), reason: "breakpoint", line: b.Line, log: b.LogMessage}
		source := r.Arguments.Source
		p.source = &source
		switch s.read(p, b.Condition, b.HitCondition); {
		case p.message != "":
		case err != nil:
			p.fail(err)
		default:
			s.locate(p, f)
		}
		wanted = append(wanted, p)
	}
	s.out.put(&dap.SetBreakpointsResponse{Response: done(r), Body: dap.SetBreakpointsResponseBody{Breakpoints: s.set(group, wanted)}})
}

// locate finds the step for a line of a file.
func (s *session) locate(p *point, f *kubeletFile) {
	p.at = f.file + ":" + itoa(p.line)
	suits := s.target.points().holds
	if p.log != "" {
		suits = func(string) bool { return true }
	}
	at, ok := f.nearest(p.line, suits)
	if !ok {
		// The agent has the reason for which no pod is held at the places of this function.
		at, ok = f.nearest(p.line, func(string) bool { return true })
	}
	if !ok {
		p.fail(fmt.Errorf("line %d is in no function that is a step of podstep%s", p.line, f.nextTo(p.line)))
		return
	}
	p.line, p.patterns = at.line, []string{at.step}
}

// nextTo names the functions with steps that are nearest to a line.
func (f *kubeletFile) nextTo(line int) string {
	for _, e := range f.excerpts {
		if e.Line > line {
			return "; the next one begins at line " + itoa(e.Func)
		}
	}
	if n := len(f.excerpts); n > 0 {
		return "; the last one begins at line " + itoa(f.excerpts[n-1].Func)
	}
	return ""
}

// setExceptionBreakpoints switches the exception filters.
func (s *session) setExceptionBreakpoints(r *dap.SetExceptionBreakpointsRequest) {
	asked := r.Arguments.FilterOptions
	var all []dap.ExceptionFilterOptions
	for _, name := range r.Arguments.Filters {
		all = append(all, dap.ExceptionFilterOptions{FilterId: name})
	}
	var wanted []*point
	for _, o := range append(all, asked...) {
		wanted = append(wanted, s.exceptionPoint(o))
	}
	s.out.put(&dap.SetExceptionBreakpointsResponse{Response: done(r), Body: dap.SetExceptionBreakpointsResponseBody{Breakpoints: s.set("exception", wanted)}})
}

// callStages are the stages of the calls to the container runtime, and of the steps that make them. At most calls a pod
// can be held only in the step that made the call.
var callStages = []string{"stage:cri", "stage:runtime", "stage:image"}

// exceptionPoint returns the breakpoint of a filter.
func (s *session) exceptionPoint(o dap.ExceptionFilterOptions) *point {
	p := &point{key: o.FilterId + "\x00" + o.Condition, reason: "exception"}
	condition := o.Condition
	slower := slowByDefault
	if o.FilterId == filterSlow && condition != "" {
		d, err := time.ParseDuration(strings.TrimSpace(condition))
		if err != nil || d <= 0 {
			p.fail(fmt.Errorf("the condition %q of the filter slow is not a positive duration; write it like 5s", condition))
			return p
		}
		slower, condition = d, ""
	}
	if s.read(p, condition, ""); p.message != "" {
		return p
	}
	switch o.FilterId {
	case filterFailed:
		p.patterns, p.rule.on = callStages, agentpb.On_ON_ERROR
	case filterSync:
		for _, step := range probes.MustLoad().OfRole(probes.RoleTurn) {
			p.patterns = append(p.patterns, step.Name)
		}
		p.rule.on = agentpb.On_ON_ERROR
	case filterSlow:
		p.patterns, p.rule.on, p.rule.slower = callStages, agentpb.On_ON_EXIT, slower
	default:
		p.fail(fmt.Errorf("podstep has no exception filter %q", o.FilterId))
	}
	return p
}
