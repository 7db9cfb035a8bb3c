package attach

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

// TestNoNode: a node counts as missing if the API server says so twice. Other answers prove nothing, and one that fails
// is asked for again.
func TestNoNode(t *testing.T) {
	const missing, fine, down, forbidden = http.StatusNotFound, http.StatusOK, http.StatusServiceUnavailable, http.StatusForbidden
	for _, x := range []struct {
		name    string
		answers []int
		want    bool
	}{
		{"it is there", []int{fine}, false},
		{"it is not", []int{missing, missing}, true},
		{"it comes", []int{missing, fine}, false},
		{"nobody may ask", []int{forbidden}, false},
		{"the server is down at first", []int{down, missing, down, missing, missing}, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			var asked atomic.Int32
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n := int(asked.Add(1))
				if r.URL.Path != "/api/v1/nodes/node-1" || n > len(x.answers) {
					t.Errorf("request %d is for %s", n, r.URL.Path)
					n = 1
				}
				w.WriteHeader(x.answers[n-1])
				_, _ = w.Write([]byte("{}"))
			}))
			defer s.Close()
			if got := noNode(t.Context(), &rest.Config{Host: s.URL}, "node-1", time.Millisecond); got != x.want || int(asked.Load()) != len(x.answers) {
				t.Errorf("it is missing: %v, after %d requests", got, asked.Load())
			}
		})
	}
}
