package whatif

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podstep/podstep/agent/agentpb"
	"github.com/podstep/podstep/agent/wire"
	"github.com/podstep/podstep/probes"
)

// Found is a plan of a recording.
type Found struct {
	Pod  probes.Pod
	Sync uint32
	Time time.Time
	// Kubelet is the version of the kubelet that made it; "": not known.
	Kubelet string
	// Plan is the plan as far as the event has it.
	Plan Recorded
	// Inputs are what it was made of; nil: the event has none, and Without is the reason.
	Inputs  *Inputs
	Without string
}

// Source gives the events of an agent or a recording, and io.EOF after the last.
type Source interface {
	Next() (*agentpb.Batch, error)
}

// Each calls do for each plan of the selected pods, in the order of their events. If the source fails with another error
// than io.EOF, Each returns it after the plans up to there.
func Each(info *agentpb.InfoResponse, from Source, pods *agentpb.PodSelector, do func(*Found)) error {
	d := wire.NewDecoder(info)
	for {
		b, err := from.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		d.AddPods(b.GetPods())
		for _, raw := range b.GetEvents() {
			head, err := wire.ReadHeader(raw)
			if err != nil || head.Kind != agentpb.Kind_EXIT {
				continue
			}
			if _, step := d.Step(head.Step); step != Step {
				continue
			}
			p := d.Pod(head.Pod)
			if p != nil && (pods == nil || pods.Selects(p.Namespace, p.Name)) {
				e := d.Event(raw)
				do(foundIn(&e, info.GetKubeletVersion()))
			}
		}
	}
}

// foundIn returns the plan of an event.
func foundIn(e *probes.Event, kubelet string) *Found {
	f := &Found{Pod: *e.Pod, Sync: e.Sync, Time: e.Time, Kubelet: kubelet, Plan: Recorded{}}
	for name, v := range e.Fields {
		switch v.(type) {
		case bool, int64, string:
			f.Plan[name] = v
		}
	}
	text, is := e.Fields[Field].(probes.RawJSON)
	if !is {
		f.Without = fmt.Sprintf("the probe %s sees the plan, and not what it was made of; only a woven kubelet shows that, since podstep has whatif", e.Probe)
		return f
	}
	if wire.IsCutDocument(text) {
		f.Without = "what the plan was made of was too large to be recorded"
		return f
	}
	in, err := ParseInputs(text)
	if err != nil {
		f.Without = err.Error()
		return f
	}
	f.Inputs = in
	return f
}

// ErrNoPod is the error of a source that has no plan of the pod.
var ErrNoPod = errors.New("no plan of it is known")

// Find returns a pod's plan of a sync; 0 stands for the last. Where several pods had the name, one after the other, only the
// plans of the last pod count. A plan without inputs is an error, which has the reason.
func Find(info *agentpb.InfoResponse, from Source, pods *agentpb.PodSelector, sync uint32) (*Found, error) {
	var best *Found
	var names []string
	var syncs []uint32
	err := Each(info, from, pods, func(f *Found) {
		if name := f.Pod.NamespacedName(); !slices.Contains(names, name) {
			names = append(names, name)
		}
		if best != nil && best.Pod.UID != f.Pod.UID {
			best, syncs = nil, nil
		}
		syncs = append(syncs, f.Sync)
		if sync == 0 || f.Sync == sync {
			best = f
		}
	})
	switch {
	case len(names) > 1:
		return nil, fmt.Errorf("%s can be %s; name one of them in full", pods.Written(), strings.Join(names, " or "))
	case best == nil && len(syncs) > 0:
		err = errors.Join(fmt.Errorf("pod %s has no plan of sync %d; its plans are of the syncs %d to %d", pods.Written(), sync, syncs[0], syncs[len(syncs)-1]), err)
	case best == nil:
		err = errors.Join(fmt.Errorf("pod %s: %w", pods.Written(), ErrNoPod), err)
	case best.Inputs == nil:
		err = errors.Join(fmt.Errorf("pod %s, sync %d: %s", pods.Written(), best.Sync, best.Without), err)
	}
	if best == nil || best.Inputs == nil {
		return nil, err
	}
	return best, err
}
