package attach

import (
	"context"
	"errors"
	"slices"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/probes/inside"
	"github.com/podstep/podstep/probes/inside/park"
	"github.com/podstep/podstep/probes/uprobe"
)

// arming records what was armed last: the hold process, its places, and those of them that it refused.
type arming struct {
	process stopper
	places  []inside.Place
	refused map[uint64]park.RefusedError
}

// rule selects the goroutines on which a step's calls may be held: one of the functions within must be under way, and
// none of notWithin below it.
type rule struct{ within, notWithin []string }

// rules returns on which goroutines calls may be held, by step. functions returns the symbol of a step's function,
// and then those of the literals in it.
func rules(c *probes.Catalogue, functions func(step string) []string) map[string]rule {
	within, out := uprobe.NewWithin(c, functions), map[string]rule{}
	for i := range c.Steps {
		s := &c.Steps[i]
		r := rule{within: within.At(s)}
		for _, name := range s.Hold.NotWithin {
			r.notWithin = append(r.notWithin, c.Step(name).Symbol)
		}
		out[s.Name] = r
	}
	return out
}

// changed is called when something is armed, and when nothing is any more.
func (h *holder) changed() {
	if !h.host.Armed() { // the caller does not wait for the disarming
		go h.update(context.Background())
		return
	}
	ctx, cancel := context.WithTimeout(h.host.Context(), armWithin)
	defer cancel()
	h.update(ctx)
}

// update makes run look at what is wanted, and waits until it has.
func (h *holder) update(ctx context.Context) { h.kick.await(ctx, h.host.Context()) }

// arm arms what somebody wants stopped now, and nothing else. It arms the hold process first, so that only threads
// which that one traces are signalled.
func (h *holder) arm() error {
	wanted, places := map[string]uprobe.Armed{}, []inside.Place{}
	for _, at := range h.points {
		stops, looked := wanted[at.Step.Name]
		if !looked {
			s := h.host.Stops(at.Step.Name)
			stops = uprobe.Armed{Enter: s.Enter, Exit: s.Exit, Every: s.Every}
			wanted[at.Step.Name] = stops
		}
		if stops.At(at.Exit) {
			r := h.rules[at.Step.Name]
			places = append(places, inside.Place{Address: at.Address, Within: r.within, NotWithin: r.notWithin, Lease: lease})
		}
	}
	h.mu.Lock()
	before := h.armed
	h.armed = len(places) > 0 || len(h.host.Places()) > 0 // set before arming: if that fails, it is tried again
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

// armPlaces makes the hold process hold at places. It takes those that the hold process refuses out of wanted.
func (h *holder) armPlaces(ctx context.Context, places []inside.Place, wanted map[string]uprobe.Armed) error {
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

func samePlace(a, b inside.Place) bool { return a.Address == b.Address }

// goroutines returns those of the pods' workers, as far as they are known.
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

// noteWorker remembers the goroutine of a pod's worker when a call on it begins, and forgets it when the worker ends.
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

// uidOf returns the uid of the pod that a call is about; empty if the call names none.
func uidOf(c *uprobe.Call) string {
	ref, _ := podOf(c).(probes.PodRef)
	return ref.UID
}
