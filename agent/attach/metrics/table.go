package metrics

import "github.com/prometheus/client_golang/prometheus"

// The metrics, which docs/attach.md lists.
var (
	calls      = desc("calls_total", "Calls of the kubelet to its runtime that are over, by method and gRPC code.", "method", "code")
	direct     = desc("call_direct_seconds", "What the runtime took to answer: from when the relay process sent a request on until the answer came.", "method")
	added      = desc("call_added_seconds", "What the relay process added to a call that was answered, in both directions, without holds and delays.", "method")
	holds      = desc("holds_total", "Holds of pods that have begun.")
	held       = desc("held_seconds_total", "For how long pods were held, including those that are held now.")
	holdsNow   = desc("holds", "Pods that are held now.")
	pods       = desc("pods", "Pods by their state, as podstep pods lists them.", "state")
	faults     = desc("faults_total", "Faults that were injected, by kind.", "kind")
	events     = desc("events_total", "Events that the agent has published.")
	lost       = desc("events_lost_total", "Events that were lost for want of room, by kind.", "kind")
	recorded   = desc("record_events_total", "Events that were written to the record directory.")
	unrecorded = desc("record_events_dropped_total", "Events that could not be written to the record directory.")
	recordSize = desc("record_bytes", "What the record directory takes on the disk.")
	recordOK   = desc("record_working", "1 while podstep can write to the record directory, 0 while it cannot.")
	restarts   = desc("relay_restarts_total", "Relay processes that were started in place of one that had ended, hung, or given the path back by itself.")
	heartbeats = desc("heartbeat_seconds", "What the guard's own calls through the runtime's path took.")
	heartbeat  = desc("heartbeat_last_success_timestamp_seconds", "When a call of the guard through the runtime's path was answered last.")
	probe      = desc("probe_state", "1 for the state that a probe is in, 0 for the others.", "probe", "state")
	since      = desc("attached_timestamp_seconds", "When podstep attached to the kubelet.")
	info       = desc("build_info", "1, with the version of podstep and of the kubelet.", "version", "kubelet_version")
)

// all has every description.
var all []*prometheus.Desc

func desc(name, help string, labels ...string) *prometheus.Desc {
	d := prometheus.NewDesc("podstep_"+name, help, labels, nil)
	all = append(all, d)
	return d
}
