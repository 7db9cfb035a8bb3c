package probes

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed catalogue/*.yaml catalogue/functions.sum
var catalogueFiles embed.FS

// KubernetesVersion is the version of the kubelet that the catalogue was read
// from. Symbols of other minors may differ.
const KubernetesVersion = "v1.36.3"

// SameMinor reports whether a kubelet's version is one of the catalogue's minor
// version.
func SameMinor(version string) bool { return minor(version) == minor(KubernetesVersion) }

func minor(version string) string {
	parts := strings.SplitN(version, ".", 3)
	return strings.Join(parts[:min(2, len(parts))], ".")
}

// Catalogue is every step podstep knows, in pipeline order.
type Catalogue struct {
	Stages []Stage
	Steps  []Step
	Timers []Timer

	byName map[string]*Step
	byRole map[Role][]*Step
}

// Stage is a chapter of the pipeline.
type Stage struct {
	Name  string `yaml:"stage"`
	Title Text   `yaml:"title"`
	Text  Text   `yaml:"text"`
}

// Step is one function of the kubelet's pod pipeline, or something about a pod that a source outside the kubelet's
// code reports: see Seen.
type Step struct {
	// ID is the step's place in the catalogue. Woven code carries it. It means nothing outside one build.
	ID int `yaml:"-"`
	// Stage is the name of the stage whose file holds the step.
	Stage string `yaml:"-"`

	Name  string `yaml:"name"`
	Tier  int    `yaml:"tier"`
	Title Text   `yaml:"title"`
	Text  Text   `yaml:"text"`

	// Seen is the source that reports a step that is no function of the kubelet. Such a step
	// has no symbol and no expressions, and is never woven.
	Seen Witness `yaml:"seen"`

	// Symbol is the function as the linker names it. For a closure it is the
	// function that encloses it.
	Symbol string `yaml:"symbol"`
	// Closure selects a function literal in Symbol: by the name of the variable it is assigned to, or by "return"
	// if it is returned. The compiler's numbers for closures change with every edit, so they are not used.
	Closure string `yaml:"closure"`
	// File is where the function is, relative to its module.
	File string `yaml:"file"`
	// Formerly is what the function was called in older kubelets, the oldest first.
	Formerly []Former `yaml:"formerly" json:"-"`
	// Later is what the function literal is called in newer kubelets.
	Later *Later `yaml:"later" json:"-"`
	// CRI is the method that the function calls, such as ImageService.PullImage, if the function is one of the
	// kubelet's CRI client.
	CRI string `yaml:"cri"`
	// Sum is the FunctionSum of the function's source, as the catalogue was read from it. It is empty for a step
	// that is no function.
	Sum string `yaml:"-"`

	// Story is what a call of the step means to the story of its pod.
	Story Story `yaml:"story"`

	// Pod states how to find the pods that a call is about, from the function's arguments or results.
	Pod PodSource `yaml:"pod"`
	// Fields are shown when the function is entered, Results when it returns.
	// The function's error needs no mention.
	Fields  []Field `yaml:"fields"`
	Results []Field `yaml:"results"`
	// Quiet is a Go expression over arguments and named results. A call for which it is true makes no event. It
	// keeps functions that are called for every pod every second, mostly for nothing, out of the story.
	Quiet string `yaml:"quiet"`
	// QuietMemory, if set, is what a probe without a compiler reads in place of Quiet.
	QuietMemory string `yaml:"quietMemory" json:"-"`
	// Early names a field. A call that begins with more than zero in it is not quiet, so it makes an event at once, as it may hang.
	Early string `yaml:"early"`
	// Idle makes a call quiet if it did not fail and no other step happened in it. It is the cheap kind of Quiet,
	// for loops that look at every pod.
	Idle bool `yaml:"idle"`

	// EachPod marks a function that the kubelet calls for each of its pods whenever one of them changes. A debugger does not
	// stop there.
	EachPod bool `yaml:"eachPod" json:"-"`

	// Goroutine is the kind of goroutine the function runs on.
	Goroutine string `yaml:"goroutine"`
	// Root marks a function in which a goroutine spends its life: its span has
	// no parent, and what it calls belongs to Goroutine.
	Root bool `yaml:"root"`
	// Starts marks the first function of a goroutine that serves one operation only. Its span keeps the parent that
	// it was started from, and what it calls belongs to Goroutine.
	Starts bool `yaml:"starts"`
	// Carries marks a function by which the goroutines that it starts know their pod. A probe that looks at few
	// steps looks at this one too, whatever its tier.
	Carries bool `yaml:"carries"`
	// Awaits marks a function that waits for the goroutines that it starts. What these call belongs to the
	// goroutine of the function.
	Awaits bool `yaml:"awaits"`

	// Log are the lines that the kubelet writes to its log at the step.
	Log []LogLine `yaml:"log" json:"-"`

	Hold   Hold     `yaml:"hold"`
	Timers []string `yaml:"timers"`

	// EndBackOff is a Go expression: a func() (ended bool, length int64). It ends the back-off of the kubelet that the
	// function would find, and returns the length of that back-off in nanoseconds, or 0 where nobody knows it. The agent may
	// call it while the function is entered.
	EndBackOff string `yaml:"endBackOff"`
	// SyncNow is a Go expression: a func(uid string) (refused string) that has a pod's worker sync the pod at once, or
	// returns why not. The agent may call it from any goroutine, from the function's entry on.
	SyncNow string `yaml:"syncNow"`

	// Skip lets the program that hosts the kubelet make the function return at once, with zero results: see
	// hook.Skip. It is for functions that cannot work in a lab without root. A client cannot ask for it.
	Skip bool `yaml:"skip"`
}

// Outside reports whether the step is no function of the kubelet. Then only a podstep beside the kubelet can see
// it.
func (s *Step) Outside() bool { return s.Seen != "" }

// Report reports whether the step is a report of a source, and no call.
func (s *Step) Report() bool { return s.Outside() && s.Seen != ByCall }

// PodKind is the kind of value that PodSource.Expr yields.
type PodKind string

const (
	// PodInherit: the pod of the enclosing step on the same goroutine.
	PodInherit PodKind = "inherit"
	// PodNone: the step belongs to the node, not to a pod.
	PodNone PodKind = "none"
	// PodObject: a *v1.Pod, which may be nil.
	PodObject PodKind = "pod"
	// PodList: a []*v1.Pod; one event a pod.
	PodList PodKind = "pods"
	// PodObjects: a []interface{} of *v1.Pod, as a reflector's store gives it;
	// one event for each pod whose resource version was not seen here before.
	PodObjects PodKind = "objects"
	// PodUID: a types.UID or string.
	PodUID PodKind = "uid"
	// PodSandboxConfig: a *runtimeapi.PodSandboxConfig.
	PodSandboxConfig PodKind = "sandboxConfig"
	// PodCRIID: the id of a container or a sandbox, as a string. The agent learns its pod from the call that made
	// it.
	PodCRIID PodKind = "criID"
	// PodUpdates: at exit, several lists of pods, one for each thing that was decided about them.
	PodUpdates PodKind = "updates"
)

// PodSource states how the pod of a call is found.
type PodSource struct {
	Kind PodKind `yaml:"kind"`
	// Expr is a Go expression over the function's receiver, arguments and, if
	// Exit is set, results.
	Expr string `yaml:"expr"`
	// Exit is set when the pod is only known once the function returns.
	Exit bool `yaml:"exit"`
	// Updates are, for PodUpdates, the expressions ([]*v1.Pod) and the word for
	// each, such as ADD.
	Updates []Update `yaml:"updates"`
	// Memory, if set, is what a probe without a compiler reads in place of Expr; or it is MemoryInherits.
	Memory string `yaml:"memory" json:"-"`
}

// MemoryInherits stands for the pod of the enclosing step. A probe without a compiler uses it in a closure, where
// woven code reads a variable of the function around it.
const MemoryInherits = "inherits"

// Read returns the expression that a probe without a compiler is to read.
func (p *PodSource) Read() string { return cmp.Or(p.Memory, p.Expr) }

// Update is one list of pods that a step decided about in the same way.
type Update struct {
	Op   string `yaml:"op"`
	Expr string `yaml:"expr"`
}

// Field is a value worth showing. Expr is a Go expression that is evaluated in the function itself: at entry over
// receiver and arguments, at exit over the results too. It is empty for a step that is no function.
type Field struct {
	Name string `yaml:"name"`
	Expr string `yaml:"expr"`
	// Memory, if set, is what a probe without a compiler reads in place of Expr: a
	// simpler expression of the same value. See package memory.
	Memory string `yaml:"memory" json:"-"`
	// CRI, in a step that is a call of the CRI, is where the value is in the request or, for a
	// result, in the answer: a path such as status.network.ip. See package cri.
	CRI string `yaml:"cri" json:"-"`
}

// Read returns the expression that a probe without a compiler is to read.
func (f *Field) Read() string { return cmp.Or(f.Memory, f.Expr) }

// HoldRule states whether a pod may be held at one side of a step.
type HoldRule string

const (
	// HoldYes: only the pod's worker comes here, holding no lock.
	HoldYes HoldRule = "yes"
	// HoldWorker: not only the pod's worker comes here. As with HoldYes the pod may be held only if worker.loop of
	// this pod is seen to enclose the call, on this goroutine or on one that waits for it (see Step.Awaits).
	HoldWorker HoldRule = "worker"
	// HoldOwn: a goroutine of one health probe or volume operation comes here. An enclosing step that is Root or
	// Starts shows that it is one. Only that goroutine waits.
	HoldOwn HoldRule = "own"
	// HoldNode: the goroutine, or a lock that is held, serves many pods. A pod may be held only in a lab, which
	// serves one person; the node stands still meanwhile. Elsewhere this is HoldNo.
	HoldNode HoldRule = "node"
	// HoldNo: other pods would wait too.
	HoldNo HoldRule = "no"
)

// Hold states where a pod may be held at a step, and why not elsewhere.
type Hold struct {
	Enter HoldRule `yaml:"enter"`
	Exit  HoldRule `yaml:"exit"`
	// NotWithin names steps within which the kubelet holds a lock, or has promised
	// to be quick, when it comes here: a pod is not held within them.
	NotWithin []string `yaml:"notWithin"`
	// Needs is how much of the caller's deadline the call needs for its own work, besides the grace period if it
	// stops a container. A hold ends that long before the deadline.
	Needs time.Duration `yaml:"needs"`
	Why   Text          `yaml:"why"`
}

// Timer is a timer of the kubelet or its surroundings that goes on running
// while a pod is held inside a step that names it.
type Timer struct {
	Name string `yaml:"name"`
	// From is the step whose function starts the timer; the timer runs until that
	// function returns. Empty: the timer comes with the call.
	From string `yaml:"from"`
	// After is how long the timer runs, as time.ParseDuration reads it, or
	// AfterGrace, AfterCaller, or AfterDebugger.
	After string `yaml:"after"`
	// Sidecars: only pods with sidecars have the timer.
	Sidecars bool `yaml:"sidecars"`
	Text     Text `yaml:"text"`
}

const (
	// AfterGrace stands for the grace period of the kill that From is part of: the
	// field gracePeriod or gracePeriodOverride of that call, in seconds, or else
	// what the pod's object says.
	AfterGrace = "grace"
	// AfterCaller stands for the deadline that comes with a call.
	AfterCaller = "caller"
	// AfterDebugger stands for how long a debugger stops the whole kubelet.
	AfterDebugger = "debugger"
)

// Load reads the catalogue that is built into the program. It is read once;
// an error is a fault of the build, and a test makes sure there is none.
var Load = sync.OnceValues(func() (*Catalogue, error) { return load(catalogueFiles, "catalogue") })

// MustLoad is Load for callers that cannot go on without a catalogue.
func MustLoad() *Catalogue {
	c, err := Load()
	if err != nil {
		panic(err)
	}
	return c
}

// Step returns the step of that name, or nil.
func (c *Catalogue) Step(name string) *Step { return c.byName[name] }

// Timer returns the timer of that name, or nil.
func (c *Catalogue) Timer(name string) *Timer {
	for i := range c.Timers {
		if c.Timers[i].Name == name {
			return &c.Timers[i]
		}
	}
	return nil
}

// index is catalogue/index.yaml: the order of the stages, and the timers.
type index struct {
	Stages []string `yaml:"stages"`
	Timers []Timer  `yaml:"timers"`
}

// stageFile is one file of the catalogue.
type stageFile struct {
	Stage `yaml:",inline"`
	Steps []Step `yaml:"steps"`
}

func load(files fs.FS, dir string) (*Catalogue, error) {
	var idx index
	if err := ReadYAML(files, path.Join(dir, "index.yaml"), &idx); err != nil {
		return nil, fmt.Errorf("read catalogue: %w", err)
	}
	c := &Catalogue{Timers: idx.Timers, byName: map[string]*Step{}, byRole: map[Role][]*Step{}}
	for _, name := range idx.Stages {
		var f stageFile
		if err := ReadYAML(files, path.Join(dir, name+".yaml"), &f); err != nil {
			return nil, fmt.Errorf("read catalogue: %w", err)
		}
		if f.Stage.Name != name {
			return nil, fmt.Errorf("read catalogue: %s.yaml is about stage %q", name, f.Stage.Name)
		}
		c.Stages = append(c.Stages, f.Stage)
		for _, s := range f.Steps {
			s.ID, s.Stage = len(c.Steps), name
			c.Steps = append(c.Steps, s)
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		c.byName[s.Name] = s
		c.byRole[s.Story.Role] = append(c.byRole[s.Story.Role], s)
	}
	if err := c.loadSums(files, dir); err != nil {
		return nil, err
	}
	return c, c.check()
}

// check finds what the YAML decoder cannot: names used twice, timers that are
// not there, expressions that are missing or make no sense together.
func (c *Catalogue) check() error {
	var errs []error
	if len(c.byName) != len(c.Steps) {
		errs = append(errs, errors.New("a step name is used twice"))
	}
	for _, t := range c.Timers {
		if (t.From == "") != (t.After == AfterCaller || t.After == AfterDebugger) || t.From != "" && c.Step(t.From) == nil {
			errs = append(errs, fmt.Errorf("timer %q: starts from no step", t.Name))
		}
	}
	for i := range c.Steps {
		s := &c.Steps[i]
		for _, problem := range slices.Concat(s.problems(c), s.storyProblems(c), s.logProblems()) {
			errs = append(errs, fmt.Errorf("step %q: %s", s.Name, problem))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("check catalogue: %w", errors.Join(errs...))
	}
	return nil
}

func (s *Step) problems(c *Catalogue) (out []string) {
	add := func(bad bool, what string) {
		if bad {
			out = append(out, what)
		}
	}
	add(s.Name == "", "has no name")
	if s.Outside() {
		add(!s.plainlyOutside(), "is reported by "+string(s.Seen)+", but has something of a function")
	} else {
		_, err := ParseSymbol(s.Symbol)
		add(err != nil, "symbol cannot be read")
		wrong := s.formerlyWrong()
		add(wrong != "", wrong)
	}
	add(s.Tier != 1 && s.Tier != 2, "tier must be 1 or 2")
	add(s.Title.En == "" || s.Title.Zh == "", "title is missing in a language")
	add(s.Text.En == "" || s.Text.Zh == "", "text is missing in a language")
	add(s.Goroutine == "", "has no goroutine")
	add(s.Pod.Kind == PodUpdates && (!s.Pod.Exit || len(s.Pod.Updates) == 0), "updates need exit and a list")
	needsExpr := !s.Outside() && s.Pod.Kind != PodInherit && s.Pod.Kind != PodNone && s.Pod.Kind != PodUpdates
	add(needsExpr != (s.Pod.Expr != ""), "pod kind and pod expression do not fit")
	for _, r := range []HoldRule{s.Hold.Enter, s.Hold.Exit} {
		switch r {
		case HoldYes, HoldWorker, HoldOwn:
		case HoldNo, HoldNode:
			add(s.Hold.Why.En == "" || s.Hold.Why.Zh == "", "says no to a hold, if only outside of a lab, without saying why")
		default:
			add(true, fmt.Sprintf("hold rule %q is none of yes, worker, own, node, no", r))
		}
	}
	for _, t := range s.Timers {
		add(c.Timer(t) == nil, "timer "+t+" is not in index.yaml")
	}
	for _, n := range s.Hold.NotWithin {
		add(c.Step(n) == nil, "hold: there is no step "+n+" not to be within")
	}
	add(s.Early != "" && (s.Quiet == "" || !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Name == s.Early })), "early names no field of a call that may be quiet")
	add(s.Root && s.Starts, "root has no parent to be started from")
	for _, f := range append(append([]Field{}, s.Fields...), s.Results...) {
		add(f.Name == "" || (f.Expr == "") != s.Outside(), "a field lacks its name or expression")
		add(f.Memory != "" && f.Expr == "", "a field without an expression has another for memory")
		add((f.CRI == "") != (s.CRI == ""), "a field has its path in the CRI's messages in a call of the CRI, and only there")
	}
	return out
}

// plainlyOutside reports whether a step that is no function has nothing that only a function has.
func (s *Step) plainlyOutside() bool {
	known := map[Witness]PodKind{ByAPI: PodObject, ByKubelet: PodObject, ByRuntime: PodSandboxConfig, ByCall: PodNone}
	if len(s.Formerly) > 0 || s.Later != nil {
		return false
	}
	ofFunction := s.Symbol + s.Closure + s.File + s.CRI + s.Pod.Expr + s.Quiet + s.EndBackOff + s.SyncNow
	return ofFunction == "" && s.Pod.Kind == known[s.Seen] && s.Pod.Kind != "" && !s.Pod.Exit && !s.Idle && !s.Root && !s.Starts && !s.Awaits && !s.EachPod && !s.Skip &&
		s.Hold.Enter == HoldNo && s.Hold.Exit == HoldNo && len(s.Results) == 0
}
