package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/url"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/kubeapi"
)

// maxObject bounds what the API server may send for one object, in bytes. Its own bound
// is less than 2 MiB.
const maxObject = 16 << 20

// watch gives what changes after a version, until the API server ends the watch,
// which it does after the time that lasts names, and at most twice that. It returns the
// version up to which changes were given. opened is called when the API server has
// agreed to watch.
func watch[T any](ctx context.Context, api *kubeapi.Client, path string, query url.Values, lasts time.Duration, version string, opened func(), each func(kind string, object *T)) (string, error) {
	q := url.Values{
		"watch": {"1"}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"},
		// Watches of many podsteps are not to end at once.
		"timeoutSeconds": {strconv.Itoa(int((lasts + rand.N(lasts)) / time.Second))},
	}
	for k, v := range query {
		q[k] = v
	}
	resp, err := api.Open(ctx, kubeapi.Request{Path: path, Query: q})
	if err != nil {
		return version, err
	}
	defer resp.Body.Close()
	opened()
	changes := newChanges[T](resp.Body, version)
	for {
		kind, object, err := changes.next()
		switch {
		case errors.Is(err, io.EOF):
			return changes.version, nil
		case err != nil:
			return changes.version, err
		case object != nil:
			each(kind, object)
		}
	}
}

// statusError is the error with which the API server ends a watch.
func statusError(st *metav1.Status) error {
	err := &kubeapi.StatusError{Code: int(st.Code), Message: st.Message}
	if d := st.Details; d != nil {
		err.RetryAfter = time.Duration(d.RetryAfterSeconds) * time.Second
	}
	return err
}

// changes reads what a watch sends.
type changes[T any] struct {
	version string
	bounded kubeapi.Bounded
	decoder *json.Decoder
}

func newChanges[T any](r io.Reader, version string) *changes[T] {
	c := &changes[T]{version: version, bounded: kubeapi.Bounded{R: r}}
	c.decoder = json.NewDecoder(&c.bounded)
	return c
}

// next gives the next change; object is nil if there is none in it.
func (c *changes[T]) next() (kind string, object *T, err error) {
	c.bounded.Left = maxObject
	var line struct {
		Type   string          `json:"type"`
		Object json.RawMessage `json:"object"`
	}
	if err := c.decoder.Decode(&line); err != nil {
		return "", nil, err
	}
	if line.Type == "ERROR" {
		var st metav1.Status
		if err := json.Unmarshal(line.Object, &st); err != nil {
			return "", nil, fmt.Errorf("read watch: %w", err)
		}
		return "", nil, statusError(&st)
	}
	var head struct {
		Metadata struct {
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(line.Object, &head); err != nil {
		return "", nil, fmt.Errorf("read watch: %w", err)
	}
	switch line.Type {
	case "ADDED", "MODIFIED", "DELETED":
		object = new(T)
		if err := json.Unmarshal(line.Object, object); err != nil {
			return "", nil, fmt.Errorf("read watch: %w", err)
		}
	}
	if v := head.Metadata.ResourceVersion; v != "" {
		c.version = v
	}
	return line.Type, object, nil
}
