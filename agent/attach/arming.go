package attach

import (
	"context"
	"errors"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/uprobe"
	"github.com/podstep/podstep/probes/uprobe/holdproc"
	"github.com/podstep/podstep/probes/uprobe/park"
)

// arming is what was armed last, in which hold process, and where it could not be.
type arming struct {
	process stopper
	places  []holdproc.Place
	refused map[uint64]park.RefusedError
}

// rule is on which goroutines a step's calls may be held: those on which one of the functions
// within is under way, and below it none of notWithin.
type rule struct{ within, notWithin []string }

// worker is the kind of goroutine that a pod has to itself, and killer that which the worker
// starts for each container that it kills, and waits for.
const worker, killer = "worker", "kill"

// rules are on which goroutines calls may be held, by step. functions are the symbols of a
// step's function, the first, and of the literals in it.
func rules(c *probes.Catalogue, functions func(step string) []string) map[string]rule {
	begins := begins(c, functions)
	out := map[string]rule{}
	for i := range c.Steps {
		s := &c.Steps[i]
		r := rule{within: begins[s.Goroutine]}
		if s.Hold.Enter == probes.HoldWorker || s.Hold.Exit == probes.HoldWorker || s.Goroutine == killer {
			r.within = slices.Concat(begins[worker], begins[killer]) // others come there too
		}
		for _, name := range s.Hold.NotWithin {
			r.notWithin = append(r.notWithin, c.Step(name).Symbol)
		}
		out[s.Name] = r
	}
	return out
}

// begins are the functions with which goroutines begin, by their kinds.
func begins(c *probes.Catalogue, functions func(step string) []string) map[string][]string {
	begins := map[string][]string{}
	for i := range c.Steps {
		s := &c.Steps[i]
		switch all := functions(s.Name); {
		case s.Root || s.Starts:
			begins[s.Goroutine] = append(begins[s.Goroutine], all...)
		case s.Awaits && len(all) > 0: // it waits for goroutines that begin with its literals
			begins[killer] = append(begins[killer], all[1:]...)
		}
	}
	return begins
}

// changed is called when something is armed, and when nothing is any more.
func (h *holder) changed() {
	if !h.host.Armed() { // whoever notes that waits for nobody
		go h.ask(context.Background())
		return
	}
	ctx, cancel := context.WithTimeout(h.host.Context(), armWithin)
	defer cancel()
	h.ask(ctx)
}

// ask has run look at what is wanted, and waits until it has.
func (h *holder) ask(ctx context.Context) {
	done := make(chan struct{})
	select {
	case h.kick <- done:
	case <-ctx.Done():
		return
	case <-h.host.Context().Done():
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// arm arms what somebody wants stopped now, and nothing else: the hold process first, so
// that no thread is signalled that it does not trace.
func (h *holder) arm() error {
	wanted, places := map[string]uprobe.Armed{}, []holdproc.Place{}
	for _, at := range h.points {
		stops, looked := wanted[at.Step.Name]
		if !looked {
			s := h.host.Stops(at.Step.Name)
			stops = uprobe.Armed{Enter: s.Enter, Exit: s.Exit, Every: s.Every}
			wanted[at.Step.Name] = stops
		}
		if stops.At(at.Exit) {
			r := h.rules[at.Step.Name]
			places = append(places, holdproc.Place{Address: at.Address, Within: r.within, NotWithin: r.notWithin, Lease: lease})
		}
	}
	h.mu.Lock()
	before := h.armed
	h.armed = len(places) > 0 || len(h.host.Places()) > 0 // from now on: if it fails, it is tried again
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(h.host.Context(), answerWithin)
	defer cancel()
	if len(places) > 0 {
		if err := h.armPlaces(ctx, places, wanted); err != nil {
			return err
		}
	}
	uids := h.host.Wanted()
	if err := errors.Join(h.probe.Want(uids, h.goroutines(uids)), h.probe.Arm(wanted)); err != nil {
		return err
	}
	if before && len(places) == 0 {
		h.last = arming{}
		_, err := h.process().Disarm(ctx)
		return err
	}
	return nil
}

// armPlaces has the hold process hold at places. Those at which it cannot are not armed.
func (h *holder) armPlaces(ctx context.Context, places []holdproc.Place, wanted map[string]uprobe.Armed) error {
	process := h.process()
	if process != h.last.process || !slices.EqualFunc(places, h.last.places, samePlace) {
		refused, err := process.Arm(ctx, places)
		if err != nil {
			return err
		}
		h.last = arming{process, places, refused}
	}
	refused := h.last.refused
	for _, at := range h.points {
		if _, no := refused[at.Address]; !no {
			continue
		}
		w := wanted[at.Step.Name]
		if at.Exit {
			w.Exit = false
		} else {
			w.Enter = false
		}
		wanted[at.Step.Name] = w
	}
	return nil
}

func samePlace(a, b holdproc.Place) bool { return a.Address == b.Address }

// goroutines are those of the pods' workers.
func (h *holder) goroutines(uids []string) (out []uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uid := range uids {
		if g, ok := h.workers[uid]; ok {
			out = append(out, g)
		}
	}
	return out
}

// noteWorker remembers the goroutine of a pod's worker by a call of it, and forgets it with
// its end.
func (h *holder) noteWorker(c *uprobe.Call, ended bool) {
	uid := uidOf(c)
	if !c.Worker || uid == "" {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !ended:
		h.workers[uid] = c.Goroutine
	case c.Step.Root:
		delete(h.workers, uid)
	}
}

// uidOf is the uid of the pod that a call is about, if it names one.
func uidOf(c *uprobe.Call) string {
	if len(c.Values) == 0 || c.Step.Pod.Exit {
		return ""
	}
	if p, ok := c.Values[0].(probes.PodRef); ok {
		return p.UID
	}
	return ""
}
