//go:build sim

package stuck

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/probes"
)

// scenario writes a scenario file of the simulated runtime, and returns the flags of a node that uses it.
func scenario(t *testing.T, text string) []string {
	t.Helper()
	file := scenarioFile(t)
	writeScenario(t, file, text)
	return []string{"--scenario", file}
}

// scenarioFile returns the name of a scenario file, which can be written while a node uses it. The node may run as another user.
func scenarioFile(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scenario")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "scenario.yaml")
}

func writeScenario(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRuntimeHangs: a call of the runtime does not return, on the whole node.
func TestRuntimeHangs(t *testing.T) {
	plain := func(e *Env) { e.Busybox(labtest.Sleep, nil) }
	t.Run("create", func(t *testing.T) {
		alone(t, []Case{{Cause: "start.createHangs", Name: "call", Make: plain}}, scenario(t, "node: {calls: {CreateContainer: 10m}}\n")...)
	})
	t.Run("start", func(t *testing.T) {
		alone(t, []Case{{Cause: "start.startHangs", Name: "call", Make: plain}}, scenario(t, "node: {calls: {StartContainer: 10m}}\n")...)
	})
}

// TestLooksElsewhere: the runtime does not answer what becomes of a pod's container, and the kubelet, which looks at one pod after
// the other, does not see what becomes of another pod's.
func TestLooksElsewhere(t *testing.T) {
	silent := map[Way]string{API: "", Near: "", Attach: ""}
	alone(t, []Case{{Cause: "source.looksElsewhere", Culprit: "pod NS/sick", Only: silent, Make: func(e *Env) {
		sick := labtest.BusyboxPod("sick", labtest.Sleep)
		sick.Namespace = e.Namespace
		e.Create(sick)
		e.UntilEvent("sick", "PLEG's look", func(ev probes.Event) bool { return ev.Step == "pleg.relistpod" && ev.Kind == probes.Enter })
		e.Busybox(labtest.Sleep, nil)
	}}}, scenario(t, "node: {calls: {ContainerStatus: 10m}}\n")...)
}

// TestImageUser: an image has a user with a name in place of a number.
func TestImageUser(t *testing.T) {
	alone(t, []Case{{Cause: "start.userNotNumeric", Make: app(func(_ *corev1.Pod, c *corev1.Container) {
		c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr(true)}
	})}}, scenario(t, "images:\n- {name: \"*busybox*\", user: nginx}\n")...)
}
