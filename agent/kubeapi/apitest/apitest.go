// Package apitest plays an API server, for tests of its clients. It keeps the requests and can refuse some. A handler
// answers the others: Objects, or one of the test's own for watches or changes.
package apitest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
)

// Request is a request that a server received.
type Request struct {
	Method, Path, Agent, Body string
	Query                     url.Values
}

// String returns the request's method, URI and body.
func (r Request) String() string {
	uri := url.URL{Path: r.Path, RawQuery: r.Query.Encode()}
	return strings.TrimSpace(r.Method + " " + uri.String() + " " + r.Body)
}

// Watch reports whether the request asks for changes.
func (r Request) Watch() bool { return r.Query.Get("watch") != "" }

// Server is a server that runs until the test ends.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	requests []Request
	refused  map[string]int // codes, by path
}

// Start starts a server in front of a handler.
func Start(t testing.TB, h http.Handler) *Server {
	s := &Server{refused: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if code := s.keep(r); code != 0 {
			Fail(w, code, r.URL.Path+" is forbidden: the test says so")
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// keep keeps a request, and returns the code with which it is refused, or 0.
func (s *Server) keep(r *http.Request) (code int) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.UserAgent(), string(body), r.URL.Query()})
	return s.refused[r.URL.Path]
}

// Refuse makes requests for a path fail with an HTTP code from now on; 0: no more.
func (s *Server) Refuse(path string, code int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused[path] = code
}

// Requests returns all requests in their order, also those that were refused.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// RequestsFor returns those of Requests that were for a path.
func (s *Server) RequestsFor(path string) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return r.Path != path })
}

// Config returns the way to the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL} }

// Client makes a client of the server.
func (s *Server) Client(t testing.TB) *kubeapi.Client {
	t.Helper()
	c, err := kubeapi.New(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Answer answers with an object, in JSON.
func Answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object)
}

// Fail answers as an API server that fails: with a Status, and its causes if there are any.
func Fail(w http.ResponseWriter, code int, message string, causes ...metav1.StatusCause) {
	status := metav1.Status{Status: "Failure", Code: int32(code), Message: message}
	if len(causes) > 0 {
		status.Details = &metav1.StatusDetails{Causes: causes}
	}
	Answer(w, code, status)
}

// Objects answers with objects and lists, by their paths without the slash in front. A
// string stands for itself; another value is answered as JSON. Other paths are not found.
type Objects map[string]any

func (o Objects) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	switch object := o[path].(type) {
	case nil:
		Fail(w, http.StatusNotFound, path+" not found")
	case string:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, object)
	default:
		Answer(w, http.StatusOK, object)
	}
}
