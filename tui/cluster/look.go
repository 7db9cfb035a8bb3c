package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/tui/tours"
)

// Found lists objects that have names which a walk is written with.
type Found struct {
	// Left are objects of other runs of the walk: of earlier ones, or of one that is under way elsewhere.
	Left []string
	// Taken are objects of others that have a name which the walk would have used.
	Taken []string
}

// maxNames bounds how many names are tried.
const maxNames = 100

// Take returns the walk with names that nobody has: its own names, or else names with a number. It changes nothing
// in the cluster. node is the name of the node.
func (r *Run) Take(ctx context.Context, t *tours.Tour, node string) (*tours.Tour, Found, error) {
	r.op.Lock()
	defer r.op.Unlock()
	r.left = nil
	var found Found
	for n := 1; n <= maxNames; n++ {
		suffix := ""
		if n > 1 {
			suffix = fmt.Sprintf("-%d", n)
		}
		own, err := t.Own(r.id, suffix, node)
		if err != nil {
			return nil, Found{}, err
		}
		taken, err := r.findTaken(ctx, own)
		if err != nil {
			return nil, Found{}, err
		}
		if n == 1 {
			found.Taken = taken
		}
		if len(taken) == 0 {
			for _, l := range r.left {
				found.Left = append(found.Left, l.String())
			}
			return own, found, nil
		}
	}
	return nil, Found{}, fmt.Errorf("find names for the walk: %d names like that of %s are taken", maxNames, found.Taken[0])
}

// findTaken returns what has the names of the walk's objects, and notes what other runs left.
func (r *Run) findTaken(ctx context.Context, t *tours.Tour) (taken []string, err error) {
	for i := range t.Stops {
		var some []string
		switch a := t.Stops[i].Act; {
		case a == nil:
		case a.Do == tours.Create:
			some, err = r.lookObjects(ctx, a.Manifest, t.Name)
		case a.Do == tours.WriteStatic:
			some, err = r.lookStatic(ctx, a)
		}
		if err != nil {
			return nil, err
		}
		taken = append(taken, some...)
	}
	return taken, nil
}

func (r *Run) lookObjects(ctx context.Context, manifest, walk string) (taken []string, err error) {
	docs, err := documents(manifest, r.id)
	if err != nil {
		return nil, err
	}
	api, err := r.cluster.connect()
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		h, err := api.get(ctx, d.object)
		if h != nil && h.Metadata.Labels[tours.Label] != "" && h.Metadata.DeletionTimestamp != "" {
			h, err = r.settled(ctx, d.object)
		}
		if err != nil {
			return nil, err
		}
		if h != nil {
			taken = append(taken, d.object.String())
			if h.Metadata.Labels[tours.Label] != "" {
				r.leftover(d.object, *h)
			}
		}
		// Objects of a run that took other names have its label.
		labelled, err := api.list(ctx, d.object, url.Values{"labelSelector": {tours.Label}})
		if err != nil {
			return nil, err
		}
		for _, h := range labelled {
			if of, _, _ := strings.Cut(h.Metadata.Labels[tours.Label], "."); of == walk {
				r.leftover(object{d.APIVersion, d.Kind, h.Metadata.Namespace, h.Metadata.Name}, h)
			}
		}
	}
	return taken, nil
}

// goingTime is how long Take waits for an object of an earlier run that is being deleted: the pods of walks have a
// grace period of some seconds.
const goingTime = 15 * time.Second

// settled waits until an object that is being deleted is gone. It returns the object if that takes too long.
func (r *Run) settled(ctx context.Context, o object) (h *head, err error) {
	within, cancel := context.WithTimeout(ctx, goingTime)
	defer cancel()
	err = untilGone(within, o.String(), func() (bool, error) {
		var err error
		h, err = r.cluster.api.get(ctx, o)
		return err == nil && h == nil, err
	})
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		err = nil
	}
	return h, err
}

// leftover notes an object of another run, unless it is being deleted or is a mirror, which goes with its static
// pod.
func (r *Run) leftover(o object, h head) {
	_, mirror := h.Metadata.Annotations[corev1.MirrorPodAnnotationKey]
	is := func(t *thing) bool { return t.uid == h.Metadata.UID && t.uid != "" }
	if h.Metadata.DeletionTimestamp == "" && !mirror && !slices.ContainsFunc(r.made, is) && !slices.ContainsFunc(r.left, is) {
		r.left = append(r.left, &thing{object: o, uid: h.Metadata.UID})
	}
}

// lookStatic looks for the file of a static pod, and for pods that have names like that of its mirror.
func (r *Run) lookStatic(ctx context.Context, a *tours.Action) (taken []string, err error) {
	docs, err := documents(a.Manifest, r.id)
	if err != nil || len(docs) == 0 {
		return nil, err
	}
	path, err := r.cluster.static(a.Object)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		taken = append(taken, path)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("read static pod: %w", err)
	}
	if labelOf(text) != "" {
		r.left = append(r.left, &thing{object: docs[0].object, path: path, text: string(text)})
	}
	mirrors, err := r.mirrorsLike(ctx, docs[0].object)
	return append(taken, mirrors...), err
}

// mirrorsLike returns the pods that have a name like the mirror of a static pod.
func (r *Run) mirrorsLike(ctx context.Context, static object) (names []string, err error) {
	api, err := r.cluster.connect()
	if err != nil {
		return nil, err
	}
	pods, err := api.list(ctx, static, nil)
	for _, h := range pods {
		if strings.HasPrefix(h.Metadata.Name, static.Name+"-") {
			names = append(names, object{Kind: "Pod", Namespace: h.Metadata.Namespace, Name: h.Metadata.Name}.String())
		}
	}
	return names, err
}

// labelOf returns the value of tours.Label in a static pod's manifest.
func labelOf(text []byte) string {
	var h head
	if yaml.Unmarshal(text, &h) != nil {
		return ""
	}
	return h.Metadata.Labels[tours.Label]
}

// Clear deletes what Take found of earlier runs, and waits until it is gone.
func (r *Run) Clear(ctx context.Context) error {
	r.op.Lock()
	defer r.op.Unlock()
	for _, t := range r.left {
		if err := r.remove(ctx, t, nil); err != nil {
			return err
		}
	}
	for _, t := range r.left {
		if err := untilGone(ctx, t.String(), func() (bool, error) { return r.gone(ctx, t) }); err != nil {
			return err
		}
	}
	return nil
}

// gone reports whether nothing is left of a thing that was deleted. After a static pod has ended, the kubelet
// deletes its mirror.
func (r *Run) gone(ctx context.Context, t *thing) (bool, error) {
	if t.path != "" {
		mirrors, err := r.mirrorsLike(ctx, t.object)
		return err == nil && len(mirrors) == 0, err
	}
	api, err := r.cluster.connect()
	if err != nil {
		return false, err
	}
	h, err := api.get(ctx, t.object)
	return err == nil && (h == nil || h.Metadata.UID != t.uid), err
}

// Others returns the names of the pods on the nodes that the run did not make, that have not ended and are not being
// deleted. A shortage on the node may end these pods.
func (r *Run) Others(ctx context.Context) (names []string, err error) {
	r.op.Lock()
	defer r.op.Unlock()
	api, err := r.cluster.connect()
	if err != nil {
		return nil, err
	}
	var all struct{ Items []head }
	if err := api.call(ctx, kubeapi.Request{Path: "api/v1/pods"}, &all); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for _, h := range all.Items {
		mine := slices.ContainsFunc(r.made, func(t *thing) bool { return t.uid != "" && t.uid == h.Metadata.UID })
		if h.Metadata.DeletionTimestamp == "" && !mine && h.Spec.NodeName != "" && h.Status.Phase != "Succeeded" && h.Status.Phase != "Failed" {
			names = append(names, h.Metadata.Namespace+"/"+h.Metadata.Name)
		}
	}
	return names, nil
}
