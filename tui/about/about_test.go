package about

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/words"
)

// fake answers with its fields.
type fake struct {
	snapshot evidence.Snapshot
	logs     []evidence.ContainerLog
	asked    int
}

func (f *fake) Pod(_ context.Context, name evidence.Name) *evidence.Snapshot {
	f.asked++
	s := f.snapshot
	s.Name = name
	return &s
}

func (f *fake) Logs(context.Context, *evidence.Snapshot) []evidence.ContainerLog { return f.logs }

var web = evidence.Name{Namespace: "default", Name: "web"}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "app", Image: "nginx:1.27",
			Env: []corev1.EnvVar{{Name: "PASSWORD"}, {Name: "FROM", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}},
		}}},
	}
}

// shown opens a page and returns its text when the answer has come.
func shown(t *testing.T, f *fake, what What) string {
	t.Helper()
	p, cmd := Open(t.Context(), words.English, f, what, web)
	if got := strings.Join(p.Lines, "\n"); got != "asking" {
		t.Errorf("before the answer: %q", got)
	}
	cmd().(Msg).Take()
	return strings.Join(p.Lines, "\n")
}

func sees(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}

// TestObject: the page shows the kubelet's object, or the API server's if there is no other. It says which it is,
// and that the values of variables are left out.
func TestObject(t *testing.T) {
	f := &fake{snapshot: evidence.Snapshot{KubeletPod: pod(), Pod: &corev1.Pod{}}}
	text := shown(t, f, Object)
	sees(t, text, "# from the kubelet, ", "kind: Pod\n", "image: nginx:1.27", "- name: PASSWORD\n      value: <redacted>", "- name: FROM\n      valueFrom:")
	if f.snapshot.KubeletPod.Spec.Containers[0].Env[0].Value != "" {
		t.Error("the snapshot was changed")
	}
	f.snapshot = evidence.Snapshot{Pod: pod()}
	sees(t, shown(t, f, Object), "# from the API server: the kubelet could not be asked")
	f.snapshot = evidence.Snapshot{Unseen: []evidence.Unseen{{Source: evidence.Port, What: "port", Why: evidence.Forbidden, Message: "no"}}}
	sees(t, shown(t, f, Object), "It could not be seen:\n  kubelet port: forbidden: no")
	f.snapshot = evidence.Snapshot{}
	sees(t, shown(t, f, Object), "Neither the kubelet nor the API server has such a pod.")
}

func TestLogs(t *testing.T) {
	f := &fake{snapshot: evidence.Snapshot{Pod: pod()}, logs: []evidence.ContainerLog{
		{Container: "app", Previous: true, Lines: []string{"panic: no database"}, Cut: true}, {Container: "app"},
		{Container: "side", Why: evidence.Forbidden, Message: "you may not"},
	}}
	sees(t, shown(t, f, Logs), "--- app · before it was started again · older lines left out\npanic: no database\n\n--- app\nit has written nothing", "--- side\nnot read (forbidden): you may not")
	f.logs = nil
	sees(t, shown(t, f, Logs), "no containers yet")
}

func TestEvents(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.Local)
	f := &fake{snapshot: evidence.Snapshot{Pod: pod(), Cluster: evidence.Cluster{Events: []evidence.Event{
		{Kind: "Pod", Name: "web", Type: "Warning", Reason: "BackOff", Message: "Back-off restarting", Component: "kubelet", Last: at, Count: 7},
		{Kind: "Node", Name: "node-1", Type: "Normal", Reason: "Ready"},
	}}}}
	text := shown(t, f, Events)
	sees(t, text, "15:04:05  Warning  BackOff  x7  kubelet\n    Back-off restarting")
	if strings.Contains(text, "Ready") {
		t.Errorf("events of others: %s", text)
	}
	f.snapshot.Cluster.Events = nil
	sees(t, shown(t, f, Events), "no events of it")
}

// TestAgain: r asks again, and a late answer does not replace a later one.
func TestAgain(t *testing.T) {
	f := &fake{snapshot: evidence.Snapshot{Pod: pod()}}
	p, first := Open(t.Context(), words.English, f, Logs, web)
	second, done := p.Key(tea.KeyPressMsg{Code: 'r', Text: "r"})
	if done {
		t.Fatal("r leaves the page")
	}
	late := first().(Msg)
	f.logs = []evidence.ContainerLog{{Container: "new"}}
	second().(Msg).Take()
	late.Take()
	sees(t, strings.Join(p.Lines, "\n"), "--- new")
	if _, done := p.Key(tea.KeyPressMsg{Code: tea.KeyEscape}); !done || p.ctx.Err() == nil {
		t.Error("Esc leaves the page, and gives up what is asked")
	}
}
