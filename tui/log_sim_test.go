//go:build sim

package tui_test

import (
	"regexp"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/podstep/podstep/agent/labtest"
)

// TestLogByKeys: a person sets a log by keys alone. Its values come into the pod's story, the step is marked in the pipeline,
// and the list of breakpoints counts.
func TestLogByKeys(t *testing.T) {
	p := open(t, 120, 36)
	p.noWalk()
	p.Press("b")
	p.Until("Breakpoint")
	p.Press("Up", "Up", "Up", "Up", "Up", "Up", "C-u")
	p.Type("default/logged")
	p.Press("Down", "C-u")
	p.Type("cri.PullImage")
	p.Press("Down", "Right", "Down", "Left")
	p.Until("log values")
	p.Press("Down")
	p.Type("im")
	p.Press("Tab")
	p.Until("image")
	p.Type(",took")
	p.Press("Down")
	p.Type("pod=logged")
	p.Press("Down", "Down", "Enter")
	p.UntilThat("the log is set", regexp.MustCompile(`breakpoint \d+ at cri.PullImage`).MatchString)
	pod := labtest.BusyboxPod("logged", labtest.Sleep)
	pod.Spec.Containers[0].ImagePullPolicy = corev1.PullAlways // another test's pod may have pulled the image
	p.lab.Create(pod)
	t.Cleanup(func() { p.lab.Delete("logged") })
	p.lab.UntilReady("logged")
	p.Press(":") // another test's pod, which is gone, may be selected
	p.Until("Commands, pods and steps")
	p.Type("logged")
	p.Press("Enter")
	p.Until("› default/logged")
	p.Press("B")
	p.UntilThat("a log that has counted", regexp.MustCompile(`logged [1-9]\d*, dropped none`).MatchString)
	p.Press("e", "/")
	p.Type("kind=note")
	p.Press("Enter")
	p.UntilThat("the values in the list of events", regexp.MustCompile(`breakpoint \d+: image=docker`).MatchString)
	p.Press("/", "C-u", "Enter", "p", "=", "C-f")
	p.Type("PullImage")
	p.Press("Enter", "N")
	p.UntilThat("the mark of the log in the pipeline", regexp.MustCompile(`PullImage.* ≡ `).MatchString)
	p.Press("k") // from the note to the call that it is about
	p.UntilThat("the values in the detail of the step", regexp.MustCompile(`≡ \d\d:\d\d:\d\d\.\d{3}  image=\S*busybox`).MatchString)
	p.Press("B", "x")
	p.UntilGone("dropped none")
}
