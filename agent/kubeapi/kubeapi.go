// Package kubeapi asks an API server, or the kubelet's port, over plain HTTP.
// client-go's own clients do the same, and bring code for every kind of object
// there is, which a program that is to start at once has no use for.
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

	"github.com/podstep/podstep/agent/version"
)

// Client sends requests to one API server, with one user's credentials.
type Client struct {
	base *url.URL
	http *http.Client
}

// New makes a client. A request takes as long as its context lets it, since
// watches go on. A client that config gives no User-Agent has podstep's.
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

// UserAgent is how podstep names itself to a server, whose administrator reads it in
// the audit log: its version, its system, and what it asks for if that is not empty,
// such as podstep/v0.1.0 (linux/amd64) attach/node-1.
func UserAgent(purpose string) string {
	// Parentheses are for comments.
	name := "podstep/" + strings.Trim(version.Own(), "()")
	return strings.TrimSpace(fmt.Sprintf("%s (%s/%s) %s", name, runtime.GOOS, runtime.GOARCH, purpose))
}

// Request is what the API server is asked.
type Request struct {
	Method      string // "" is GET
	Path        string // without the server's own, such as api/v1/pods
	Query       url.Values
	ContentType string // of Body
	Body        []byte
}

// Open sends a request and returns the answer if it is a success; otherwise the
// error is a *StatusError, or why there is no answer. The caller closes the body.
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

// Call sends a request and decodes the JSON of the answer, of which it reads max
// bytes at most, into what into points to; nil leaves the answer unread. Errors
// are those of Open, and ErrTooLarge.
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

// Get is Open for a whole address and a client that has the credentials.
func Get(ctx context.Context, client *http.Client, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return send(client, req)
}

// maxStatus bounds what is read of an answer that is no success, and maxPlain
// what of it is shown if it is no metav1.Status; in bytes.
const (
	maxStatus = 64 << 10
	maxPlain  = 300
)

func send(client *http.Client, req *http.Request) (*http.Response, error) {
	// A kubelet does not serve its profiles to who takes nothing but JSON.
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

// retryAfter is how long the server asks to wait. API servers state it in seconds.
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
	// RetryAfter is how long the server asks to wait before the next try; 0: it does
	// not state that.
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

// statusOf is the error that an answer which is no success stands for. The
// kubelet answers in plain text.
func statusOf(code int, body []byte) *StatusError {
	var st metav1.Status
	if json.Unmarshal(body, &st) == nil && st.Message != "" {
		return &StatusError{Code: code, Message: st.Message}
	}
	text := strings.TrimSpace(string(body))
	return &StatusError{Code: code, Message: text[:min(len(text), maxPlain)]}
}

// ErrTooLarge is the error of a Bounded that has given all that it may.
var ErrTooLarge = errors.New("the answer is too large")

// Bounded reads from R, and fails with ErrTooLarge when Left is used up. Who
// reads several things one after the other sets Left before each.
type Bounded struct {
	R    io.Reader
	Left int // in bytes; may be exceeded by what one Read gives
}

func (b *Bounded) Read(p []byte) (int, error) {
	if b.Left <= 0 {
		return 0, ErrTooLarge
	}
	n, err := b.R.Read(p)
	b.Left -= n
	return n, err
}
