package causes

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
)

// holdsSandbox is what Cause.Holds may be: with the sandbox, the pod's volumes and its
// network are there, too.
const holdsSandbox = "sandbox"

// over reports whether what a finding's cause holds up has come about meanwhile.
func (c *Case) over(f Finding) bool {
	if f.Cause.Holds != holdsSandbox || c.Spec == nil {
		return false
	}
	if k := condition(c.Spec, corev1.PodReadyToStartContainers); k != nil {
		return k.Status == corev1.ConditionTrue
	}
	// A kubelet that does not report it pulls images when the sandbox is there.
	at := c.lastEvent("Pulling", "Pulled", "Created", "Started")
	return !at.IsZero() && !slices.ContainsFunc(f.Evidence, func(e Evidence) bool { return e.At.IsZero() || e.At.After(at) })
}

// lastEvent is when the pod had an event of one of some reasons last; zero: never.
func (c *Case) lastEvent(reasons ...string) (at time.Time) {
	for i := range c.Cluster.Events {
		if e := &c.Cluster.Events[i]; slices.Contains(reasons, e.Reason) && c.ofPod(e) {
			at = latest(at, e.Last)
		}
	}
	return at
}

// againVolume is what EventMatch.Again may be.
const againVolume = "volume"

// An operation on a volume that fails is tried again after firstBackOff, then after
// twice as long, and so on, at most after longestBackOff.
const (
	firstBackOff   = 500 * time.Millisecond
	longestBackOff = 2*time.Minute + 2*time.Second
)

// Until an event of the next try is there, that try has to run: as long as the
// reconciler and the sending of events take, and if the errors say so up to the
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

// tries is how often what an event reports has come.
func (c *Case) tries(e *evidence.Event, m *EventMatch) int {
	if m.Again != againVolume {
		return e.Count
	}
	return c.failures(e)
}

// failures is how often the operation of an event failed: each text of its error makes
// an event of its own.
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

// operationOf is the begin of a message, such as MountVolume.SetUp failed for volume
// "config".
func operationOf(message string) string {
	of, _, _ := strings.Cut(message, " : ")
	return of
}

// nextOperation is when the operation on a volume that an event is about is tried
// again.
func (c *Case) nextOperation(e *evidence.Event) time.Time {
	wait := longestBackOff
	if n := c.failures(e); n < 9 {
		wait = min(wait, firstBackOff<<(n-1))
	}
	return e.Last.Add(wait)
}

// operationOver reports whether an operation that failed should have failed again by
// now: either it went well, or another one goes on.
func (c *Case) operationOver(e *evidence.Event) bool {
	takes := operationTakes
	if strings.Contains(e.Message, "DeadlineExceeded") || strings.Contains(e.Message, "deadline exceeded") {
		takes += csiDeadline
	}
	until := c.nextOperation(e).Add(takes)
	if c.warnings() >= spamBurst {
		until = latest(until, e.Last.Add(spamEvery+takes))
	}
	return c.Now.After(until) || c.attached(e)
}

// warnings is how many warnings about the pod there were.
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
