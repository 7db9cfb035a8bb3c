package kubeapi_test

import (
	"net/http"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/kubeapi"
	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// TestReadOnly: of all methods of HTTP, a client that only reads sends the two that read. It sends no upgrade.
func TestReadOnly(t *testing.T) {
	s := apitest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	given := &rest.Config{Host: s.URL}
	client, err := rest.HTTPClientFor(kubeapi.ReadOnly(given))
	if err != nil {
		t.Fatal(err)
	}
	if given.WrapTransport != nil {
		t.Error("the config that was given is changed")
	}
	want := 0
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "get"} {
		for _, upgrade := range []string{"", "websocket", "SPDY/3.1"} {
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v1/namespaces/default/pods/web/exec", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			if upgrade != "" {
				req.Header.Set("Upgrade", upgrade)
			}
			resp, err := client.Do(req)
			if err == nil {
				resp.Body.Close()
			}
			reads := (method == "GET" || method == "HEAD") && upgrade == ""
			if reads {
				want++
			}
			if reads != (err == nil) || !reads && !strings.Contains(err.Error(), "podstep only reads here") {
				t.Errorf("%s %s: %v", method, upgrade, err)
			}
		}
	}
	if got := len(s.Requests()); got != want {
		t.Errorf("%d requests were sent, want %d", got, want)
	}
}

// TestReadOnlyClient: a Client of such a config reads, and changes nothing.
func TestReadOnlyClient(t *testing.T) {
	s := apitest.Start(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{}")) }))
	c, err := kubeapi.New(kubeapi.ReadOnly(&rest.Config{Host: s.URL}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Call(t.Context(), kubeapi.Request{Path: "api/v1/pods"}, 1<<10, nil); err != nil {
		t.Error(err)
	}
	if err := c.Call(t.Context(), kubeapi.Request{Method: http.MethodPatch, Path: "api/v1/pods", Body: []byte("{}")}, 1<<10, nil); err == nil {
		t.Error("a change is sent")
	}
	if got := s.Requests(); len(got) != 1 || got[0].Method != http.MethodGet {
		t.Errorf("the server got %v", got)
	}
}
