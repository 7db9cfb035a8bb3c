//go:build node

package attach_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// These tests attach to an unmodified kubelet of a real node: they need root,
// containerd, runc, CNI plugins and busybox, and the built programs in PODSTEP_BIN.

// shared is a node for all tests that leave it as they found it. None of them
// runs in parallel with another: one podstep at a time is attached to a kubelet.
var shared = labtest.NewShared(labtest.Launch, "--kubelet", ownKubelet, "--restart-kubelet", "--restart-runtime")

// ownKubelet is a copy of the kubelet for these tests alone. Uprobes are of a file: where one was in a process once, the kernel takes
// Delve's breakpoints for its own while another process of the same file has uprobes there, as other tests have at the same time.
var ownKubelet = fmt.Sprintf("%s/podstep-attach-%d/kubelet", os.TempDir(), os.Getpid())

func TestMain(m *testing.M) {
	if err := copyKubelet(); err != nil {
		fmt.Fprintln(os.Stderr, "copy the kubelet:", err)
		os.Exit(1)
	}
	code := shared.Main(m)
	_ = os.RemoveAll(filepath.Dir(ownKubelet))
	os.Exit(code)
}

func copyKubelet() error {
	if err := os.Mkdir(filepath.Dir(ownKubelet), 0o755); err != nil {
		return err
	}
	return copyProgram(os.Getenv("PODSTEP_BIN")+"/kubelet", ownKubelet)
}

func copyProgram(program, file string) error {
	out, err := exec.Command("cp", program, file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// held is a hold as podstep prints it.
type held struct {
	Pod           probes.Pod
	Step, On, Why string
	Lease         string
	Budget        *struct{ Timer, Left string }
	Place         *struct {
		File string
		Line int
	}
	Fields map[string]json.RawMessage
}

// step runs a podstep command that prints a hold.
func step(t *testing.T, l *labtest.Lab, args ...string) held {
	t.Helper()
	var h held
	text := l.Must(append(args, "--wait", "110s", "-o", "json")...)
	if err := json.Unmarshal([]byte(text), &h); err != nil {
		t.Fatalf("podstep %v: %v: %s", args, err, text)
	}
	return h
}

// untilHeld waits for a hold of a pod at a step, and returns its event.
func untilHeld(l *labtest.Lab, pod, at string) probes.Event {
	story := l.UntilEvent(pod, "hold at "+at, func(e probes.Event) bool { return e.Kind == probes.Held && e.Step == at })
	return story[len(story)-1]
}

// released waits for the release from a hold, and returns its event.
func released(l *labtest.Lab, pod, at string) probes.Event {
	story := l.UntilEvent(pod, "release at "+at, func(e probes.Event) bool { return e.Kind == probes.Released && e.Step == at })
	return story[len(story)-1]
}

func ended(step string) func(probes.Event) bool {
	return func(e probes.Event) bool { return e.Kind == probes.Exit && e.Step == step && e.Error == "" }
}

// life has one pod come and go.
func life(t *testing.T, l *labtest.Lab, name string) {
	t.Helper()
	ready, gone, err := labtest.Live(l.Client, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("pod %s was Ready after %v, and gone after %v", name, ready.Round(time.Millisecond), gone.Round(time.Millisecond))
}

// warnings returns the warnings in namespace default, without those whose names are in before, and those for which
// slowCache is true.
func warnings(t *testing.T, l *labtest.Lab, before map[string]bool) (out []corev1.Event) {
	t.Helper()
	list, err := l.Client.CoreV1().Events("default").List(l.Context(), metav1.ListOptions{FieldSelector: "type=Warning"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Items {
		if !before[e.Name] && !ofBusyNode(e.Message) {
			out = append(out, e)
		}
	}
	return out
}

// ofBusyNode reports whether a message is one that a busy node has with podstep and without:
//   - The kubelet waited in vain for its cache of ConfigMaps or Secrets. Its watch based manager gives the first read of an
//     object one second, and then mounts again.
//   - containerd killed a container whose shim ended at that moment. The kubelet then kills it again.
func ofBusyNode(message string) bool {
	return strings.Contains(message, "failed to sync") && strings.Contains(message, "cache: timed out waiting for the condition") ||
		strings.Contains(message, "failed to kill container") && strings.Contains(message, "ttrpc: closed")
}

// attached is a podstep that is attached to the node, with the state that must be as before when it has ended.
type attached struct {
	*labtest.Attached
	t      *testing.T
	l      *labtest.Lab
	before labtest.Socket
}

// untilLooks waits until a probe sees the lab's kubelet, which has been started in place of another.
func untilLooks(t *testing.T, l *labtest.Lab, a *labtest.Attached, probe string) {
	t.Helper()
	labtest.Eventually(t, "printed: the "+probe+" probe looks into the new kubelet", func() bool {
		want := fmt.Sprintf("the %s probe looks into the new kubelet, process %d", probe, l.KubeletPID())
		return strings.Contains(a.Printed(), want)
	})
}

func attach(t *testing.T, l *labtest.Lab, flags ...string) *attached {
	t.Helper()
	a := &attached{t: t, l: l, before: socketOf(t, l)}
	a.Attached = l.Attach(flags...)
	if now := socketOf(t, l); labtest.Parent(now.Server) != a.PID || now.Mode != a.before.Mode || now.UID != a.before.UID || now.GID != a.before.GID {
		t.Fatalf("the socket was %+v and is %+v while process %d is attached", a.before, now, a.PID)
	}
	return a
}

// showIfFailed is to be deferred. If the test has failed, it shows what the agent knows of its breakpoints and probes.
func showIfFailed(t *testing.T, l *labtest.Lab) {
	t.Helper()
	if !t.Failed() {
		return
	}
	for _, command := range [][]string{{"break", "ls", "-o", "json"}, {"doctor"}} {
		out, errs, _ := l.Podstep(command...)
		t.Logf("podstep %s prints\n%s%s", strings.Join(command, " "), out, errs)
	}
	last, count := map[string]probes.Event{}, map[string]int{}
	for _, e := range l.Recorded() {
		for _, key := range []string{"probe " + e.Probe, fmt.Sprintf("%v", e.Kind)} {
			last[key], count[key] = e, count[key]+1
		}
	}
	for key, e := range last {
		t.Logf("%s: %d events, the last at %s, of %s, about %+v", key, count[key], e.Time.Format(time.StampMilli), e.Step, e.Pod)
	}
}

// socketOf returns the runtime's socket, which some process must serve.
func socketOf(t *testing.T, l *labtest.Lab) labtest.Socket {
	t.Helper()
	s, err := l.Socket()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// left checks that nothing is left of an attach that has ended.
func (a *attached) left() {
	a.t.Helper()
	if now := socketOf(a.t, a.l); now != a.before {
		a.t.Errorf("the socket was %+v and is %+v", a.before, now)
	}
	if left := a.l.AttachTraces(); len(left) > 0 {
		a.t.Errorf("left behind: %q", left)
	}
	if _, err := os.Lstat(a.l.State.Agent); err == nil {
		a.t.Errorf("the agent's socket %s is left behind", a.l.State.Agent)
	}
}

// state is a pod as podstep prints it.
type state struct {
	Name, State, Step string
	Hold              *held
}

func podStates(t *testing.T, l *labtest.Lab) (all []state) {
	t.Helper()
	if err := json.Unmarshal([]byte(l.Must("pods", "-o", "json")), &all); err != nil {
		t.Fatal(err)
	}
	return all
}
