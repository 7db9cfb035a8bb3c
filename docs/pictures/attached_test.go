//go:build pictures

package pictures

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/podstep/podstep/agent/labtest"
	"github.com/podstep/podstep/tui/picture"
)

// TestPicturesAttached takes the picture of podstep beside an unmodified kubelet:
// a pod is held before a call, others run or cannot.
func TestPicturesAttached(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("to attach to a kubelet takes root")
	}
	if _, err := os.Stat(filepath.Join(os.Getenv("PODSTEP_BIN"), "kubelet")); err != nil {
		t.Skip("there is no unmodified kubelet: make kubelet")
	}
	l := labtest.Start(t, "--kubelet", labtest.Bin(t, "kubelet"))
	s := &studio{t: t, lab: l}
	s.kubectl("create", "-f", "../examples/no-image.yaml")
	s.kubectl("create", "-f", "../examples/crashloop.yaml")
	s.kubectl("wait", "--timeout=2m", "--for", "jsonpath={.status.containerStatuses[0].state.waiting.reason}=CrashLoopBackOff", "pod/crashloop")
	c := s.run(120, 40, labtest.Bin(t, "podstep"), "attach", "--pid", strconv.Itoa(l.KubeletPID()), "--kubeconfig", l.State.Kubeconfig, "--socket", l.State.Agent, "--theme", "dark")
	c.Until(" no-image")
	c.breakpoint("default/web", "CreateContainer")
	s.kubectl("create", "-f", "../examples/web.yaml")
	c.Until("HELD")
	c.Press("J")
	c.Until("› default/web")
	c.Until("s step")
	c.take("attached", picture.Dark)
	c.Press("C")
	c.UntilGone("HELD")
	c.Press("q")
	c.Usable()
}
