package nodelog

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podstep/podstep/agent/kubeapi/apitest"
)

// proxied answers as an API server in front of the kubelet of node w.
func proxied(kubelet http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/v1/nodes/w/proxy/logs/", http.StripPrefix("/api/v1/nodes/w/proxy/logs/", kubelet))
	return mux
}

// files serves a directory as a kubelet serves /var/log.
func files(t *testing.T, names ...string) http.Handler {
	dir := t.TempDir()
	for _, name := range names {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("log of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return http.FileServer(http.Dir(dir))
}

// queried answers node log queries as a kubelet does: by the service, with the options that it may have, or else.
func queried(journals, inFiles map[string]string, otherwise http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		service := q.Get("query")
		if service == "" {
			otherwise.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain;charset=UTF-8")
		switch text, isFile := inFiles[service]; {
		case isFile && len(q) > 1:
			fmt.Fprintf(w, "\noptions present and query resolved to log files for [%s]\ntry without specifying options\n", service)
		case isFile:
			fmt.Fprint(w, text)
		case journals[service] != "":
			fmt.Fprint(w, journals[service])
		default:
			fmt.Fprintf(w, "\nlog not found for %s\n", service)
		}
	})
}

// TestRemote: the logs of a node are found by queries, and without queries among its files. What cannot be found or may
// not be asked for has a reason.
func TestRemote(t *testing.T) {
	none := files(t, "README", "apt/history.log")
	for name, c := range map[string]struct {
		kubelet http.Handler
		since   time.Time
		want    string // the files that are kept
		fails   string
	}{
		"journals":          {queried(map[string]string{"kubelet": "log of kubelet", "containerd": "log of containerd"}, nil, none), time.Time{}, "containerd kubelet", ""},
		"k3s":               {queried(map[string]string{"k3s-agent": "log of k3s"}, nil, none), time.Time{}, "k3s-agent", ""},
		"a file by a query": {queried(nil, map[string]string{"kubelet": "log of kubelet"}, none), time.Time{}, "kubelet", ""},
		"files": {files(t, "README", "kubelet.log", "kubelet.log.1.gz", "containerd/containerd log.txt", "pods/a/kubelet.log", "kube-proxy.log"), time.Time{},
			"containerd/containerd log.txt kubelet.log kubelet.log.1.gz", ""},
		"queries find none": {queried(nil, nil, files(t, "kubernetes/kubelet.log")), time.Time{}, "kubernetes/kubelet.log", ""},
		"nothing":           {none, time.Time{}, "", "journalctl -u kubelet"},
		"too old":           {files(t, "kubelet.log"), time.Now().Add(time.Hour), "", "written since"},
		"serves none": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "logs endpoint is disabled.", http.StatusMethodNotAllowed)
		}), time.Time{}, "", "enableSystemLogHandler"},
		"may not": {http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { apitest.Fail(w, http.StatusForbidden, "no") }), time.Time{}, "", "nodes/proxy"},
	} {
		server := apitest.Start(t, proxied(c.kubelet))
		r := &Remote{API: server.Client(t), Node: "w", Since: c.since}
		var kept []string
		err := r.Each(t.Context(), func(f File) (bool, error) {
			text, err := io.ReadAll(f.Text)
			if !strings.HasPrefix(string(text), "log of ") {
				return false, err
			}
			kept = append(kept, f.Name)
			if _, isFile := strings.CutPrefix(f.Name, "kubelet."); isFile && f.Written.IsZero() {
				t.Errorf("%s: %s has no time", name, f.Name)
			}
			return true, err
		})
		if slices.Sort(kept); strings.Join(kept, " ") != c.want {
			t.Errorf("%s: kept %q, not %q", name, kept, c.want)
		}
		if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRemoteQuery: a query asks for what the times bound, or for the last lines.
func TestRemoteQuery(t *testing.T) {
	server := apitest.Start(t, proxied(queried(map[string]string{"kubelet": "x", "containerd": "y"}, nil, files(t))))
	keep := func(File) (bool, error) { return true, nil }
	r := &Remote{API: server.Client(t), Node: "w"}
	if err := r.Each(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	r.Since, r.Until = time.Unix(1000, 0), time.Unix(2000, 5)
	if err := r.Each(t.Context(), keep); err != nil {
		t.Fatal(err)
	}
	want := []string{"query=kubelet&tailLines=100000", "query=containerd&tailLines=100000",
		"query=kubelet&sinceTime=1970-01-01T00%3A16%3A40Z&untilTime=1970-01-01T00%3A33%3A21Z",
		"query=containerd&sinceTime=1970-01-01T00%3A16%3A40Z&untilTime=1970-01-01T00%3A33%3A21Z"}
	for i, q := range server.Requests() {
		if got := q.Query.Encode(); i >= len(want) || got != want[i] {
			t.Errorf("request %d asks for %s", i, got)
		}
	}
}
