package cluster

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// server is an API server that knows a few kinds. It creates, patches and deletes as a real one does: an object's
// name is unique, a patch may test values, and a deletion names the UID.
type server struct {
	api     *apitest.Server
	checked int // how many of the requests called has checked
	mu      sync.Mutex
	objects map[string]map[string]any // by path
	uids    int
	// lasts is how often a deleted object can be read before it is gone.
	lasts   int
	leaving map[string]int
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/api/v1":
		fmt.Fprint(w, `{"resources":[{"name":"pods","kind":"Pod","namespaced":true},{"name":"pods/log","kind":"Pod","namespaced":true},
			{"name":"configmaps","kind":"ConfigMap","namespaced":true},{"name":"nodes","kind":"Node"}]}`)
		return
	case "/apis/resource.k8s.io/v1":
		fmt.Fprint(w, `{"resources":[{"name":"resourceclaims","kind":"ResourceClaim","namespaced":true}]}`)
		return
	case "/apis/batch/v1":
		fmt.Fprint(w, `{"resources":[{"name":"jobs","kind":"Job","namespaced":true}]}`)
		return
	}
	body, _ := io.ReadAll(r.Body)
	at := strings.TrimSuffix(r.URL.Path, "/resize")
	code, answer := s.answer(r, at, body)
	apitest.Answer(w, code, answer)
}

func problem(code int, text string) (int, any) { return code, map[string]string{"message": text} }

func (s *server) answer(r *http.Request, at string, body []byte) (int, any) {
	if slices.Contains([]string{"pods", "configmaps", "jobs", "resourceclaims"}, path.Base(at)) {
		if r.Method == http.MethodPost {
			return s.post(at, body)
		}
		return http.StatusOK, map[string]any{"items": s.list(at, r.URL.Query().Get("labelSelector"))}
	}
	s.leave(at)
	o := s.objects[at]
	if o == nil {
		return problem(http.StatusNotFound, at+" not found")
	}
	switch r.Method {
	case http.MethodPatch:
		return s.patch(at, body)
	case http.MethodDelete:
		var options struct{ Preconditions struct{ UID *string } }
		if err := json.Unmarshal(body, &options); err != nil && len(body) > 0 {
			return problem(http.StatusBadRequest, err.Error())
		}
		if uid := options.Preconditions.UID; uid != nil && *uid != metaOf(o)["uid"] {
			return problem(http.StatusConflict, "the UID in the precondition is another")
		}
		s.leaving[at] = s.lasts
		metaOf(o)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
		s.leave(at)
	}
	return http.StatusOK, o
}

// leave removes a deleted object once it has been read often enough.
func (s *server) leave(at string) {
	if n, going := s.leaving[at]; going && n == 0 {
		delete(s.objects, at)
		delete(s.leaving, at)
	} else if going {
		s.leaving[at]--
	}
}

func metaOf(o map[string]any) map[string]any { return o["metadata"].(map[string]any) }

func (s *server) post(at string, body []byte) (int, any) {
	var o map[string]any
	if err := json.Unmarshal(body, &o); err != nil {
		return problem(http.StatusBadRequest, err.Error())
	}
	name := path.Join(at, metaOf(o)["name"].(string))
	if s.objects[name] != nil {
		return problem(http.StatusConflict, name+" already exists")
	}
	s.put(name, o)
	return http.StatusCreated, o
}

// put stores an object under a new UID.
func (s *server) put(at string, o map[string]any) {
	s.uids++
	metaOf(o)["uid"] = fmt.Sprintf("uid-%d", s.uids)
	if parts := strings.Split(at, "/"); len(parts) > 3 {
		metaOf(o)["namespace"] = parts[len(parts)-3]
	}
	s.objects[at] = o
}

func (s *server) patch(at string, body []byte) (int, any) {
	before, err := json.Marshal(s.objects[at])
	if err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	p, err := jsonpatch.DecodePatch(body)
	if err != nil {
		return problem(http.StatusBadRequest, err.Error())
	}
	after, err := p.Apply(before)
	if err != nil {
		return problem(http.StatusUnprocessableEntity, err.Error())
	}
	var o map[string]any
	if err := json.Unmarshal(after, &o); err != nil {
		return problem(http.StatusInternalServerError, err.Error())
	}
	s.objects[at] = o
	return http.StatusOK, o
}

func (s *server) list(at, label string) (items []any) {
	items = []any{}
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		labels, _ := metaOf(s.objects[name])["labels"].(map[string]any)
		if (path.Dir(name) == at || at == "/api/v1/pods" && path.Base(path.Dir(name)) == "pods") && (label == "" || labels[label] != nil) {
			items = append(items, s.objects[name])
		}
	}
	return items
}

// called checks which requests came since the last check, apart from those that only read.
func (s *server) called(t *testing.T, want ...string) {
	t.Helper()
	var got []string
	all := s.api.Requests()
	for _, r := range all[s.checked:] {
		if r.Method != http.MethodGet {
			got = append(got, r.String())
		}
	}
	s.checked = len(all)
	if !slices.Equal(got, want) {
		t.Errorf("calls\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %s}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
users: [{name: u, user: {}}]
current-context: c
`

func start(t *testing.T) (*server, *Cluster) {
	t.Helper()
	s := &server{objects: map[string]map[string]any{}, leaving: map[string]int{}}
	s.api = apitest.Start(t, s)
	dir := t.TempDir()
	for name, text := range map[string]string{"kubeconfig": fmt.Sprintf(kubeconfig, s.api.URL), "state.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	return s, Find(filepath.Join(dir, "agent.sock"), "", "")
}
