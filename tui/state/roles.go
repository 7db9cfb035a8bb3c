package state

// role is what a step means for the telling of a pod's story. It is looked up
// once for each step, by its name: the telling runs for every event.
type role uint8

const (
	plain      role = iota
	roleLife        // a goroutine's whole life: what happens in it stands by itself
	roleWorker      // the life of the pod's worker
	roleStart       // the worker reads its mailbox: a turn begins
	roleTurn
	roleWork  // what a turn is for: SyncPod and its three sisters
	roleAfter // what the worker does after a turn
	roleNext  // the time of the next turn is set
	roleStatus
	roleMerge
	roleUpdate
	roleRemove
	roleAdmit
	rolePlan
	roleStartOne
	roleDoes // a step in which something is done to the node: the turn is worth telling
	roleSandbox
	roleEnd
	roleProbe
	roleCanDelete // is asked of pods whose object is being deleted
	roleReport    // what the cluster says: no function of the kubelet
)

var rolesByName = map[stepName]role{
	stepLoop: roleWorker, stepProbeWorker: roleLife, stepSyncLoop: roleLife,
	stepStart: roleStart, stepTurn: roleTurn,
	stepSync: roleWork, stepTerminating: roleWork, stepTerminatingRT: roleWork, stepTerminated: roleWork,
	stepSyncEnds: roleAfter, stepTerminatingEnds: roleAfter, stepOrphanEnds: roleAfter, stepCompleteWork: roleAfter,
	stepTerminatedEnds: roleEnd, stepEnqueue: roleNext,
	stepGenerateStatus: roleStatus, stepMerge: roleMerge, stepUpdate: roleUpdate, stepRemove: roleRemove,
	stepAdmit: roleAdmit, stepCompute: rolePlan, stepStartOne: roleStartOne,
	stepSandbox: roleDoes, stepKillOne: roleDoes, stepRunSandbox: roleSandbox,
	stepCreate: roleDoes, stepStop: roleDoes, stepPostStart: roleDoes, stepPreStop: roleDoes,
	"resize.do": roleDoes, stepUpdateResources: roleDoes, stepStopSandbox: roleDoes,
	"probe.do": roleProbe, stepProbeRun: roleProbe,
	stepCanDelete: roleCanDelete,
	stepBound:     roleReport, stepChanged: roleReport, stepDeleting: roleReport, stepGone: roleReport,
	stepKnown: roleReport, stepHasSandbox: roleReport, stepPhase: roleReport, stepCondition: roleReport,
	stepIP: roleReport, stepContainer: roleReport, stepEvent: roleReport,
}

func (t *steps) role(id stepID) role {
	if int(id) < len(t.roles) {
		return t.roles[id]
	}
	return plain
}
