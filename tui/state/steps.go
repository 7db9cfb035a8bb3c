package state

import (
	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/probes"
)

// stepID is a step's number in this session: its place in the catalogue plus
// one, or a later number for steps of agents that know more. Zero is no step.
type stepID uint16

// maxSteps bounds the steps of foreign agents.
const maxSteps = 4096

// step is what a session knows of a step.
type step struct {
	name, stage string
	about       *probes.Step // nil: not in this program's catalogue
	here        *agentpb.Step
}

// tier of steps that are not in the catalogue is that of a closer look.
func (s *step) tier() int {
	if s.about == nil {
		return 2
	}
	return s.about.Tier
}

// stepName is the name of a step of the catalogue.
type stepName string

// The steps by which a pod's story is told. A test makes sure that the
// catalogue has them.
const (
	stepAPISend         stepName = "source.api.send"
	stepFileSend        stepName = "source.file.send"
	stepMerge           stepName = "merge.merge"
	stepFirstSeen       stepName = "merge.firstseen"
	stepCheck           stepName = "merge.check"
	stepAdd             stepName = "loop.add"
	stepRemove          stepName = "loop.remove"
	stepUpdate          stepName = "worker.update"
	stepAdmit           stepName = "admit.add"
	stepReject          stepName = "admit.reject"
	stepLoop            stepName = "worker.loop"
	stepStart           stepName = "worker.start"
	stepTurn            stepName = "worker.turn"
	stepSyncEnds        stepName = "worker.csync"
	stepTerminatingEnds stepName = "worker.cterminating"
	stepTerminatedEnds  stepName = "worker.cterminated"
	stepOrphanEnds      stepName = "worker.cruntime"
	stepCompleteWork    stepName = "worker.cwork"
	stepEnqueue         stepName = "worker.enqueue"
	stepNewer           stepName = "cache.newer"
	stepSync            stepName = "sync.pod"
	stepGenerateStatus  stepName = "sync.genstatus"
	stepSetStatus       stepName = "sync.setstatus"
	stepNetwork         stepName = "sync.network"
	stepVolumes         stepName = "sync.volumes"
	stepRtSync          stepName = "rt.sync"
	stepCompute         stepName = "rt.compute"
	stepSandbox         stepName = "rt.sandbox"
	stepStartOne        stepName = "rt.start"
	stepBackoff         stepName = "rt.backoff"
	stepStartContainer  stepName = "rt.startcontainer"
	stepEnsure          stepName = "image.ensure"
	stepPull            stepName = "image.pull"
	stepPullImage       stepName = "cri.PullImage"
	stepStatusOf        stepName = "cri.ContainerStatus"
	stepProbeOnce       stepName = "probe.probe"
	stepKillPod         stepName = "rt.killpod"
	stepKillOne         stepName = "rt.killcontainer"
	stepRemoveContainer stepName = "rt.remove"
	stepPreStop         stepName = "rt.prestop"
	stepPostStart       stepName = "rt.poststart"
	stepRunSandbox      stepName = "cri.RunPodSandbox"
	stepCreate          stepName = "cri.CreateContainer"
	stepStarted         stepName = "cri.StartContainer"
	stepStop            stepName = "cri.StopContainer"
	stepStopSandbox     stepName = "cri.StopPodSandbox"
	stepRemoveSandbox   stepName = "cri.RemovePodSandbox"
	stepUpdateResources stepName = "cri.UpdateContainerResources"
	stepUpdateSandbox   stepName = "cri.UpdatePodSandboxResources"
	stepExec            stepName = "cri.ExecSync"
	stepImageStatus     stepName = "cri.ImageStatus"
	stepTerminating     stepName = "term.terminating"
	stepTerminatingRT   stepName = "term.runtime"
	stepTerminated      stepName = "term.terminated"
	stepTermUnmount     stepName = "term.unmount"
	stepProbeWorker     stepName = "probe.worker"
	stepProbeRun        stepName = "probe.probe"
	stepPatch           stepName = "status.patch"
	stepCanDelete       stepName = "status.candelete"
	stepSyncLoop        stepName = "loop.start"
	stepBound           stepName = "cluster.bound"
	stepChanged         stepName = "cluster.changed"
	stepDeleting        stepName = "cluster.deleting"
	stepGone            stepName = "cluster.gone"
	stepKnown           stepName = "cluster.kubelet"
	stepHasSandbox      stepName = "cluster.sandbox"
	stepPhase           stepName = "reported.phase"
	stepCondition       stepName = "reported.condition"
	stepIP              stepName = "reported.ip"
	stepContainer       stepName = "reported.container"
	stepEvent           stepName = "reported.event"
)

// steps are all steps of a session, by number and by name.
type steps struct {
	all    []step
	byName map[string]stepID
	roles  []role // of the steps of the catalogue
}

func newSteps(c *probes.Catalogue) *steps {
	t := &steps{all: make([]step, 1, len(c.Steps)+1), byName: map[string]stepID{}}
	for i := range c.Steps {
		s := &c.Steps[i]
		t.byName[s.Name] = stepID(len(t.all))
		t.all = append(t.all, step{name: s.Name, stage: s.Stage, about: s})
	}
	t.roles = make([]role, len(t.all))
	for name, r := range rolesByName {
		t.roles[t.byName[string(name)]] = r
	}
	t.roles[0] = plain
	return t
}

// learn takes the steps of an agent, and gives what its numbers stand for.
func (t *steps) learn(info *agentpb.InfoResponse) (wire []stepID) {
	for i := range t.all {
		t.all[i].here = nil
	}
	for _, s := range info.GetSteps() {
		id := t.intern(s.GetName(), s.GetStage())
		t.all[id].here = s
		wire = append(wire, id)
	}
	t.all[0].here = nil
	return wire
}

func (t *steps) intern(name, stage string) stepID {
	id, ok := t.byName[name]
	if !ok && name != "" && len(t.all) < maxSteps {
		id = stepID(len(t.all))
		t.byName[name] = id
		t.all = append(t.all, step{name: Clean(name), stage: Clean(stage)})
	}
	return id
}

func (t *steps) at(id stepID) *step {
	if int(id) < len(t.all) {
		return &t.all[id]
	}
	return &t.all[0]
}

func (t *steps) is(id stepID, name stepName) bool { return t.all[id].name == string(name) }
