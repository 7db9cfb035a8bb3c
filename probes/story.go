package probes

import (
	"fmt"
	"slices"
)

// Role is what a step means to the story of a pod: the fact about the pod that its calls show. Readers of stories
// go by roles. A step without one is shown, but changes nothing that is known of the pod. Roles lists them all,
// with their meanings.
type Role string

// The pod's worker and its turns.
const (
	RoleLife       Role = "life"
	RoleWorker     Role = "worker"
	RoleBegin      Role = "begin"
	RoleTurn       Role = "turn"
	RoleWork       Role = "work"
	RoleTransition Role = "transition"
	RoleComplete   Role = "complete"
	RoleEnd        Role = "end"
	RoleNext       Role = "next"
	RoleUpdate     Role = "update"
)

// What becomes of the pod in the kubelet's lists.
const (
	RoleMerge      Role = "merge"
	RoleAdd        Role = "add"
	RoleRemove     Role = "remove"
	RoleAdmit      Role = "admit"
	RoleShutdown   Role = "shutdown"
	RoleStatus     Role = "status"
	RoleSetStatus  Role = "setStatus"
	RoleSendStatus Role = "sendStatus"
	RoleCanDelete  Role = "canDelete"
	RoleCache      Role = "cache"
)

// What a turn does inside the kubelet.
const (
	RoleVolumes         Role = "volumes"
	RoleVolumeOperation Role = "volumeOperation"
	RoleRuntime         Role = "runtime"
	RolePlan            Role = "plan"
	RoleContainer       Role = "container"
	RoleBackoff         Role = "backoff"
	RolePullWait        Role = "pullWait"
	RoleConfig          Role = "config"
	RoleKill            Role = "kill"
	RoleProbeTurn       Role = "probeTurn"
	RoleProbe           Role = "probe"
)

// The calls to the runtime.
const (
	RoleSandbox         Role = "sandbox"
	RoleCreate          Role = "create"
	RoleStart           Role = "start"
	RolePull            Role = "pull"
	RoleExec            Role = "exec"
	RoleStop            Role = "stop"
	RoleStopSandbox     Role = "stopSandbox"
	RoleRemoveSandbox   Role = "removeSandbox"
	RoleContainerStatus Role = "containerStatus"
)

// The reports: what sources outside the kubelet's code make known of a pod.
const (
	RoleBound          Role = "bound"
	RoleChanged        Role = "changed"
	RoleDeleting       Role = "deleting"
	RoleGone           Role = "gone"
	RoleKnown          Role = "known"
	RoleSandboxState   Role = "sandboxState"
	RolePhase          Role = "phase"
	RoleCondition      Role = "condition"
	RoleIP             Role = "ip"
	RoleContainerState Role = "containerState"
	RoleEvent          Role = "event"
)

// RoleInfo describes a role.
type RoleInfo struct {
	Role Role
	// Text completes the sentence "A step of this role ...".
	Text string
	// Fields and Results are the fields that readers of the role look at: a step
	// of the role has them, under these names.
	Fields, Results []string
	// Report marks roles of steps that are no function of the kubelet.
	Report bool
}

// Roles are all roles, in the order in which a pod meets them.
var Roles = []RoleInfo{
	{Role: RoleLife, Text: "is a goroutine's whole life: what happens in it stands by itself"},
	{Role: RoleWorker, Text: "is the whole life of the pod's worker"},
	{Role: RoleBegin, Text: "reads the worker's mailbox: a turn begins", Results: []string{"workType", "updateType", "canStart"}},
	{Role: RoleTurn, Text: "is one turn of the worker; its error is the turn's", Fields: []string{"workType", "updateType"}},
	{Role: RoleWork, Text: "is what a turn is for: SyncPod or one of its three sisters"},
	{Role: RoleTransition, Text: "moves the pod on towards its end, after a turn"},
	{Role: RoleComplete, Text: "ends a turn, whose next is set in it", Fields: []string{"phaseTransition"}},
	{Role: RoleEnd, Text: "ends the last turn: the worker has finished the pod"},
	{Role: RoleNext, Text: "sets when the next turn is due", Fields: []string{"delay"}},
	{Role: RoleUpdate, Text: "puts an update into the worker's mailbox", Fields: []string{"updateType", "waitsForKill", "deletionGracePeriod"}},

	{Role: RoleMerge, Text: "decides what changed of a pod since its source sent it last; its op is one of ADD, UPDATE, DELETE, REMOVE, RECONCILE"},
	{Role: RoleAdd, Text: "takes a pod that its source has begun to send"},
	{Role: RoleRemove, Text: "lets go of a pod that its source sends no more"},
	{Role: RoleAdmit, Text: "admits the pod or refuses it for good", Results: []string{"admitted", "reason", "message"}},
	{Role: RoleShutdown, Text: "ends all pods, as the node shuts down"},
	{Role: RoleStatus, Text: "works out the pod's status", Results: []string{"phase", "reason", "conditions"}},
	{Role: RoleSetStatus, Text: "stores the pod's status", Fields: []string{"phase"}, Results: []string{"changed"}},
	{Role: RoleSendStatus, Text: "sends the pod's status to the API server; a version that is sent again has not come there", Fields: []string{"version"}},
	{Role: RoleCanDelete, Text: "is asked of pods whose object is being deleted: may it go?", Fields: []string{"finalizers"}, Results: []string{"canBeDeleted"}},
	{Role: RoleCache, Text: "stores what the runtime has of the pod; gone says that it has nothing any more", Fields: []string{"gone"}},

	{Role: RoleVolumes, Text: "waits until the pod's volumes are mounted", Fields: []string{"volumes"}},
	{Role: RoleVolumeOperation, Text: "is one operation on a volume; its error is why the volume is not there", Results: []string{"eventErr"}},
	{Role: RoleRuntime, Text: "makes the containers as they should be; the plan is made in it, then carried out; what of it failed is no error but a result", Results: []string{"resultError"}},
	{Role: RolePlan, Text: "plans what the turn does to sandbox and containers", Results: []string{"killPod", "createSandbox", "initContainersToStart", "containersToStart", "containersToKill"}},
	{Role: RoleContainer, Text: "brings one container up, unless it is in back-off", Fields: []string{"typeName", "container"}},
	{Role: RoleBackoff, Text: "finds out whether a container's start is in back-off", Fields: []string{"container"}, Results: []string{"isInBackOff", "message", "left"}},
	{Role: RolePullWait, Text: "waits for the image to be pulled, first in the kubelet's queue; each call is a try unless its error is ImagePullBackOff", Fields: []string{"image"}, Results: []string{"backOff"}},
	{Role: RoleConfig, Text: "makes a container's configuration: a try to start it begins", Fields: []string{"container"}},
	{Role: RoleKill, Text: "stops one container, hooks included", Fields: []string{"container"}},
	{Role: RoleProbeTurn, Text: "is one round of a health probe", Fields: []string{"probeType", "container"}},
	{Role: RoleProbe, Text: "runs a health probe once", Fields: []string{"probeType", "container"}, Results: []string{"result"}},

	{Role: RoleSandbox, Text: "has the runtime make a sandbox; each call is a try", Results: []string{"podSandboxID"}},
	{Role: RoleCreate, Text: "has the runtime create a container; each call is a try", Fields: []string{"podSandboxID", "container"}, Results: []string{"containerID"}},
	{Role: RoleStart, Text: "has the runtime start a container; each call is a try", Fields: []string{"containerID"}},
	{Role: RolePull, Text: "has the runtime pull an image; each call is a try", Fields: []string{"image"}},
	{Role: RoleExec, Text: "runs a command in a container", Fields: []string{"containerID", "command", "timeout"}},
	{Role: RoleStop, Text: "has the runtime stop a container", Fields: []string{"containerID"}},
	{Role: RoleStopSandbox, Text: "has the runtime stop a sandbox", Fields: []string{"podSandboxID"}},
	{Role: RoleRemoveSandbox, Text: "has the runtime remove a sandbox", Fields: []string{"podSandboxID"}},
	{Role: RoleContainerStatus, Text: "asks the runtime how a container is", Fields: []string{"containerID"}, Results: []string{"state", "exitCode", "reason"}},

	{Role: RoleBound, Text: "reports that the pod is bound to this node", Fields: []string{"node", "containers", "since", "from"}, Report: true},
	{Role: RoleChanged, Text: "reports that the pod's spec or metadata changed", Fields: []string{"changed", "since", "from"}, Report: true},
	{Role: RoleDeleting, Text: "reports that the pod's object is being deleted", Fields: []string{"grace", "finalizers", "since", "from"}, Report: true},
	{Role: RoleGone, Text: "reports that the pod's object is gone", Fields: []string{"phase", "reason", "since", "from"}, Report: true},
	{Role: RoleKnown, Text: "reports whether the kubelet has the pod in its list", Fields: []string{"known", "source", "since", "from"}, Report: true},
	{Role: RoleSandboxState, Text: "reports a sandbox that the runtime has", Fields: []string{"podSandboxID", "ready", "since", "from"}, Report: true},
	{Role: RolePhase, Text: "reports the pod's phase", Fields: []string{"phase", "reason", "message", "since", "from"}, Report: true},
	{Role: RoleCondition, Text: "reports one of the pod's conditions", Fields: []string{"type", "status", "reason", "message", "since", "from"}, Report: true},
	{Role: RoleIP, Text: "reports the pod's addresses", Fields: []string{"ips", "since", "from"}, Report: true},
	{Role: RoleContainerState, Text: "reports the state of one container", Fields: []string{"container", "state", "reason", "message", "exitCode", "restartCount", "ready", "lastReason", "lastExitCode", "since", "from"}, Report: true},
	{Role: RoleEvent, Text: "reports an Event about the pod", Fields: []string{"type", "reason", "message", "object", "since", "from"}, Report: true},
}

// Info returns the description of the role, or nil if it is none of Roles.
func (r Role) Info() *RoleInfo {
	i := slices.IndexFunc(Roles, func(i RoleInfo) bool { return i.Role == r })
	if i < 0 {
		return nil
	}
	return &Roles[i]
}

// Change states whether a call changes something of the pod on the node, or only looks.
type Change string

const (
	// ChangeNever: the call only looks, or changes nothing that matters to a person who watches the pod.
	ChangeNever Change = ""
	// ChangeAlways: sandbox, containers, images or resources of the pod are
	// changed, or are about to be.
	ChangeAlways Change = "always"
	// ChangeUntimed: the call changes something if its field timeout is zero. A
	// command that the kubelet runs without a time limit is a lifecycle hook, no
	// health probe.
	ChangeUntimed Change = "untimed"
)

// Turn is what a turn of the pod's worker is for. The calls that are usual in a turn depend on it.
type Turn string

// The kinds of turns.
const (
	TurnCreate      Turn = "create" // a sync of a pod that has no sandbox yet
	TurnSync        Turn = "sync"
	TurnTerminating Turn = "terminating"
	TurnTerminated  Turn = "terminated"
)

// Turns are the kinds of turns, in the order in which a pod comes to them.
var Turns = []Turn{TurnCreate, TurnSync, TurnTerminating, TurnTerminated}

// Planned says on which part of a turn's plan (see RolePlan) a call depends.
type Planned string

const (
	// PlannedNot: the plan says nothing of the call.
	PlannedNot Planned = ""
	// PlannedSandbox: the call makes the sandbox that the plan has.
	PlannedSandbox Planned = "sandbox"
	// PlannedWithSandbox: where the call is usual, it is made if the plan has a
	// sandbox.
	PlannedWithSandbox Planned = "withSandbox"
	// PlannedStart: the call starts a container that the plan has.
	PlannedStart Planned = "start"
)

// Story is what a step means to the story of the pod that a call is about, and
// how the story shows it.
type Story struct {
	Role    Role   `yaml:"role"`
	Changes Change `yaml:"changes"`

	// Waits completes the sentence "The pod is here because ..." while a call goes
	// on: what it waits for, or what is done for it.
	Waits Text `yaml:"waits"`
	// About are the fields of the enter that state what a call is about. Calls of
	// the step that are about different things are counted apart.
	About []string `yaml:"about"`
	// Usual are the steps that a call usually makes, in order, by the turn in which it happens. They are expected
	// until turns were seen.
	Usual map[Turn][]string `yaml:"usual"`
	// Planned says on which part of the turn's plan the call depends.
	Planned Planned `yaml:"planned"`

	// Routine marks calls that are made around every turn of every pod. Shown one
	// by one they would hide what matters.
	Routine bool `yaml:"routine"`
	// Opens marks a call that is no more than the calls made in it.
	Opens bool `yaml:"opens"`
	// Joins marks a call that has no row of its own: the row of the call in which it is made stands for both.
	Joins bool      `yaml:"joins"`
	Note  StoryNote `yaml:"note"`
}

// OfRole returns the steps of a role, in the catalogue's order.
func (c *Catalogue) OfRole(r Role) []*Step { return c.byRole[r] }

// storyProblems finds what is wrong with the Story of a step.
func (s *Step) storyProblems(c *Catalogue) (out []string) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, "story: "+fmt.Sprintf(format, args...))
		}
	}
	switch st := &s.Story; st.Changes {
	case ChangeNever, ChangeAlways:
		add(s.Report() && st.Changes != ChangeNever, "a report changes nothing")
	case ChangeUntimed:
		add(!has(s.Fields, "timeout"), "changes %q needs the field timeout", st.Changes)
	default:
		add(true, "changes %q is none of always, untimed", st.Changes)
	}
	switch s.Story.Planned {
	case PlannedNot, PlannedSandbox, PlannedWithSandbox, PlannedStart:
	default:
		add(true, "planned %q is none of sandbox, withSandbox, start", s.Story.Planned)
	}
	for _, name := range s.Story.About {
		add(!has(s.Fields, name), "about the field %q, which is not there", name)
	}
	for turn, calls := range s.Story.Usual {
		add(!slices.Contains(Turns, turn), "there is no turn %q", turn)
		for _, name := range calls {
			add(c.Step(name) == nil, "there is no step %q to be usual", name)
		}
	}
	add((s.Story.Waits.En == "") != (s.Story.Waits.Zh == ""), "waits is missing in a language")
	for _, problem := range append(s.roleProblems(), s.noteProblems()...) {
		add(true, "%s", problem)
	}
	return out
}

// roleProblems finds why a step cannot have its role.
func (s *Step) roleProblems() (out []string) {
	add := func(bad bool, format string, args ...any) {
		if bad {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	if s.Story.Role == "" {
		add(s.Report(), "a report needs a role")
		return out
	}
	info := s.Story.Role.Info()
	if info == nil {
		return []string{fmt.Sprintf("there is no role %q", s.Story.Role)}
	}
	add(info.Report != s.Report(), "role %q is for reports: %v", s.Story.Role, info.Report)
	add(s.Story.Role == RoleMerge && s.Pod.Kind != PodUpdates, "role %q needs pods of kind updates", s.Story.Role)
	for _, name := range info.Fields {
		add(!has(s.Fields, name), "role %q needs the field %s", s.Story.Role, name)
	}
	for _, name := range info.Results {
		add(!has(s.Results, name), "role %q needs the result %s", s.Story.Role, name)
	}
	return out
}

// has reports whether one of the fields has a name.
func has(fields []Field, name string) bool {
	return slices.ContainsFunc(fields, func(f Field) bool { return f.Name == name })
}
