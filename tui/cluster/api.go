package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/tui/tours"
)

// managed makes the API server note podstep as the owner of the fields that we set.
var managed = url.Values{"fieldManager": {"podstep"}}

// api speaks to an API server.
type api struct {
	client *kubeapi.Client

	mu    sync.Mutex
	kinds map[string][]resource // by group version
}

// resource is a kind of objects as the API server lists it.
type resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

func newAPI(config *rest.Config) (*api, error) {
	client, err := kubeapi.New(config)
	if err != nil {
		return nil, err
	}
	return &api{client: client, kinds: map[string][]resource{}}, nil
}

// object names an object.
type object struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

func (o object) String() string {
	return strings.ToLower(o.Kind) + " " + cmp.Or(o.Namespace, "default") + "/" + o.Name
}

// same reports whether both name the same object, by any of the names of its kind.
func (o object) same(other object) bool {
	return strings.EqualFold(o.Kind, other.Kind) && o.Name == other.Name && cmp.Or(o.Namespace, "default") == cmp.Or(other.Namespace, "default")
}

// head is the part of an object that podstep reads.
type head struct {
	Metadata struct {
		Name, Namespace, UID string
		DeletionTimestamp    string
		Labels, Annotations  map[string]string
	}
	Spec   struct{ NodeName string }
	Status struct{ Phase string }
}

// TakenError reports that another object has the name of an object to be made.
type TakenError struct{ Object string }

func (e *TakenError) Error() string {
	return e.Object + " is there already, and this walk did not make it"
}

// document is an object of a manifest.
type document struct {
	object
	json []byte
}

// documents splits a manifest into its objects, and labels them as made by a run of a walk. An object without a
// namespace gets "default" if its kind has namespaces.
func documents(manifest, run string) (out []document, err error) {
	for _, part := range strings.Split("\n"+manifest, "\n---") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		text, err := yaml.YAMLToJSON([]byte(part))
		if err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		var head struct {
			APIVersion string
			Kind       string
			Metadata   struct{ Name, Namespace string }
		}
		if err := json.Unmarshal(text, &head); err != nil {
			return nil, fmt.Errorf("read manifest: %w", err)
		}
		if head.Kind == "" || head.Metadata.Name == "" {
			return nil, errors.New("read manifest: an object has no kind or no name")
		}
		if text, err = labelled(text, run); err != nil {
			return nil, err
		}
		out = append(out, document{object{head.APIVersion, head.Kind, head.Metadata.Namespace, head.Metadata.Name}, text})
	}
	return out, nil
}

// labelled returns a document with the label of a run.
func labelled(text []byte, run string) ([]byte, error) {
	var o map[string]any
	if err := json.Unmarshal(text, &o); err != nil {
		return nil, fmt.Errorf("read manifest: %w", err)
	}
	metadata, _ := o["metadata"].(map[string]any)
	labels, _ := metadata["labels"].(map[string]any)
	if labels == nil {
		labels = map[string]any{}
	}
	labels[tours.Label] = run
	metadata["labels"] = labels
	return json.Marshal(o)
}

// get reads the head of an object. It returns nil if there is no such object.
func (a *api) get(ctx context.Context, o object) (*head, error) {
	path, err := a.path(ctx, o)
	if err != nil {
		return nil, err
	}
	var h head
	err = a.call(ctx, kubeapi.Request{Path: path}, &h)
	if kubeapi.IsCode(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", o, err)
	}
	return &h, nil
}

// list reads the heads of the objects of o's kind in o's namespace, or in all namespaces.
func (a *api) list(ctx context.Context, o object, query url.Values) ([]head, error) {
	path, err := a.path(ctx, o)
	if err != nil {
		return nil, err
	}
	path = strings.TrimSuffix(path, "/"+o.Name)
	var all struct{ Items []head }
	if err := a.call(ctx, kubeapi.Request{Path: path, Query: query}, &all); err != nil {
		return nil, fmt.Errorf("list each %s: %w", strings.ToLower(o.Kind), err)
	}
	return all.Items, nil
}

// create creates an object. It fails if there is an object of that name.
func (a *api) create(ctx context.Context, d document) (*head, error) {
	path, err := a.path(ctx, d.object)
	if err != nil {
		return nil, err
	}
	path = strings.TrimSuffix(path, "/"+d.Name)
	var h head
	err = a.call(ctx, kubeapi.Request{
		Method: http.MethodPost, Path: path, Query: managed, ContentType: "application/json", Body: d.json,
	}, &h)
	switch {
	case kubeapi.IsCode(err, http.StatusConflict):
		return nil, &TakenError{d.object.String()}
	case err != nil:
		return nil, fmt.Errorf("create %s: %w", d.object, err)
	case h.Metadata.UID == "":
		return nil, fmt.Errorf("create %s: the API server gave it no UID", d.object)
	}
	return &h, nil
}

// patch changes the object with that UID by a JSON patch. It changes nothing if another object has the name: the
// patch tests for the UID first.
func (a *api) patch(ctx context.Context, o object, uid, subresource, patch string) error {
	var ops []any
	if err := yaml.Unmarshal([]byte(patch), &ops); err != nil {
		return fmt.Errorf("read patch: %w", err)
	}
	ops = append([]any{map[string]string{"op": "test", "path": "/metadata/uid", "value": uid}}, ops...)
	body, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("write patch: %w", err)
	}
	path, err := a.path(ctx, o)
	if err != nil {
		return err
	}
	if subresource != "" {
		path += "/" + subresource
	}
	err = a.call(ctx, kubeapi.Request{
		Method: http.MethodPatch, Path: path, Query: managed, ContentType: "application/json-patch+json", Body: body,
	}, nil)
	if err != nil {
		return fmt.Errorf("change %s: %w", o, err)
	}
	return nil
}

// delete deletes the object with that UID, as kubectl delete --wait=false. grace is in seconds; nil leaves it to the
// object. It is no error if the object is gone, even if another one has its name.
func (a *api) delete(ctx context.Context, o object, uid string, grace *int64) error {
	path, err := a.path(ctx, o)
	if err != nil {
		return err
	}
	body, err := json.Marshal(deleteOptions{
		APIVersion: "v1", Kind: "DeleteOptions", PropagationPolicy: "Background", GracePeriodSeconds: grace,
		Preconditions: preconditions{UID: uid},
	})
	if err != nil {
		return fmt.Errorf("delete %s: %w", o, err)
	}
	err = a.call(ctx, kubeapi.Request{Method: http.MethodDelete, Path: path, ContentType: "application/json", Body: body}, nil)
	if err != nil && !kubeapi.IsCode(err, http.StatusNotFound, http.StatusConflict) {
		return fmt.Errorf("delete %s: %w", o, err)
	}
	return nil
}

// deleteOptions are metav1.DeleteOptions.
type deleteOptions struct {
	APIVersion         string        `json:"apiVersion"`
	Kind               string        `json:"kind"`
	PropagationPolicy  string        `json:"propagationPolicy"`
	GracePeriodSeconds *int64        `json:"gracePeriodSeconds,omitempty"`
	Preconditions      preconditions `json:"preconditions"`
}

type preconditions struct {
	UID string `json:"uid"`
}

// lookEvery is how often podstep checks whether an object is gone.
const lookEvery = 200 * time.Millisecond

// untilGone calls gone again and again until it returns true.
func untilGone(ctx context.Context, what string, gone func() (bool, error)) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		switch yes, err := gone(); {
		case yes:
			return nil
		case err != nil:
			return fmt.Errorf("wait until %s is gone: %w", what, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s is there from before and is not gone yet: %w", what, ctx.Err())
		}
	}
}

// path returns the path of an object. A kind without a version is one of the core group, under any of the names that
// kubectl takes.
func (a *api) path(ctx context.Context, o object) (string, error) {
	version := o.APIVersion
	if version == "" {
		version = "v1"
	}
	prefix := "apis/" + version
	if !strings.Contains(version, "/") {
		prefix = "api/" + version
	}
	known, err := a.resources(ctx, prefix)
	if err != nil {
		return "", err
	}
	for _, r := range known {
		if strings.Contains(r.Name, "/") || !(strings.EqualFold(r.Kind, o.Kind) || r.Name == strings.ToLower(o.Kind)) {
			continue
		}
		if !r.Namespaced {
			return prefix + "/" + r.Name + "/" + o.Name, nil
		}
		namespace := o.Namespace
		if namespace == "" {
			namespace = "default"
		}
		return prefix + "/namespaces/" + namespace + "/" + r.Name + "/" + o.Name, nil
	}
	return "", fmt.Errorf("find %s %s: the API server has no such kind in %s", o.Kind, o.Name, version)
}

func (a *api) resources(ctx context.Context, prefix string) ([]resource, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.kinds[prefix]; ok {
		return known, nil
	}
	var list struct {
		Resources []resource `json:"resources"`
	}
	if err := a.call(ctx, kubeapi.Request{Path: prefix}, &list); err != nil {
		return nil, fmt.Errorf("ask the API server for its kinds: %w", err)
	}
	a.kinds[prefix] = list.Resources
	return list.Resources, nil
}

// maxAnswer bounds how much of an answer is read, in bytes.
const maxAnswer = 8 << 20

func (a *api) call(ctx context.Context, r kubeapi.Request, into any) error {
	return a.client.Call(ctx, r, maxAnswer, into)
}
