//go:build node

package attach_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
)

// TestReplacedVersions: the node's kubelet is upgraded, or downgraded, in its file while podstep is attached and has a
// breakpoint. podstep shows the version, the steps and the holds of the kubelet that runs now, as doctor promised them
// for it, and the breakpoint holds there.
func TestReplacedVersions(t *testing.T) {
	program := filepath.Join(os.Getenv("PODSTEP_BIN"), "kubelet")
	for _, v := range labtest.Versions() {
		if v.Containerd != "" || v.Kubelet == "v1.36" {
			continue
		}
		t.Run("to "+v.Kubelet, func(t *testing.T) {
			next := v.Flags(t)[1]
			file := filepath.Join(t.TempDir(), "kubelet")
			install(t, program, file)
			l := labtest.Start(t, "--kubelet", file, "--restart-kubelet")
			promised := promisedSteps(l)
			a := attach(t, l, "--allow-holds")
			first := kubeletOf(l)
			if sees := seenSteps(l); sees != promised {
				t.Errorf("doctor promised %d steps inside kubelet %s, attach sees %d", promised, first, sees)
			}
			l.Must("break", "add", "default/held", "--step", "sync.pod", "--times", "1")

			install(t, next, file)
			l.KillPart("kubelet", syscall.SIGTERM)
			untilLooks(t, l, a.Attached, "uprobe")
			second, sees := kubeletOf(l), seenSteps(l)
			if second == first || !strings.HasPrefix(second, v.Kubelet+".") {
				t.Errorf("podstep shows kubelet %s after %s was replaced by %s", second, first, v.Kubelet)
			}
			l.Create(labtest.TinyPod("held"))
			untilHeld(l, "held", "sync.pod")
			l.LetGo("held")
			a.End(syscall.SIGINT)
			a.left()
			t.Logf("%s: %d steps, then %s: %d steps", first, promised, second, sees)
			if promised = promisedSteps(l); sees != promised {
				t.Errorf("doctor promises %d steps inside kubelet %s, attach saw %d", promised, second, sees)
			}
		})
	}
}

// install puts a program in the place of another, as a package manager does: processes that run the other keep it.
func install(t *testing.T, program, file string) {
	t.Helper()
	if err := copyProgram(program, file+".new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// kubeletOf returns the version of the kubelet that the lab's agent watches.
func kubeletOf(l *labtest.Lab) string { return l.Agent().About().GetKubeletVersion() }

// seenSteps returns how many steps the attached uprobe probe sees.
func seenSteps(l *labtest.Lab) (out int) {
	for _, sees := range l.SeenBy("uprobe") {
		if sees {
			out++
		}
	}
	return out
}

var promise = regexp.MustCompile(`podstep attach( --pid \d+)? sees (\d+) steps inside it`)

// promisedSteps returns how many steps podstep attach would see inside the lab's kubelet, as doctor prints it while
// nothing is attached; zero: doctor promises none.
func promisedSteps(l *labtest.Lab) int {
	pid := strconv.Itoa(l.KubeletPID())
	text, _, _ := l.Podstep("doctor")
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 2 && f[1] == "uprobe" && (f[2] == pid || f[2] == "possible:") {
			if m := promise.FindStringSubmatch(line); m != nil {
				n, _ := strconv.Atoi(m[2])
				return n
			}
		}
	}
	return 0
}
