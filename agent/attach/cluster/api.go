package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	// pageSize is how many objects are asked for at once.
	pageSize = 500
	// pageWithin bounds the time that one page may take.
	pageWithin = time.Minute
	// maxPage and maxObject bound what the API server may send, in bytes. Its own
	// bound for an object is less than 2 MiB.
	maxPage   = 256 << 20
	maxObject = 16 << 20
)

// api lists and watches at an API server. client-go's own clients do the same,
// and bring code for every kind of object there is, which a program that is to
// start at once has no use for.
type api struct {
	base   *url.URL
	client *http.Client
}

func newAPI(config *rest.Config) (*api, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0 // watches go on
	config.UserAgent = "podstep"
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return &api{base, client}, nil
}

// statusError is an answer that is not success.
type statusError struct {
	code    int
	message string
}

func (e *statusError) Error() string {
	if e.message != "" {
		return e.message
	}
	return fmt.Sprintf("HTTP %d %s", e.code, http.StatusText(e.code))
}

// isCode tells whether an error is an answer with that code.
func isCode(err error, code int) bool {
	var s *statusError
	return errors.As(err, &s) && s.code == code
}

func (a *api) get(ctx context.Context, path string, query url.Values) (*http.Response, error) {
	u := *a.base
	u.Path += path
	if len(u.Path) > 1 && u.Path[:2] == "//" {
		u.Path = u.Path[1:]
	}
	u.RawQuery = query.Encode()
	return get(ctx, a.client, u.String())
}

// get is a GET whose answer is success, or an error.
func get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return nil, failure(resp.StatusCode, text)
}

// failure is the error that an answer which is not success stands for.
func failure(code int, body []byte) error {
	var st metav1.Status
	if json.Unmarshal(body, &st) == nil && st.Message != "" {
		return &statusError{code, st.Message}
	}
	// The kubelet answers in plain words.
	return &statusError{code, clip(strings.TrimSpace(string(body)))}
}

func clip(s string) string { return s[:min(len(s), 300)] }

// list gives all objects of a kind, page by page, and the version of the list.
func list[T any](ctx context.Context, a *api, path string, query url.Values, each func(*T)) (version string, err error) {
	q := url.Values{"limit": {strconv.Itoa(pageSize)}}
	for k, v := range query {
		q[k] = v
	}
	for {
		page, err := listPage[T](ctx, a, path, q)
		if err != nil {
			return "", err
		}
		for i := range page.Items {
			each(&page.Items[i])
		}
		if page.Metadata.Continue == "" {
			return page.Metadata.ResourceVersion, nil
		}
		q.Set("continue", page.Metadata.Continue)
	}
}

type page[T any] struct {
	Metadata metav1.ListMeta `json:"metadata"`
	Items    []T             `json:"items"`
}

func listPage[T any](ctx context.Context, a *api, path string, query url.Values) (*page[T], error) {
	ctx, cancel := context.WithTimeout(ctx, pageWithin)
	defer cancel()
	resp, err := a.get(ctx, path, query)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var p page[T]
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxPage)).Decode(&p); err != nil {
		return nil, fmt.Errorf("read list: %w", err)
	}
	return &p, nil
}

// watch gives what changes after a version, until the API server ends the watch,
// which it does every few minutes. It returns the version up to which changes
// were given. opened is called when the API server has agreed to tell.
func watch[T any](ctx context.Context, a *api, path string, query url.Values, version string, opened func(), each func(kind string, object *T)) (string, error) {
	q := url.Values{
		"watch": {"1"}, "resourceVersion": {version}, "allowWatchBookmarks": {"true"},
		// Watches of many podsteps are not to end at once.
		"timeoutSeconds": {strconv.Itoa(300 + rand.IntN(300))},
	}
	for k, v := range query {
		q[k] = v
	}
	resp, err := a.get(ctx, path, q)
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

// changes reads what a watch sends.
type changes[T any] struct {
	version string
	meter   meter
	decoder *json.Decoder
}

func newChanges[T any](r io.Reader, version string) *changes[T] {
	c := &changes[T]{version: version, meter: meter{r: r}}
	c.decoder = json.NewDecoder(&c.meter)
	return c
}

// next gives the next change; object is nil if there is none in it.
func (c *changes[T]) next() (kind string, object *T, err error) {
	c.meter.left = maxObject
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
		return "", nil, &statusError{int(st.Code), st.Message}
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

// meter lets so many bytes through and then fails.
type meter struct {
	r    io.Reader
	left int
}

var errTooLarge = errors.New("an object is too large")

func (m *meter) Read(p []byte) (int, error) {
	if m.left <= 0 {
		return 0, errTooLarge
	}
	n, err := m.r.Read(p)
	m.left -= n
	return n, err
}
