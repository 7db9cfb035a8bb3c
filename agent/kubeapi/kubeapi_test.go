package kubeapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

func TestStatus(t *testing.T) {
	for body, want := range map[string]string{
		`{"kind":"Status","message":"pods is forbidden"}`: "pods is forbidden",
		"Unauthorized\n":          "Unauthorized",
		"":                        "HTTP 403 Forbidden",
		strings.Repeat("x", 9000): "<redacted>…",
		strings.Repeat("no ", 94) + "https://robot:hunter2@registry.example": strings.TrimSpace(strings.Repeat("no ", 94)) + "…",
	} {
		err := error(statusOf(http.StatusForbidden, []byte(body)))
		if err.Error() != want || !IsCode(fmt.Errorf("list: %w", err), http.StatusNotFound, http.StatusForbidden) || IsCode(err, http.StatusNotFound) {
			t.Errorf("%.40q is %q", body, err)
		}
	}
	late := error(statusOf(http.StatusGatewayTimeout, []byte(`{"message":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge"}]}}`)))
	if !HasCause(fmt.Errorf("list: %w", late), metav1.CauseTypeResourceVersionTooLarge) || HasCause(late, metav1.CauseTypeFieldValueInvalid) {
		t.Errorf("%+v has other causes", late)
	}
}

// TestCall: a request arrives below the server's own path; the answer is decoded, or is an error.
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
		if err := c.Call(t.Context(), post, 1<<10, &got); err != nil || got != [5]string{"POST", "a=b", "application/json", UserAgent(""), "{}"} {
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

// TestUserAgent: the server sees podstep's version and purpose; a User-Agent in the configuration stays.
func TestUserAgent(t *testing.T) {
	system := runtime.GOOS + "/" + runtime.GOARCH
	for purpose, want := range map[string]string{
		"":              "podstep/devel (" + system + ")",
		"attach/node-1": "podstep/devel (" + system + ") attach/node-1",
	} {
		if got := UserAgent(purpose); got != want {
			t.Errorf("for %q the User-Agent is %q, want %q", purpose, got, want)
		}
	}
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header.Get("User-Agent") }))
	defer server.Close()
	for set, want := range map[string]string{"": UserAgent(""), "other/1": "other/1"} {
		c, err := New(&rest.Config{Host: server.URL, UserAgent: set})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Call(t.Context(), Request{Path: "api"}, 0, nil); err != nil || got != want {
			t.Errorf("the server got %q, %v; want %q", got, err, want)
		}
	}
}

// TestRetryAfter: the error has the time for which a busy server asks to wait.
func TestRetryAfter(t *testing.T) {
	for header, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-1": 0, "Fri, 31 Dec 1999 23:59:59 GMT": 0, "99999999999": 0} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTooManyRequests)
		}))
		c, err := New(&rest.Config{Host: server.URL})
		if err != nil {
			t.Fatal(err)
		}
		var status *StatusError
		if err := c.Call(t.Context(), Request{Path: "api"}, 0, nil); !errors.As(err, &status) || status.RetryAfter != want {
			t.Errorf("%q: %v, %+v", header, err, status)
		}
		server.Close()
	}
}

// TestListCached: one request without a limit, from a version on.
func TestListCached(t *testing.T) {
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RawQuery)
		fmt.Fprint(w, `{"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`)
	}))
	defer s.Close()
	c, err := New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, from := range []string{"0", "5", ""} {
		names := ""
		version, err := ListCached(t.Context(), c, "api/v1/pods", url.Values{"fieldSelector": {"x=y"}}, from, func(o *metav1.PartialObjectMetadata) { names += o.Name })
		if names != "ab" || version != "7" || err != nil {
			t.Errorf("from %q: listed %q of version %q: %v", from, names, version, err)
		}
	}
	if want := []string{"fieldSelector=x%3Dy&resourceVersion=0", "fieldSelector=x%3Dy&resourceVersion=5", "fieldSelector=x%3Dy"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestCount(t *testing.T) {
	answer := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RawQuery != "limit=1" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	c, err := New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		answer string
		want   int64
	}{
		{`{"metadata":{"resourceVersion":"7"},"items":null}`, 0},
		{`{"metadata":{"resourceVersion":"7"},"items":[{}]}`, 1},
		{`{"metadata":{"resourceVersion":"7","continue":"x","remainingItemCount":41},"items":[{"reason":"Pulled"}]}`, 42},
	} {
		answer = test.answer
		if n, version, err := Count(t.Context(), c, "api/v1/events"); n != test.want || version != "7" || err != nil {
			t.Errorf("%s: %d of version %q: %v", answer, n, version, err)
		}
	}
}

// TestList: a list of several pages is given whole, and each page is asked for with the query; a list that breaks off
// is an error.
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
