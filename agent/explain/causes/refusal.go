package causes

import (
	"cmp"
	"regexp"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/podstep/podstep/probes/words"
)

// refusal is a scheduler's message: why it chooses no node for the pod.
type refusal struct {
	nodes   int // of the cluster
	reasons []reason
	// counted reports that the reasons are of single nodes, and not of the pod as a whole.
	counted bool
	text    string
	since   time.Time
	shown   Evidence
	sure    Confidence
}

// reason is one of the reasons in a scheduler's message.
type reason struct {
	nodes int // that are refused for it
	text  string
}

var (
	refusedHead = regexp.MustCompile(`^0/(\d+) nodes are available: *`)
	// A scheduler adds this when it has looked for pods that could be put away for this one. It
	// counts the same nodes again.
	refusedTail  = regexp.MustCompile(`[.,]? *(?:no new claims to deallocate|still not schedulable)?,? *preemption: .*$`)
	refusedCount = regexp.MustCompile(`(?:^|, )(\d+) `)
)

// readRefusal takes a scheduler's message apart. It has the form "0/5 nodes are
// available: 3 Insufficient cpu, 2 node(s) were unschedulable. preemption: ...", or has
// one reason for the pod as a whole.
func readRefusal(text string) (r refusal) {
	r.text = text
	if m := refusedHead.FindStringSubmatch(text); m != nil {
		r.nodes, _ = strconv.Atoi(m[1])
		text = text[len(m[0]):]
	}
	text = strings.TrimRight(refusedTail.ReplaceAllString(text, ""), ". ")
	at := refusedCount.FindAllStringSubmatchIndex(text, -1)
	if len(at) == 0 || at[0][0] != 0 || r.nodes == 0 {
		r.reasons = []reason{{r.nodes, text}}
		return r
	}
	r.counted = true
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		n, _ := strconv.Atoi(text[m[2]:m[3]])
		r.reasons = append(r.reasons, reason{n, text[m[1]:end]})
	}
	return r
}

// refusal returns what a scheduler said last of the pod; ok is false if it said nothing.
func (c *Case) refusal() (r refusal, ok bool) {
	if c.Spec == nil || c.Phase != Unscheduled {
		return r, false
	}
	if k := condition(c.Spec, corev1.PodScheduled); k != nil && k.Status == corev1.ConditionFalse {
		if k.Reason != corev1.PodReasonUnschedulable || k.Message == "" {
			return r, false
		}
		r = readRefusal(k.Message)
		r.since, r.sure, r.shown = k.LastTransitionTime.Time, Certain, c.status(words.Same("condition PodScheduled"), words.Same(k.Reason+": "+k.Message), k.LastTransitionTime.Time)
		return r, true
	}
	for i := len(c.Cluster.Events) - 1; i >= 0; i-- {
		e := &c.Cluster.Events[i]
		if e.Kind == "Pod" && e.Reason == "FailedScheduling" && c.counts(e, &EventMatch{}) {
			r = readRefusal(e.Message)
			r.since, r.sure, r.shown = e.First, Likely, c.event(e)
			return r, true
		}
	}
	return r, false
}

func (c *Case) matchUnfit(cause *Cause, m *Unfit) (out []Finding) {
	r, ok := c.refusal()
	if !ok {
		return nil
	}
	for _, part := range r.reasons {
		args := Args{"message": r.text, "reason": part.text, "count": strconv.Itoa(part.nodes), "nodes": strconv.Itoa(r.nodes)}
		if !m.Text.in(part.text, args) {
			continue
		}
		f := c.found(cause.ID, cmp.Or(args["resource"], args["claim"]), args, r.sure, r.since, r.shown)
		f.Nodes = part.nodes
		out = append(out, f)
	}
	return out
}

var insufficient = regexp.MustCompile(`^Insufficient (\S+)$`)

// cannotFit finds the resources of which even an empty node has too little.
func cannotFit(c *Case) (out []Finding) {
	r, ok := c.refusal()
	if !ok || len(c.Cluster.Candidates) == 0 || len(c.Cluster.Candidates) < r.nodes {
		return nil
	}
	requests := resourcehelper.PodRequests(c.Spec, resourcehelper.PodResourcesOptions{}) // as the scheduler counts them
	for _, part := range r.reasons {
		m := insufficient.FindStringSubmatch(part.text)
		if m == nil {
			continue
		}
		name := corev1.ResourceName(m[1])
		asks, largest := requests[name], c.largest(name)
		args := Args{"resource": m[1], "asks": asks.String(), "largest": largest.String()}
		id := "scheduling.tooLarge"
		switch {
		case largest.IsZero():
			id = "scheduling.notOffered"
		case asks.Cmp(largest) <= 0:
			continue
		}
		text := words.With(words.Text("allocatable %s of the largest node: %s", "最大节点的可分配 %s：%s"), m[1], largest.String())
		out = append(out, c.refusedFor(id, r, part.nodes, args, c.object(words.Text("nodes", "节点"), text, c.Now)))
	}
	return out
}

// largest returns the most that any node has of a resource.
func (c *Case) largest(name corev1.ResourceName) (most resource.Quantity) {
	for _, n := range c.Cluster.Candidates {
		if q := n.Allocatable[name]; q.Cmp(most) > 0 {
			most = q
		}
	}
	return most
}
