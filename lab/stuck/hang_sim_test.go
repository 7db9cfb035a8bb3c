//go:build sim

package stuck

import (
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// scenario writes a scenario file of the simulated runtime, and returns the flags of a node that uses it. The node
// may run as another user.
func scenario(t *testing.T, text string) []string {
	t.Helper()
	dir, err := os.MkdirTemp("", "scenario")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	file := filepath.Join(dir, "scenario.yaml")
	if err == nil {
		err = os.WriteFile(file, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return []string{"--scenario", file}
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

// TestImageUser: an image has a user with a name in place of a number.
func TestImageUser(t *testing.T) {
	alone(t, []Case{{Cause: "start.userNotNumeric", Make: app(func(_ *corev1.Pod, c *corev1.Container) {
		c.SecurityContext = &corev1.SecurityContext{RunAsNonRoot: ptr(true)}
	})}}, scenario(t, "images:\n- {name: \"*busybox*\", user: nginx}\n")...)
}
