package history

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/words"
)

// StepID is a step's number in a history: its place in the catalogue plus one,
// or a later number for steps of agents that know more. Zero is no step.
type StepID uint16

// maxSteps bounds the steps of foreign agents.
const maxSteps = 4096

// Step is what a history knows about a step.
type Step struct {
	Name, Stage string
	About       *probes.Step // nil: not in this program's catalogue
}

// Tier returns the step's tier. A step that is not in the catalogue is for a closer look.
func (s *Step) Tier() int {
	if s.About == nil {
		return 2
	}
	return s.About.Tier
}

// Means returns what the step means to a story, by this program's catalogue. For a step that is not there it is
// empty.
func (s *Step) Means() *probes.Story {
	if s.About == nil {
		return &probes.Story{}
	}
	return &s.About.Story
}

// Title returns the step's title in the catalogue, or else its name.
func (s *Step) Title() probes.Text {
	switch {
	case s.About != nil:
		return s.About.Title
	case s.Name == "":
		return words.Text("a step of an unknown name", "未知步骤")
	}
	return words.Text(s.Name, s.Name)
}

// steps has all steps of a history, by number and by name.
type steps struct {
	all    []Step
	byName map[string]StepID
	roles  []probes.Role
}

func newSteps(c *probes.Catalogue) *steps {
	t := &steps{all: make([]Step, 1, len(c.Steps)+1), byName: map[string]StepID{}}
	for i := range c.Steps {
		s := &c.Steps[i]
		t.byName[s.Name] = StepID(len(t.all))
		t.all = append(t.all, Step{Name: s.Name, Stage: s.Stage, About: s})
	}
	t.roles = make([]probes.Role, len(t.all))
	for i := range c.Steps {
		t.roles[i+1] = c.Steps[i].Story.Role
	}
	return t
}

// learn takes the steps of an agent. It returns the history's number for each of the agent's numbers, and the agent's
// reports by the history's numbers.
func (t *steps) learn(info *agentpb.InfoResponse) (wire []StepID, here []*agentpb.Step) {
	for _, s := range info.GetSteps() {
		wire = append(wire, t.intern(s.GetName(), s.GetStage()))
	}
	here = make([]*agentpb.Step, len(t.all))
	for i, id := range wire {
		if id != 0 {
			here[id] = info.GetSteps()[i]
		}
	}
	return wire, here
}

func (t *steps) intern(name, stage string) StepID {
	id, ok := t.byName[name]
	if !ok && name != "" && len(t.all) < maxSteps {
		id = StepID(len(t.all))
		t.byName[name] = id
		t.all = append(t.all, Step{Name: words.Clean(name), Stage: words.Clean(stage)})
	}
	return id
}

func (t *steps) at(id StepID) *Step {
	if int(id) < len(t.all) {
		return &t.all[id]
	}
	return &t.all[0]
}

// Step returns what is known about a step. For an unknown number that is an entry without a name.
func (h *History) Step(id StepID) *Step { return h.steps.at(id) }

// StepNamed returns the number of the step with a name; zero: there is none.
func (h *History) StepNamed(name string) StepID { return h.steps.byName[name] }

// StepFor returns the first step of a role; zero: the catalogue has none.
func (h *History) StepFor(r probes.Role) StepID {
	for _, st := range h.catalogue.OfRole(r) {
		return h.steps.byName[st.Name]
	}
	return 0
}

// Steps returns the number of steps, including number 0, which is no step.
func (h *History) Steps() int { return len(h.steps.all) }

// Reported reports whether a step is a report, and no function of the kubelet.
func (h *History) Reported(id StepID) bool {
	about := h.steps.at(id).About
	return about != nil && about.Report()
}

// Role returns the role of a step in a pod's story. It is looked up once for each step, since a story asks for every
// event.
func (h *History) Role(id StepID) probes.Role {
	if int(id) < len(h.steps.roles) {
		return h.steps.roles[id]
	}
	return ""
}

// IsRequest reports whether a step is the kubelet's answer to somebody's request, as for kubectl logs. If it fails, nothing
// of the pod has failed.
func (h *History) IsRequest(id StepID) bool { return h.Step(id).Stage == stageRequests }

// stageRequests is the stage of the kubelet's HTTP server.
const stageRequests = "http"
