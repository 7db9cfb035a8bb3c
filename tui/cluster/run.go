package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/probes"
	"github.com/podstep/podstep/tui/tours"
)

// Run is one run of a walk. It remembers what it made, and refuses to change or
// delete anything else.
type Run struct {
	cluster *Cluster
	// id is the value of tours.Label on all that the run makes.
	id string

	// op lets one operation run at a time.
	op   sync.Mutex
	left []*thing // what Take found of earlier runs

	mu   sync.Mutex // never held while the API server is asked
	made []*thing   // oldest first
}

// thing is something that a run made: an object, or a file.
type thing struct {
	object object
	uid    string
	// path and text belong to a file; object is then the static pod.
	path, text string
	// deleted: the run has asked for its deletion.
	deleted bool
}

func (t *thing) String() string {
	if t.path != "" {
		return t.path
	}
	return t.object.String()
}

// Begin begins a run of a walk.
func (c *Cluster) Begin(walk string) *Run {
	return &Run{cluster: c, id: walk + "." + strings.ToLower(rand.Text()[:8])}
}

// ID returns the value of tours.Label on all that the run makes.
func (r *Run) ID() string { return r.id }

// Do does an action.
func (r *Run) Do(ctx context.Context, a *tours.Action) error {
	r.op.Lock()
	defer r.op.Unlock()
	switch a.Do {
	case tours.Create:
		return r.create(ctx, a.Manifest)
	case tours.WriteStatic:
		return r.writeStatic(a.Object, a.Manifest)
	case tours.Pressure:
		return r.press(a.Object)
	}
	t, err := r.thingOf(a)
	if err != nil {
		return err
	}
	switch a.Do {
	case tours.Delete, tours.RemoveStatic, tours.Relieve:
		return r.remove(ctx, t, a.Grace)
	case tours.Patch, tours.Resize:
		subresource := ""
		if a.Do == tours.Resize {
			subresource = "resize"
		}
		api, err := r.cluster.connect()
		if err != nil {
			return err
		}
		return api.patch(ctx, t.object, t.uid, subresource, a.Manifest)
	}
	return fmt.Errorf("do %q: this podstep does not know how", a.Do)
}

// thingOf returns the run's thing that an action is about.
func (r *Run) thingOf(a *tours.Action) (*thing, error) {
	path, what := "", a.Object
	kind, namespace, name := a.Parts()
	wanted := object{Kind: kind, Namespace: namespace, Name: name}
	var err error
	switch a.Do {
	case tours.RemoveStatic:
		path, err = r.cluster.static(a.Object)
	case tours.Relieve:
		what = "pressure"
		path, err = r.cluster.pressure()
	}
	if err != nil {
		return nil, err
	}
	for _, t := range slices.Backward(r.made) {
		if !t.deleted && t.path == path && (path != "" || t.object.same(wanted)) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%s %s: this run of the walk did not make it, or deleted it", a.Do, what)
}

func (r *Run) create(ctx context.Context, manifest string) error {
	docs, err := documents(manifest, r.id)
	if err != nil {
		return err
	}
	api, err := r.cluster.connect()
	if err != nil {
		return err
	}
	for _, d := range docs {
		if slices.ContainsFunc(r.made, func(t *thing) bool { return !t.deleted && t.path == "" && t.object.same(d.object) }) {
			continue // it was made before another document failed
		}
		h, err := api.create(ctx, d)
		if err != nil {
			return err
		}
		r.note(&thing{object: d.object, uid: h.Metadata.UID})
	}
	return nil
}

func (r *Run) writeStatic(name, manifest string) error {
	path, err := r.cluster.static(name)
	if err != nil {
		return err
	}
	docs, err := documents(manifest, r.id)
	if err != nil {
		return err
	}
	if len(docs) != 1 {
		return fmt.Errorf("write static pod: its manifest has %d documents", len(docs))
	}
	text, err := yaml.JSONToYAML(docs[0].json)
	if err != nil {
		return fmt.Errorf("write static pod: %w", err)
	}
	if err := writeNew(path, string(text)); err != nil {
		return err
	}
	r.note(&thing{object: docs[0].object, path: path, text: string(text)})
	return nil
}

// press makes the node short of something.
func (r *Run) press(shortage string) error {
	path, err := r.cluster.pressure()
	if err != nil {
		return err
	}
	text := shortage + "\n"
	if err := writeNew(path, text); err != nil {
		return err
	}
	r.note(&thing{path: path, text: text})
	return nil
}

func (r *Run) note(t *thing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.made = append(r.made, t)
}

func (r *Run) forget(t *thing) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t.deleted = true
}

// remove deletes a thing.
func (r *Run) remove(ctx context.Context, t *thing, grace *int64) error {
	if t.path != "" {
		if err := removeOwn(t.path, t.text); err != nil {
			return err
		}
		r.forget(t)
		return nil
	}
	api, err := r.cluster.connect()
	if err != nil {
		return err
	}
	if err := api.delete(ctx, t.object, t.uid, grace); err != nil {
		return err
	}
	r.forget(t)
	return nil
}

// Made returns the names of what the run made and has not deleted.
func (r *Run) Made() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.made {
		if !t.deleted {
			names = append(names, t.String())
		}
	}
	return names
}

// Undo deletes what the run made, the last first. Things that are gone already are no error.
func (r *Run) Undo(ctx context.Context) error {
	r.op.Lock()
	defer r.op.Unlock()
	var errs []error
	for _, t := range slices.Backward(r.made) {
		if !t.deleted {
			errs = append(errs, r.remove(ctx, t, nil))
		}
	}
	return errors.Join(errs...)
}

// Mine reports whether the run made this pod. The kubelet makes up the UID of a static pod, and the API server that
// of its mirror. Such pods are known by their names, which nobody had when the run began.
func (r *Run) Mine(p *probes.Pod) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.made {
		pod := object{Kind: "Pod", Namespace: p.Namespace, Name: p.Name}
		switch {
		case t.path != "":
			pod.Name = t.object.Name
			if pod.same(t.object) && strings.HasPrefix(p.Name, t.object.Name+"-") {
				return true
			}
		case t.object.same(pod) && t.uid == p.UID:
			return true
		}
	}
	return false
}
