package logstory

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/nodelog"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Options say what a log does not.
type Options struct {
	// Near is a time near the end of the logs: klog's text has no year. The zero time: when each file was last
	// written to.
	Near time.Time
	// Zone is the zone of the node's clock, which klog's text does not have either; nil: this machine's.
	Zone *time.Location
	// Node is the node's name; empty: as the kubelet's log has it. Of an archive or a directory with logs of several
	// nodes it chooses one: the name of the directory with its logs.
	Node string
	// Fetch gives the logs of a node on another machine, for names such as node/worker-1 that are no files; nil: such
	// names stand for nothing.
	Fetch func(node string, keep nodelog.Keep) error
	// Since and Until bound the entries that are told; the zero time: no bound.
	Since, Until time.Time
}

// Source is a story out of logs. It is read as a trace is.
type Source struct {
	header   *trace.Header
	reporter *reporter
	events   *events
	since    time.Time
	until    time.Time
	inputs   []*input
	queue    []*pending
	again    again
	// closers are the readers of the inputs that are unpacked.
	closers []io.Closer
}

// pending is a log with its next entry.
type pending struct {
	*ahead
	name string
	next entry
}

// ErrNoLog is the error for files that have no entry of a kubelet or a runtime.
var ErrNoLog = errors.New("podstep finds no line of a kubelet or of a container runtime in it")

// Open reads logs once, and is then ready to tell their story.
func Open(names []string, o Options) (*Source, error) {
	s := &Source{since: o.Since, until: o.Until}
	if err := s.open(names, &o); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Source) open(names []string, o *Options) error {
	found := &survey{}
	for _, name := range names {
		inputs, err := openInputs(name, o)
		if err != nil {
			return err
		}
		s.inputs = append(s.inputs, inputs...)
	}
	for _, in := range s.inputs {
		if err := found.readInput(in, o); err != nil {
			return err
		}
	}
	s.header = headerOf(found, names, o.Node)
	s.events = &events{survey: found, roles: roles(s.header.Info)}
	s.reporter = newReporter(found, s.events)
	s.events.pods = s.reporter.pods
	return s.start(o)
}

// readInput looks at all entries of a log.
func (s *survey) readInput(in *input, o *Options) error {
	text, err := in.open()
	if err != nil {
		return err
	}
	defer text.Close()
	lines := s.kubelet + s.runtime
	entries := readAhead(newReader(text, in.clock(o)))
	err = s.read(entries)
	entries.Close()
	switch {
	case err != nil:
		return fmt.Errorf("read %s: %w", in.name, err)
	case s.kubelet+s.runtime == lines:
		return fmt.Errorf("%s: %w", in.name, ErrNoLog)
	}
	return nil
}

// clock returns what is known of the clock of a log.
func (in *input) clock(o *Options) *clock {
	near := o.Near
	if near.IsZero() {
		near = in.written
	}
	if zone := cmp.Or(o.Zone, in.zone); zone != nil {
		near = near.In(zone)
	}
	return &clock{near}
}

// start opens the logs again, each at its first entry.
func (s *Source) start(o *Options) error {
	for _, in := range s.inputs {
		text, err := in.open()
		if err != nil {
			return err
		}
		p := &pending{ahead: readAhead(newReader(text, in.clock(o))), name: in.name}
		s.closers = append(s.closers, p, text) // in this order: nobody reads a text that is closed
		if ok, err := p.advance(); err != nil {
			return err
		} else if ok {
			s.queue = append(s.queue, p)
		}
	}
	return nil
}

func (p *pending) advance() (bool, error) {
	e, err := p.read()
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read %s: %w", p.name, err)
	}
	p.next = e
	return true, nil
}

// Header states what the story is about.
func (s *Source) Header() *trace.Header { return s.header }

// batchEvents is about how many events a batch has.
const batchEvents = 512

// Next returns the next events; after the last, io.EOF.
func (s *Source) Next() (*agentpb.Batch, error) {
	for len(s.queue) > 0 && len(s.events.out) < batchEvents {
		first := 0
		for i, p := range s.queue {
			if p.next.at.Before(s.queue[first].next.at) {
				first = i
			}
		}
		p := s.queue[first]
		if !(len(s.inputs) > 1 && s.again.isKnown(p)) && (s.since.IsZero() || !p.next.at.Before(s.since)) && (s.until.IsZero() || !p.next.at.After(s.until)) {
			s.reporter.add(&p.next)
		}
		ok, err := p.advance()
		if err != nil {
			return nil, err
		}
		if !ok {
			s.queue = append(s.queue[:first], s.queue[first+1:]...)
		}
	}
	if b := s.events.batch(); len(b.Events) > 0 {
		return b, nil
	}
	return nil, io.EOF
}

// Close ends the reading.
func (s *Source) Close() error {
	for _, c := range s.closers {
		_ = c.Close()
	}
	for _, in := range s.inputs {
		_ = in.file.Close()
	}
	s.closers, s.inputs = nil, nil
	return nil
}

// Probe is the name of the probe in the events of logs.
const Probe = "log"

// headerOf makes the header of the story.
func headerOf(s *survey, names []string, node string) *trace.Header {
	if node == "" {
		node = s.node
	}
	info := &agentpb.InfoResponse{KubeletVersion: s.version, Node: node, Started: timestamppb.New(s.first), ReadOnly: true}
	info.Probes = []*agentpb.Probe{{
		Name: Probe, State: agentpb.ProbeState_PROBE_RUNNING, Since: timestamppb.New(s.first),
		Knows: wire.KnowsOf(s.knows()),
	}}
	c := probes.MustLoad()
	known := map[string]bool{}
	for i := range c.Steps {
		step := &c.Steps[i]
		if !known[step.Goroutine] {
			known[step.Goroutine] = true
			info.Goroutines = append(info.Goroutines, step.Goroutine)
		}
		info.Steps = append(info.Steps, &agentpb.Step{
			Name: step.Name, Stage: step.Stage, Tier: int32(step.Tier), HoldEnter: string(probes.HoldNo), HoldExit: string(probes.HoldNo),
			Abilities: []*agentpb.Ability{wire.AbilityOf(ability(step, s))},
		})
	}
	base := make([]string, len(names))
	for i, name := range names {
		base[i] = filepath.Base(name)
	}
	return &trace.Header{Began: s.first, Selection: strings.Join(base, ", "), Info: info}
}

func roles(info *agentpb.InfoResponse) map[string]uint32 {
	out := map[string]uint32{}
	for i, name := range info.Goroutines {
		out[name] = uint32(i)
	}
	return out
}
