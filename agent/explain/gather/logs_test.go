package gather

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/agent/kubeapi"
)

// TestReadLog: the kubelet is asked for the last lines of the container. No secret of its
// answer comes through, and no more than the bounds allow.
func TestReadLog(t *testing.T) {
	var asked []string
	served := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		switch r.URL.Path {
		case "/api-server/api/v1/namespaces/default/pods/web/log":
			if !served {
				http.Error(w, "container \"none\" in pod \"web\" is not available", http.StatusForbidden)
				return
			}
			fmt.Fprintln(w, "from the API server")
		case "/containerLogs/default/web/app":
			fmt.Fprint(w, "started\nlogin at postgres://me:hunter2@db/x\nbell \a\n")
		case "/containerLogs/default/web/loud":
			fmt.Fprint(w, strings.Repeat(strings.Repeat("x", 1000)+"\n", 100)+"the last line\n")
		default:
			http.Error(w, `container "none" in pod "web" is not available`, http.StatusBadRequest)
		}
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL + "/api-server"}
	api, err := kubeapi.New(config)
	if err != nil {
		t.Fatal(err)
	}
	near := &Kubelet{Whole: true, seen: map[string]*port{"": {ways: []way{directly(server.Client(), server.URL)}}}}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	from := From{API: api, More: []Source{near}}
	ways := from.logWays(t.Context(), pod, &evidence.Snapshot{})

	log := evidence.ContainerLog{Container: "app"}
	readLog(t.Context(), ways, &log)
	text := strings.Join(log.Lines, "\n")
	if len(log.Lines) != 3 || log.Why != "" || strings.Contains(text, "hunter2") || strings.Contains(text, "\a") || log.Lines[0] != "started" {
		t.Errorf("the log is %q, %s", log.Lines, log.Why)
	}
	log = evidence.ContainerLog{Container: "loud", Previous: true}
	readLog(t.Context(), ways, &log)
	size := 0
	for _, l := range log.Lines {
		size += len(l) + 1
	}
	if !log.Cut || size > maxLogKept || log.Lines[len(log.Lines)-1] != "the last line" || len(log.Lines[0]) != 1000 {
		t.Errorf("%d lines, %d bytes, cut %v", len(log.Lines), size, log.Cut)
	}
	log = evidence.ContainerLog{Container: "none"}
	readLog(t.Context(), ways, &log)
	if log.Why == "" || !strings.Contains(log.Message, "not available") {
		t.Errorf("refused: %+v", log)
	}
	for _, want := range []string{
		"/api-server/api/v1/namespaces/default/pods/web/log?container=app&tailLines=100",
		"/containerLogs/default/web/loud?previous=true&tailLines=100",
	} {
		if !slices.Contains(asked, want) {
			t.Errorf("%s was not asked for, but %q", want, asked)
		}
	}
	served = true // by the API server now
	log = evidence.ContainerLog{Container: "app"}
	if readLog(t.Context(), ways, &log); len(log.Lines) != 1 || log.Lines[0] != "from the API server" || log.Why != "" {
		t.Errorf("through the API server: %+v", log)
	}
	if readLog(t.Context(), nil, &log); log.Why != evidence.Unreachable {
		t.Errorf("without a way: %+v", log)
	}
}

// TestLogsOf: a container that runs again has two logs, the earlier one first.
func TestLogsOf(t *testing.T) {
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	p := &corev1.Pod{Status: corev1.PodStatus{
		InitContainerStatuses: []corev1.ContainerStatus{{Name: "init"}},
		ContainerStatuses:     []corev1.ContainerStatus{{Name: "a", RestartCount: 2, State: running}, {Name: "b", RestartCount: 2}},
	}}
	var got []string
	for _, l := range logsOf(p) {
		got = append(got, fmt.Sprint(l.Container, l.Previous))
	}
	if s := strings.Join(got, " "); s != "initfalse atrue afalse bfalse" {
		t.Errorf("logs of %s", s)
	}
}

// broken gives a text, and then fails.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// TestLogsAreCutBetweenWords: a log that is cut, at its beginning or its end, has no half of a secret there.
func TestLogsAreCutBetweenWords(t *testing.T) {
	password := "https://robot:" + strings.Repeat("hunter2", 20)
	for name, r := range map[string]io.Reader{
		"too long":      strings.NewReader(strings.Repeat("line of it\n", maxLogRead/11-10) + password + "@registry.example/app"),
		"breaks off":    broken{strings.NewReader("started\npull " + password)},
		"one long line": strings.NewReader(password + "@registry.example" + strings.Repeat(" word", maxLogKept/5-2)),
		"one long word": strings.NewReader(password + "@registry.example/" + strings.Repeat("x", maxLogKept-20)),
	} {
		t.Run(name, func(t *testing.T) {
			log := evidence.ContainerLog{}
			_ = readLines(r, &log)
			text := strings.Join(log.Lines, "\n")
			if strings.Contains(text, "hunter2") || strings.Contains(text, "unter2") || !log.Cut {
				t.Errorf("cut %v: %.200q", log.Cut, text)
			}
			if name != "one long word" && len(log.Lines) == 0 {
				t.Error("nothing of it is shown")
			}
		})
	}
}
