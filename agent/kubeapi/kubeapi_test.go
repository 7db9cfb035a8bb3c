package kubeapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestStatus(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind":"Status","message":"pods is forbidden"}`: "pods is forbidden",
		"Unauthorized\n":          "Unauthorized",
		"":                        "HTTP 403 Forbidden",
		strings.Repeat("x", 9000): strings.Repeat("x", 300),
	} {
		err := error(statusOf(http.StatusForbidden, []byte(body)))
		if err.Error() != want || !IsCode(fmt.Errorf("list: %w", err), http.StatusNotFound, http.StatusForbidden) || IsCode(err, http.StatusNotFound) {
			t.Errorf("%.40q is %q", body, err)
		}
	}
}

// TestCall: what is sent arrives below the server's own path; what comes back is
// decoded, or is an error.
func TestCall(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/cluster/api/v1/pods":
			w.WriteHeader(http.StatusCreated)
			fmt.Fprintf(w, "[%q, %q, %q, %q, %q]", r.Method, r.URL.RawQuery, r.Header.Get("Content-Type"), r.Header.Get("User-Agent"), body)
		case "/cluster/large":
			fmt.Fprintf(w, "%q", strings.Repeat("x", 1<<20))
		default:
			http.Error(w, "no such path", http.StatusNotFound)
		}
	}))
	defer server.Close()
	c, err := New(&rest.Config{Host: server.URL + "/cluster/"})
	if err != nil {
		t.Fatal(err)
	}
	post := Request{Method: http.MethodPost, Query: url.Values{"a": {"b"}}, ContentType: "application/json", Body: []byte("{}")}
	for _, path := range []string{"api/v1/pods", "/api/v1/pods"} {
		var got [5]string
		post.Path = path
		if err := c.Call(t.Context(), post, 1<<10, &got); err != nil || got != [5]string{"POST", "a=b", "application/json", "podstep", "{}"} {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if err := c.Call(t.Context(), post, 0, nil); err != nil {
		t.Errorf("an answer that is not read: %v", err)
	}
	var text string
	if err := c.Call(t.Context(), Request{Path: "large"}, 1<<10, &text); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a large answer: %v", err)
	}
	if err := c.Call(t.Context(), Request{Path: "none"}, 1<<10, &text); !IsCode(err, http.StatusNotFound) || err.Error() != "no such path" {
		t.Errorf("no such path: %v", err)
	}
}

// TestList: a list of several pages is given whole, with what it was asked for; one that
// breaks off is an error.
func TestList(t *testing.T) {
	pages := map[string]string{
		"":  `{"metadata":{"continue":"2"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`,
		"2": `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"c"}}]}`,
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("fieldSelector") != "x=y" || q.Get("limit") == "" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		fmt.Fprint(w, pages[r.URL.Query().Get("continue")])
	}))
	defer s.Close()
	c, err := New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	list := func() (names, version string, err error) {
		version, err = List(t.Context(), c, "api/v1/pods", url.Values{"fieldSelector": {"x=y"}}, func(o *metav1.PartialObjectMetadata) { names += o.Name })
		return names, version, err
	}
	if names, version, err := list(); names != "abc" || version != "7" || err != nil {
		t.Errorf("listed %q of version %q: %v", names, version, err)
	}
	pages["2"] = `{"items":[`
	if names, _, err := list(); names != "ab" || err == nil {
		t.Errorf("listed %q: %v", names, err)
	}
}
