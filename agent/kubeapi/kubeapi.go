// Package kubeapi asks an API server, or the kubelet's port, by requests and JSON. client-go's own clients do the
// same, but bring code for every kind of object there is, and a program with it starts more slowly.
package kubeapi

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
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/redact"
	"github.com/podstep/podstep/agent/version"
)

// Client sends requests to one API server, with one user's credentials.
type Client struct {
	base *url.URL
	http *http.Client
}

// New makes a client. Only its context bounds a request, since watches go on. If config has no User-Agent, the client
// has podstep's.
func New(config *rest.Config) (*Client, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 0
	config.UserAgent = cmp.Or(config.UserAgent, UserAgent(""))
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	return &Client{base, client}, nil
}

// UserAgent returns the name by which a server's audit log shows podstep: its version, its system, and the purpose if
// that is not empty, such as podstep/v0.1.0 (linux/amd64) attach/node-1.
func UserAgent(purpose string) string {
	// Parentheses are for comments.
	name := "podstep/" + strings.Trim(version.Own(), "()")
	return strings.TrimSpace(fmt.Sprintf("%s (%s/%s) %s", name, runtime.GOOS, runtime.GOARCH, purpose))
}

// Request is a request to the API server.
type Request struct {
	Method      string // "" is GET
	Path        string // without the server's own, such as api/v1/pods
	Query       url.Values
	ContentType string // of Body
	Body        []byte
}

// Open sends a request and returns the answer if it is a success. Otherwise it fails with a *StatusError, or with the
// reason why there is no answer. The caller closes the body.
func (c *Client) Open(ctx context.Context, r Request) (*http.Response, error) {
	target := c.base.JoinPath(r.Path)
	target.RawQuery = r.Query.Encode()
	req, err := http.NewRequestWithContext(ctx, cmp.Or(r.Method, http.MethodGet), target.String(), bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	if r.ContentType != "" {
		req.Header.Set("Content-Type", r.ContentType)
	}
	return send(c.http, req)
}

// Call sends a request and decodes the answer from JSON into the value that into points to. It reads at most max
// bytes; with a nil into it does not read the answer. Errors are those of Open, and ErrTooLarge.
func (c *Client) Call(ctx context.Context, r Request, max int, into any) error {
	resp, err := c.Open(ctx, r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(&Bounded{R: resp.Body, Left: max}).Decode(into); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	return nil
}

// Get is Open for a whole URL, by a client that has the credentials.
func Get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return send(client, req)
}

// maxStatus bounds how much of an answer that is no success is read, and maxPlain how much of it is shown if it is no
// metav1.Status; in bytes.
const (
	maxStatus = 64 << 10
	maxPlain  = 300
)

func send(client *http.Client, req *http.Request) (*http.Response, error) {
	// A kubelet does not serve its profiles to a client that accepts only JSON.
	req.Header.Set("Accept", "application/json, */*")
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxStatus))
	status := statusOf(resp.StatusCode, body)
	status.RetryAfter = retryAfter(resp.Header)
	return nil, status
}

// retryAfter returns how long the server asks to wait. API servers state it in seconds.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.ParseUint(h.Get("Retry-After"), 10, 16)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// StatusError is an answer that is no success.
type StatusError struct {
	Code    int    // of HTTP
	Message string // from the server; may be empty
	Causes  []metav1.StatusCause
	// RetryAfter is how long the server asks to wait before the next try; 0: it does not ask.
	RetryAfter time.Duration
}

func (e *StatusError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("HTTP %d %s", e.Code, http.StatusText(e.Code))
}

// IsCode reports whether an error is an answer with one of these codes.
func IsCode(err error, codes ...int) bool {
	var s *StatusError
	return errors.As(err, &s) && slices.Contains(codes, s.Code)
}

// NewStatusError makes an error of a status of the API server and its HTTP code.
func NewStatusError(code int, st *metav1.Status) *StatusError {
	err := &StatusError{Code: code, Message: st.Message}
	if st.Details != nil {
		err.Causes = st.Details.Causes
	}
	return err
}

// HasCause reports whether an error is an answer of the API server that names this cause.
func HasCause(err error, cause metav1.CauseType) bool {
	var s *StatusError
	return errors.As(err, &s) && slices.ContainsFunc(s.Causes, func(c metav1.StatusCause) bool { return c.Type == cause })
}

// statusOf makes the error of an answer that is no success. The kubelet answers in plain text.
func statusOf(code int, body []byte) *StatusError {
	var st metav1.Status
	if json.Unmarshal(body, &st) == nil && st.Message != "" {
		return NewStatusError(code, &st)
	}
	text := strings.TrimSpace(string(body))
	if len(text) > maxPlain {
		text = redact.Begin(text[:maxPlain]) // half a secret would not be recognised later
	}
	return &StatusError{Code: code, Message: text}
}

// ErrTooLarge is returned by a Bounded that may give no more.
var ErrTooLarge = errors.New("the answer is too large")

// Bounded reads from R, and fails with ErrTooLarge when Left is used up. A caller that reads several things one after
// the other sets Left before each.
type Bounded struct {
	R    io.Reader
	Left int // in bytes; the last Read may give more than that
}

func (b *Bounded) Read(p []byte) (int, error) {
	if b.Left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.R.Read(p)
	b.Left -= n
	return n, err
}
