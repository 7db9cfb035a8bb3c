package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// manager is whom the API server notes as the owner of fields we apply.
const manager = "podstep"

// api speaks to an API server.
type api struct {
	base   *url.URL
	client *http.Client

	mu    sync.Mutex
	kinds map[string][]resource // by group version
}

// resource is what the API server calls the objects of a kind.
type resource struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Namespaced bool   `json:"namespaced"`
}

func newAPI(config *rest.Config) (*api, error) {
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return &api{base: base, client: client, kinds: map[string][]resource{}}, nil
}

// object names an object.
type object struct {
	APIVersion string
	Kind       string
	Namespace  string
	Name       string
}

// document is an object of a manifest.
type document struct {
	object
	json []byte
}

// documents takes a manifest apart. Objects without a namespace are in
// "default" if their kind has namespaces.
func documents(manifest string) (out []document, err error) {
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
		out = append(out, document{object{head.APIVersion, head.Kind, head.Metadata.Namespace, head.Metadata.Name}, text})
	}
	return out, nil
}

// apply is kubectl apply --server-side.
func (a *api) apply(ctx context.Context, manifest string) error {
	docs, err := documents(manifest)
	if err != nil {
		return err
	}
	for _, d := range docs {
		path, err := a.path(ctx, d.object)
		if err != nil {
			return err
		}
		query := url.Values{"fieldManager": {manager}, "force": {"true"}}
		if err := a.call(ctx, http.MethodPatch, path, query, "application/apply-patch+yaml", d.json, nil); err != nil {
			return fmt.Errorf("apply %s %s: %w", d.Kind, d.Name, err)
		}
	}
	return nil
}

// delete is kubectl delete --wait=false. grace is in seconds; nil is the
// object's own.
func (a *api) delete(ctx context.Context, o object, grace *int64) error {
	path, err := a.path(ctx, o)
	if err != nil {
		return err
	}
	query := url.Values{"propagationPolicy": {"Background"}}
	if grace != nil {
		query.Set("gracePeriodSeconds", fmt.Sprint(*grace))
	}
	if err := a.call(ctx, http.MethodDelete, path, query, "", nil, nil); err != nil {
		return fmt.Errorf("delete %s %s: %w", o.Kind, o.Name, err)
	}
	return nil
}

// deleteAll deletes the objects of a manifest, the last first.
func (a *api) deleteAll(ctx context.Context, manifest string) error {
	docs, err := documents(manifest)
	if err != nil {
		return err
	}
	var errs []error
	for i := len(docs) - 1; i >= 0; i-- {
		var status *statusError
		if err := a.delete(ctx, docs[i].object, nil); !errors.As(err, &status) || status.code != http.StatusNotFound {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// lookEvery is how often is looked whether an object is gone.
const lookEvery = 200 * time.Millisecond

// gone waits until no object of a manifest is there.
func (a *api) gone(ctx context.Context, manifest string) error {
	return each(manifest, func(d document) error {
		path, err := a.path(ctx, d.object)
		if err != nil {
			return err
		}
		return until(ctx, d.object, func() (bool, error) {
			err := a.call(ctx, http.MethodGet, path, nil, "", nil, nil)
			var status *statusError
			if errors.As(err, &status) && status.code == http.StatusNotFound {
				return true, nil
			}
			return false, err
		})
	})
}

// mirrorsGone waits until the static pods of a manifest have no mirror: their
// kubelet deletes it when they have ended.
func (a *api) mirrorsGone(ctx context.Context, manifest string) error {
	return each(manifest, func(d document) error {
		return until(ctx, d.object, func() (bool, error) {
			var pods struct {
				Items []struct {
					Metadata struct {
						Name        string
						Annotations map[string]string
					}
				}
			}
			namespace := cmp.Or(d.Namespace, "default")
			if err := a.call(ctx, http.MethodGet, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/pods", nil, "", nil, &pods); err != nil {
				return false, err
			}
			for _, p := range pods.Items {
				if _, mirror := p.Metadata.Annotations[mirrorAnnotation]; mirror && strings.HasPrefix(p.Metadata.Name, d.Name+"-") {
					return false, nil
				}
			}
			return true, nil
		})
	})
}

// mirrorAnnotation is what the kubelet marks its mirror pods with.
const mirrorAnnotation = "kubernetes.io/config.mirror"

// each does something for the objects of a manifest, one after the other.
func each(manifest string, do func(document) error) error {
	docs, err := documents(manifest)
	for i := 0; i < len(docs) && err == nil; i++ {
		err = do(docs[i])
	}
	return err
}

// until looks again and again whether an object is gone.
func until(ctx context.Context, o object, gone func() (bool, error)) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		switch yes, err := gone(); {
		case yes:
			return nil
		case err != nil:
			return fmt.Errorf("wait until %s %s is gone: %w", o.Kind, o.Name, err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%s %s is there from before and is not gone yet: %w", o.Kind, o.Name, ctx.Err())
		}
	}
}

// resize patches the resources of a pod that runs.
func (a *api) resize(ctx context.Context, namespace, name, patch string) error {
	text, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		return fmt.Errorf("read patch: %w", err)
	}
	path, err := a.path(ctx, object{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: name})
	if err != nil {
		return err
	}
	if err := a.call(ctx, http.MethodPatch, path+"/resize", nil, "application/strategic-merge-patch+json", text, nil); err != nil {
		return fmt.Errorf("resize %s: %w", name, err)
	}
	return nil
}

// path is where an object is. A kind without its version is one of the core, by
// any of the names that kubectl takes.
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
	if err := a.call(ctx, http.MethodGet, prefix, nil, "", nil, &list); err != nil {
		return nil, fmt.Errorf("ask the API server for its kinds: %w", err)
	}
	a.kinds[prefix] = list.Resources
	return list.Resources, nil
}

// statusError is a refusal by the API server.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return e.text }

// maxAnswer bounds what is read of an answer.
const maxAnswer = 8 << 20

func (a *api) call(ctx context.Context, method, path string, query url.Values, contentType string, body []byte, into any) error {
	target := a.base.JoinPath(path)
	target.RawQuery = query.Encode()
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := a.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return refusal(resp.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func refusal(code int, text []byte) error {
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(text, &status) != nil || status.Message == "" {
		status.Message = http.StatusText(code)
	}
	return &statusError{code, status.Message}
}
