package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
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

// watch calls changed with each change after f.version, and moves f.version on, until the API server ends the watch.
// That is after the time lasts at the earliest, and after twice that at the latest.
func (f *follower[T]) watch(ctx context.Context) error {
	q := url.Values{
		"watch": {"1"}, "resourceVersion": {f.version}, "allowWatchBookmarks": {"true"},
		// The random part keeps the watches of many podsteps from ending at once.
		"timeoutSeconds": {strconv.Itoa(int((f.lasts + rand.N(f.lasts)) / time.Second))},
	}
	maps.Copy(q, f.query)
	resp, err := f.api.Open(ctx, kubeapi.Request{Path: f.path, Query: q})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	f.works()
	changes := newChanges[T](resp.Body, f.version)
	for {
		kind, object, err := changes.next()
		f.version = changes.version
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case object != nil:
			f.changed(kind, object)
		}
	}
}

// statusError makes an error of the status with which the API server ends a watch.
func statusError(st *metav1.Status) error {
	err := kubeapi.NewStatusError(int(st.Code), st)
	if d := st.Details; d != nil {
		err.RetryAfter = time.Duration(d.RetryAfterSeconds) * time.Second
	}
	return err
}

// changes reads the changes that a watch sends.
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

// next returns the next change; object is nil for a bookmark.
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
