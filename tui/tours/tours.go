package tours

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"sync"
	"time"

	data "github.com/podstep/podstep/docs/tours"
	"github.com/podstep/podstep/probes"
)

// Tour is one guided walk.
type Tour struct {
	// Name is the tour's file name without its ending, for command lines.
	Name  string      `yaml:"-"`
	Title probes.Text `yaml:"title"`
	// Text says what the walk is about and what one learns.
	Text  probes.Text `yaml:"text"`
	Needs Needs       `yaml:"needs"`
	// Pod is the pod that the walk follows, as namespace/name, or a glob of it. It is empty for a walk about the
	// node.
	Pod string `yaml:"pod"`
	// Manifest is YAML of one or more documents. An action makes it.
	Manifest string `yaml:"manifest"`
	Stops    []Stop `yaml:"stops"`
	// Ending says what to remember, after the last stop.
	Ending probes.Text `yaml:"ending"`
	// Next names the walk to go on with, if there is one.
	Next string `yaml:"next"`
}

// Needs says what a walk needs of the node.
type Needs struct {
	// Runtime is the lab's runtime that the walk needs: "any" or "sim".
	Runtime Runtime `yaml:"runtime"`
	// Devices: the walk needs a lab with devices, which has a DRA driver.
	Devices bool `yaml:"devices"`
	// Recorded: the walk reads events that were there before it began.
	Recorded bool `yaml:"recorded"`
}

// Runtime is what runs the pods of a lab.
type Runtime string

const (
	Any        Runtime = "any"
	Sim        Runtime = "sim"
	Containerd Runtime = "containerd"
)

// Stop is one stop of a walk.
type Stop struct {
	// Step is the catalogue's name of the step; empty for an action.
	Step string `yaml:"step"`
	// On is the side of the step: probes.Enter or probes.Exit.
	On probes.Kind `yaml:"on"`
	// Pod is a glob like Tour.Pod, for a stop about another pod. A stop about the node has "node" in a file, and ""
	// once it is read.
	Pod string `yaml:"pod"`
	// Where are fields that the event must have, printed as `trace` does.
	Where map[string]string `yaml:"where"`
	// Failed: the event must have an error.
	Failed bool `yaml:"failed"`
	// Hold says how the pod is held here; empty for a watched stop.
	Hold Hold `yaml:"hold"`
	// Only names the one runtime whose labs come to this stop. Labs with other runtimes leave the stop out. Empty
	// means all runtimes.
	Only Runtime `yaml:"only"`
	// Act is what to do, for an action.
	Act *Action `yaml:"act"`

	Title probes.Text `yaml:"title"`
	Text  probes.Text `yaml:"text"`
	// Look names the things to look at: fields of the step or of the steps in Shows, and parts of the screen, which
	// begin with an @: @pods, @source, @timeline, @why, @budget, @error.
	Look []string `yaml:"look"`
	// Shows names other steps that one sees between the stop before and this one.
	Shows    []string  `yaml:"shows"`
	Question *Question `yaml:"question"`
	// Wait says why it takes a while to get here; empty: it takes no time worth a word.
	Wait probes.Text `yaml:"wait"`
	// Within is how long it may take to get here, if that is longer than DefaultWithin.
	Within time.Duration `yaml:"within"`
}

// DefaultWithin is how long a walker waits for a stop before it asks the person
// whether to go on waiting.
const DefaultWithin = 30 * time.Second

// Hold says how a pod is held at a stop.
type Hold string

const (
	// HoldPod: the pod's own goroutine stops; all other pods go on.
	HoldPod Hold = "pod"
	// HoldNode: the node's own goroutine stops, and the whole node stands still. Only a lab allows that. On other
	// nodes the stop is watched.
	HoldNode Hold = "node"
)

// Question is a question about what was seen, with its answer.
type Question struct {
	Text   probes.Text `yaml:"text"`
	Answer probes.Text `yaml:"answer"`
}

// Load reads the walks that are built into the program, in the order in which they are best taken. It reads them
// once. An error is a fault of the build.
var Load = sync.OnceValues(func() ([]Tour, error) { return load(data.Files) })

// File returns the name of the file that has the manifest of a stop's action, in the directory of the pages. The
// walk's own manifest is in a file with the walk's name.
func (t *Tour) File(i int) string {
	if t.Stops[i].Act.Manifest == t.Manifest {
		return t.Name + ".yaml"
	}
	return fmt.Sprintf("%s-%d.yaml", t.Name, i+1)
}

// Find returns the walk of that name, or nil.
func Find(all []Tour, name string) *Tour {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return nil
}

func load(files fs.FS) ([]Tour, error) {
	var names []string
	if err := probes.ReadYAML(files, "order.yaml", &names); err != nil {
		return nil, fmt.Errorf("read tours: %w", err)
	}
	out := make([]Tour, 0, len(names))
	for _, name := range names {
		t := Tour{Name: name}
		if err := probes.ReadYAML(files, path.Join("walk", name+".yaml"), &t); err != nil {
			return nil, fmt.Errorf("read tours: %w", err)
		}
		for i := range t.Stops {
			t.Stops[i].fill(&t)
		}
		out = append(out, t)
	}
	return out, nil
}

// fill sets the values that a file leaves out.
func (s *Stop) fill(t *Tour) {
	if s.Act == nil && s.On == "" {
		s.On = probes.Enter
	}
	switch {
	case s.Pod == "node":
		s.Pod = ""
	case s.Act == nil && s.Pod == "":
		s.Pod = t.Pod
	}
	if s.Within == 0 {
		s.Within = DefaultWithin
	}
	if a := s.Act; a != nil {
		a.Walk = t.Name
		if a.Manifest == "" && (a.Do == Create || a.Do == WriteStatic) {
			a.Manifest = t.Manifest
		}
	}
}

// Matches reports whether the event is this stop's. It is never true of an
// action.
func (s *Stop) Matches(e *probes.Event) bool {
	if s.Act != nil || e.Step != s.Step || e.Kind != s.On || (s.Failed && e.Error == "") {
		return false
	}
	return s.OfPod(e.Pod) && s.HasFields(e.Fields)
}

// OfPod reports whether the stop is about this pod; nil is the node.
func (s *Stop) OfPod(p *probes.Pod) bool {
	if p == nil || s.Pod == "" {
		return p == nil && s.Pod == ""
	}
	ok, err := path.Match(s.Pod, p.NamespacedName())
	return ok && err == nil
}

// HasFields reports whether the fields of an event, or of a hold, have the values that the stop asks for. A value in
// Where is a glob.
func (s *Stop) HasFields(fields map[string]any) bool {
	for name, want := range s.Where {
		got, ok := fields[name]
		if !ok {
			return false
		}
		if fit, err := path.Match(flat(want), flat(printed(got))); !fit || err != nil {
			return false
		}
	}
	return true
}

// printed returns a field's value as text; a document as its JSON.
func printed(v any) string {
	if raw, ok := v.(probes.RawJSON); ok {
		return string(raw)
	}
	return fmt.Sprint(v)
}

// flat takes the slashes out of a value, because a glob's star would end at a slash.
func flat(v string) string { return strings.ReplaceAll(v, "/", "\x00") }

// In reports whether a lab with this runtime comes to the stop.
func (s *Stop) In(r Runtime) bool { return s.Only == "" || s.Only == r }

// NextHold returns the index of the next hold stop behind stop i, or -1. It does not look past an action, because
// the stops behind that have not been caused yet.
func NextHold(stops []Stop, i int) int {
	for j := i + 1; j < len(stops) && stops[j].Act == nil; j++ {
		if stops[j].Hold != "" {
			return j
		}
	}
	return -1
}

// errorsOf joins what is wrong with a walk into one error.
func errorsOf(name string, problems []string) error {
	var errs []error
	for _, p := range problems {
		errs = append(errs, fmt.Errorf("tour %s: %s", name, p))
	}
	return errors.Join(errs...)
}
