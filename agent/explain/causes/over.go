package causes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// holdsSandbox is the one value that Cause.Holds may have. Once the sandbox is there, the pod's
// volumes and its network are there, too.
const holdsSandbox = "sandbox"

// isOver reports whether what a finding's cause holds up has come about meanwhile.
func (c *Case) isOver(f Finding) bool {
	if f.Cause.Holds != holdsSandbox || c.Spec == nil {
		return false
	}
	if k := condition(c.Spec, corev1.PodReadyToStartContainers); k != nil {
		// The first sandbox may be there no more: its successor is what the calls since then are about.
		later := func(e Evidence) bool {
			return e.Source == c.storySource() && e.At.After(k.LastTransitionTime.Add(slack))
		}
		return k.Status == corev1.ConditionTrue && !slices.ContainsFunc(f.Evidence, later)
	}
	// A kubelet without that condition pulls images only when the sandbox is there.
	at := c.lastEvent("Pulling", "Pulled", "Created", "Started")
	return !at.IsZero() && !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.At.IsZero() || e.At.After(at) })
}

// lastEvent returns when the pod last had an event of one of these reasons; zero: never.
func (c *Case) lastEvent(reasons ...string) (at time.Time) {
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; slices.Contains(reasons, e.Reason) && c.ofPod(e) {
			at = latest(at, e.Last)
		}
	}
	return at
}

// againVolume is the one value that EventMatch.Again may have.
const againVolume = "volume"

// An operation on a volume that fails is tried again after firstBackOff, then after
// twice as long, and so on, at most after longestBackOff.
const (
	firstBackOff   = 500 * time.Millisecond
	longestBackOff = 2*time.Minute + 2*time.Second
)

// The next try's event comes when that try has run. This takes operationTakes, for the
// reconciler and the sending of events. It takes csiDeadline longer if the errors say so: the
// deadline of a call to a CSI driver.
const (
	operationTakes = 15 * time.Second
	csiDeadline    = 2 * time.Minute
)

// A kubelet that has sent spamBurst events about a pod sends one every spamEvery.
const (
	spamBurst = 25
	spamEvery = 5 * time.Minute
)

// tries returns how often the failure that an event reports has come.
func (c *Case) tries(e *evidence.Event, m *EventMatch) int {
	if m.Again != againVolume {
		return e.Count
	}
	return c.failures(e)
}

// failures returns how often the operation of an event failed: each text of its error makes an
// event of its own.
func (c *Case) failures(e *evidence.Event) (n int) {
	of := operationOf(e.Message)
	for i := range c.Cluster.Events {
		o := &c.Cluster.Events[i]
		if o.Kind == e.Kind && o.Name == e.Name && o.UID == e.UID && o.Reason == e.Reason && operationOf(o.Message) == of {
			n += o.Count
		}
	}
	return n
}

// operationOf returns the beginning of a message, such as MountVolume.SetUp failed for volume "config".
func operationOf(message string) string {
	of, _, _ := strings.Cut(message, " : ")
	return of
}

// ofVolume reports whether an event is about an operation on one volume that failed.
func ofVolume(e *evidence.Event) bool {
	return strings.Contains(operationOf(e.Message), " failed for volume ")
}

// operationWait returns how long the kubelet waits after an event of an operation that failed. A kubelet that has sent many
// events counts less of them than there were: then the time since the first one tells.
func (c *Case) operationWait(e *evidence.Event) time.Duration {
	wait := longestBackOff
	if n := c.failures(e); n < 9 {
		wait = min(wait, firstBackOff<<(n-1))
	}
	return min(longestBackOff, max(wait, e.Last.Sub(c.firstOf(e))))
}

// firstOf returns when the operation of an event first failed.
func (c *Case) firstOf(e *evidence.Event) time.Time {
	at := cmp.Or(e.First, e.Last)
	of := operationOf(e.Message)
	for i := range c.Cluster.Events {
		o := &c.Cluster.Events[i]
		if o.Kind == e.Kind && o.Name == e.Name && o.UID == e.UID && o.Reason == e.Reason && operationOf(o.Message) == of && !o.First.IsZero() {
			at = earliest(at, o.First)
		}
	}
	return at
}

// nextOperation returns when the volume operation that an event is about is tried again.
func (c *Case) nextOperation(e *evidence.Event) time.Time { return e.Last.Add(c.operationWait(e)) }

// operationOver reports whether an operation that failed has been due twice since: either it went well, or another one
// goes on.
func (c *Case) operationOver(e *evidence.Event) bool {
	takes := operationTakes
	if strings.Contains(e.Message, "DeadlineExceeded") || strings.Contains(e.Message, "deadline exceeded") {
		takes += csiDeadline
	}
	until := e.Last.Add(2 * (c.operationWait(e) + takes))
	if c.warnings() >= spamBurst {
		until = latest(until, e.Last.Add(2*spamEvery+takes))
	}
	return c.Now.After(until) || c.attached(e)
}

// warnings returns how many warnings about the pod there were.
func (c *Case) warnings() (n int) {
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; e.Type == corev1.EventTypeWarning && c.ofPod(e) {
			n += e.Count
		}
	}
	return n
}

// attached reports whether the volume whose attaching failed was attached later.
func (c *Case) attached(e *evidence.Event) bool {
	_, volume, _ := strings.Cut(operationOf(e.Message), "for volume ")
	return e.Reason == "FailedAttachVolume" && slices.ContainsFunc(c.Cluster.Events, func(o evidence.Event) bool {
		return o.Reason == "SuccessfulAttachVolume" && strings.Contains(o.Message, cmp.Or(volume, "?")) && o.Last.After(e.Last)
	})
}
