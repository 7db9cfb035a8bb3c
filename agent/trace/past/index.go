package past

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/trace"
	"github.com/podstep/podstep/agent/wire"
)

// index is the footer of a segment. What was carried over from before the segment does not count in it.
type index struct {
	trace.Segment
	Node string `json:"node"`
	// Began and Ended are when the segment was begun and closed, First and Last the times of its earliest and latest
	// event: nanoseconds since 1970, by the clock of the node.
	Began int64 `json:"beganNs"`
	Ended int64 `json:"endedNs"`
	First int64 `json:"firstNs,omitempty"`
	Last  int64 `json:"lastNs,omitempty"`
	// Seq is the number of the last event. Events is how many there are.
	Seq    uint64 `json:"seq"`
	Events int64  `json:"events"`
	// Marks: it has events that concern the stories of all pods: a probe's state, a text, a loss.
	Marks bool `json:"marks,omitempty"`
	// Pods are those with an event. More: there are too many to list.
	Pods []podName `json:"pods,omitempty"`
	More bool      `json:"more,omitempty"`

	ids map[uint32]podName // by the agent's numbers: all pods that were introduced
	has map[podName]bool
}

// podName is the name of a pod in an index.
type podName struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
}

// maxIndexed bounds the pods of an index. A node has a few hundred.
const maxIndexed = 4096

func newIndex(h *trace.Header) *index {
	x := &index{Node: h.Info.GetNode(), Began: h.Began.UnixNano(), ids: map[uint32]podName{}, has: map[podName]bool{}}
	if h.Segment != nil {
		x.Segment = *h.Segment
	}
	x.Ended, x.Seq = x.Began, x.After
	return x
}

// add counts the events of a batch. It returns how many events are missing before them.
func (x *index) add(b *agentpb.Batch) (missing uint64) {
	for _, p := range b.GetPods() {
		x.ids[p.GetId()] = podName{p.GetNamespace(), p.GetName(), p.GetUid()}
	}
	for _, raw := range b.GetEvents() {
		h, err := wire.ReadHeader(raw)
		if err != nil || h.Seq <= x.After {
			continue
		}
		if h.Seq > x.Seq {
			missing += h.Seq - x.Seq - 1
			x.Seq = h.Seq
		}
		x.count(&h)
	}
	return missing
}

func (x *index) count(h *wire.Header) {
	x.Events++
	if x.First == 0 || h.Time < x.First {
		x.First = h.Time
	}
	x.Last, x.Ended = max(x.Last, h.Time), h.Time
	if h.Pod == 0 {
		x.Marks = x.Marks || h.Kind == agentpb.Kind_NOTE || h.Kind == agentpb.Kind_DROP
		return
	}
	pod := x.ids[h.Pod]
	switch {
	case x.has[pod]:
	case len(x.Pods) == maxIndexed:
		x.More = true
	default:
		x.has[pod] = true
		x.Pods = append(x.Pods, pod)
	}
}

func (x *index) encode() ([]byte, error) {
	text, err := json.Marshal(x)
	if err != nil {
		return nil, fmt.Errorf("encode index: %w", err)
	}
	return text, nil
}

// decodeIndex reads a footer.
func decodeIndex(text []byte) (*index, error) {
	x := &index{}
	if err := json.Unmarshal(text, x); err != nil {
		return nil, fmt.Errorf("read index: %w", err)
	}
	if x.Run == "" {
		return nil, errors.New("read index: it names no run")
	}
	return x, nil
}

// hasPod reports whether a pod that a selector chooses has an event in the segment.
func (x *index) hasPod(of *agentpb.PodSelector) bool {
	if x.More {
		return true
	}
	for _, p := range x.Pods {
		if selects(of, p) {
			return true
		}
	}
	return false
}

// only returns an index that lists only the pods that a selector chooses; nil: none.
func (x *index) only(of *agentpb.PodSelector) *index {
	out := *x
	out.Pods = nil
	for _, p := range x.Pods {
		if of != nil && selects(of, p) {
			out.Pods = append(out.Pods, p)
		}
	}
	return &out
}

// selects reports whether a selector chooses a pod. A pod of which only the UID was known may be the one.
func selects(of *agentpb.PodSelector, p podName) bool {
	if of == nil || p.Name == "" && p.UID != "" && of.GetUid() == "" {
		return true
	}
	return of.Selects(p.Namespace, p.Name) && (of.GetUid() == "" || of.GetUid() == p.UID)
}

// readIndex returns the index of a segment. That of a segment without a footer is made of all that can be read of it.
func readIndex(path string) (x *index, torn bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	text, err := trace.ReadFooter(f, info.Size())
	if err == nil {
		if x, err = decodeIndex(text); err == nil {
			return x, false, nil
		}
	}
	x, err = scan(f)
	return x, true, err
}

// scan makes the index of a segment out of its events.
func scan(f io.ReadSeeker) (*index, error) {
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := trace.NewReader(f)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.Header().Segment == nil {
		return nil, errNoSegment
	}
	x := newIndex(r.Header())
	for {
		b, err := r.Next()
		if err != nil {
			return x, nil // what can be read counts
		}
		x.add(b)
	}
}

var errNoSegment = errors.New("it is a trace, and no segment of a record directory")

// wall returns a time of an index.
func wall(ns int64) time.Time { return time.Unix(0, ns) }
