package gather

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/explain/evidence"
	"github.com/podstep/podstep/probes/kubelets"
)

const someSockets = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 00000000:0050 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1 0 100 0 0 10 0
   2: 0100007F:1F91 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 3 1 0 100 0 0 10 0
   3: 00000000000000000000000001000000:1F92 00000000000000000000000000000000:0000 0A
   4: 0000000000000000FFFF00000100007F:1F93 00000000000000000000000000000000:0000 0A
   5: 00000000000000000000000000000000:01BB 00000000000000000000000000000000:0000 0A
   6: nonsense:1F90 x 0A
   7: 00:1F90 x 0A
`

func TestParseListens(t *testing.T) {
	want := []evidence.Listen{{Port: 8080, Loopback: true}, {Port: 80}, {Port: 8082, Loopback: true}, {Port: 8083, Loopback: true}, {Port: 443}}
	if got := parseListens([]byte(someSockets)); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func FuzzListens(f *testing.F) {
	f.Add([]byte(someSockets))
	f.Fuzz(func(_ *testing.T, text []byte) { parseListens(text) })
}

func TestIsDeaf(t *testing.T) {
	for _, c := range []struct {
		status string
		want   bool
	}{
		{"NSpid:\t70\t1\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n", true},
		{"NSpid:\t70\t1\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000004000\n", false},
		{"NSpid:\t70\t1\nSigIgn:\t0000000000004000\nSigCgt:\t0000000000000000\n", true},
		{"NSpid:\t70\t8\nSigIgn:\t0000000000004000\nSigCgt:\t0000000000000000\n", true},
		{"NSpid:\t70\t8\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n", false},
		{"NSpid:\t1\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n", false},
		{"NSpid:\t70\t1\nSigCgt:\tnonsense\n", false},
		{"NSpid:\t70\t8\nSigIgn:\tnonsense\n", false},
		{"", false},
	} {
		if got := isDeaf([]byte(c.status), sigTerm); got != c.want {
			t.Errorf("%q: %t", c.status, got)
		}
	}
}

func TestStopSignal(t *testing.T) {
	quit := corev1.Signal("SIGQUIT")
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Lifecycle: &corev1.Lifecycle{StopSignal: &quit}}, {Name: "other"}}}}
	if a, b := stopSignal(pod, "app"), stopSignal(pod, "other"); a != 3 || b != sigTerm {
		t.Errorf("%d, %d", a, b)
	}
}

// TestOwnProcess: this test's process handles its signals, and a shell that ignores one does not.
func TestOwnProcess(t *testing.T) {
	if len(listensOf(os.Getpid())) > maxListens {
		t.Error("too many ports are kept")
	}
	cmd := exec.Command("sh", "-c", "trap '' TERM; echo; read x")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if !isDeaf(readFile(procFile(cmd.Process.Pid, "status")), sigTerm) {
		t.Error("a process that ignores SIGTERM is not deaf")
	}
	_ = in.Close()
	_ = cmd.Wait()
}

// TestProgramsNeedNames: without the API server's pod nobody says which container a cgroup is of, and a name that is a pattern is left
// out.
func TestProgramsNeedNames(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1"}, Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{Name: "app", ContainerID: "containerd://*", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
		{Name: "ended", ContainerID: "containerd://0f"}}}}
	for _, p := range []*corev1.Pod{nil, pod} {
		m := &machine{ctx: t.Context(), k: &kubelets.Kubelet{Root: "/"}, of: &Subject{Snapshot: &evidence.Snapshot{Pod: p}, Kubelet: evidence.Name{UID: "u1"}}}
		m.part.s.Machine = &evidence.Machine{}
		m.programs()
		if got := m.part.s.Machine; len(got.Programs) > 0 || got.Listens != nil {
			t.Errorf("%+v", got)
		}
	}
	if f := statusField([]byte(strings.Repeat("a:\n", 3)), "b"); f != "" {
		t.Error(f)
	}
}
